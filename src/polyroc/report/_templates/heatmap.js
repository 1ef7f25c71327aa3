// The heatmap.

function drawHeatmap(data, state, theme) {}
