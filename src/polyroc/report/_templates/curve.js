// The curves.

function drawCurve(data, state, theme) {}
