// The figures: the page carries their numbers, and here they get the colours of the theme.

const CONFIG = { displayModeBar: false, responsive: true, doubleClick: "reset" };
const PAIR_HOVER =
  "<b>%{text}</b><br>call rate (quantile) %{customdata:.3f}<br>" +
  "false positive rate %{x:.3f}<br>true positive rate %{y:.3f}<extra></extra>";

// Plotly reads some tags: names come with those signs already replaced.
const plotName = (name) => name.plot || name.text;

function axis(given, theme, grid) {
  return {
    ...given, color: theme.soft, gridcolor: theme.line, showline: false, showgrid: grid,
    title: { ...given.title, font: { color: theme.soft, size: 13 } },
  };
}

// `size` in pixels, or none for as large as there is room.
function layoutOf(given, theme, grid, size) {
  return {
    ...given,
    ...(size ? { width: size[0], height: size[1], autosize: false } : { autosize: true }),
    xaxis: axis(given.xaxis, theme, grid), yaxis: axis(given.yaxis, theme, grid),
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { ...given.font, color: theme.ink },
    hoverlabel: { bgcolor: theme.raised, bordercolor: theme.soft, font: { color: theme.ink, size: 13 }, align: "left", namelength: -1 },
    // A finger that moves wants to scroll the page.
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
  };
}

function faded(colour, opacity) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgba(${r},${g},${b},${opacity})`;
}

// The curves of single pairs as one line with gaps.
function pairTrace(data, model, count, theme) {
  const { call_rate, fpr, tpr } = model.curves;
  const trace = { x: [], y: [], customdata: [], text: [], meta: { role: "pairs" } };
  for (let i = 0; i < Math.min(count, tpr.length); i += 1) {
    const names = [model.pairs.positive[i], model.pairs.negative[i]].map((label) => plotName(data.labels[label]));
    const text = `${names[0]} against ${names[1]}`;
    trace.x.push(0, ...fpr[i], 1, null);
    trace.y.push(0, ...tpr[i], 1, null);
    trace.customdata.push(0, ...call_rate, 1, null);
    for (let j = 0; j < call_rate.length + 3; j += 1) trace.text.push(text);
  }
  return { ...trace, mode: "lines", connectgaps: false, hovertemplate: PAIR_HOVER, line: { color: theme.soft, width: 1 }, opacity: 0.45 };
}

function curveTraces(data, state, theme) {
  const colour = (place) => theme.curves[place % theme.curves.length];
  const several = data.models.length > 1;
  const traces = data.curve.data.map((given) => {
    const { role, kind, model, dash } = given.meta;
    if (role === "chance") return { ...given, line: { color: theme.soft, width: 1, dash: "dot" } };
    const visible = state.shown[model] && state.kinds[kind] && (role === "curve" || state.bands);
    if (role === "band") return { ...given, visible, fillcolor: faded(colour(model), 0.18) };
    const width = (several && model === state.model ? 3.2 : 2.2) - (kind === "curve" ? 0 : 0.6);
    return { ...given, visible, line: { color: colour(model), width, dash } };
  });
  if (state.pairCurves > 0) {
    const firstCurve = traces.findIndex((trace) => trace.meta.role === "curve");
    traces.splice(firstCurve, 0, pairTrace(data, data.models[state.model], state.pairCurves, theme));
  }
  return traces;
}

function drawCurve(data, state, theme) {
  const element = document.getElementById("curve");
  element.querySelector(".static")?.remove();
  return Plotly.react(element, curveTraces(data, state, theme), layoutOf(data.curve.layout, theme, true, state.printing && [330, 330]), CONFIG);
}

function drawHeatmap(data, state, theme) {
  const element = document.getElementById("heatmap");
  const { data: [given], layout } = data.models[state.model].heatmap;
  const names = data.heatmap_classes.map((label) => plotName(data.labels[label]));
  const trace = {
    ...given,
    hovertext: names.map((row, i) => names.map((column, j) => {
      const area = given.z[i][j];
      return area === null ? "" : `<b>${row} against ${column}</b><br>area ${areaText(area)}`;
    })),
    // Hard pairs are to stand out from the background.
    colorscale: "Viridis", reversescale: theme === data.themes.dark,
    colorbar: { ...given.colorbar, tickfont: { color: theme.soft }, title: { ...given.colorbar.title, font: { color: theme.soft } } },
  };
  return Plotly.react(element, [trace], layoutOf(layout, theme, false, state.printing && (element.classList.contains("few") ? [360, 300] : [600, 540])), CONFIG);
}
