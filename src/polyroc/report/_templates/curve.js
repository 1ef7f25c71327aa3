// The curves: own SVG, on a canvas where curves of many pairs are shown. Colours are the style sheet's, but for the canvas.

import { numbersOf } from "./packing.js";
import { decodeRates } from "./fit_cells.js";
import { areaText, nameElement, shape } from "./elements.js";
import { placeOf } from "./pairs.js";
import { OUTSIDE, pathOf, pixelsOf, placed, scaleOf, ticksOf, WHOLE } from "./scale.js";
import { keysOf, pointing } from "./pointing.js";
import { differenceChart } from "./difference.js";

const ON_PAPER = 330; // pixels of the figure there

// The curves of single pairs, smallest area first, with their corners.
// How many a menu may show, and a function from the place of a pair to its curve, null where there is none.
export function pairCurvesOf(data, model) {
  if (!model.curves) return { n: 0, at: () => null };
  const corners = (values) => [0, ...values, 1];
  const { rates, both } = model.curves.tpr ? storedRates(model.curves) : exploredRates(data.explorer, model);
  return {
    n: model.curves.n,
    at: (i) => {
      const found = both(i);
      return found && { call_rate: corners(rates), tpr: corners(found.tpr), fpr: corners(found.fpr) };
    },
  };
}

function storedRates({ call_rate: rates, n, limit, ...texts }) {
  const [tpr, fpr] = [texts.tpr, texts.fpr].map((text) => text && numbersOf(text).map((parts) => parts / limit));
  const rate = (values, p, sign) => rates.map((s, i) => (fpr ? values[p * rates.length + i] : s + sign * values[p * rates.length + i] * Math.min(s, 1 - s)));
  return { rates, both: (p) => (p < n ? { tpr: rate(tpr, p, 1), fpr: rate(fpr || tpr, p, -1) } : null) };
}

// A page whose costs can be changed has the rates of all pairs.
function exploredRates(explorer, model) {
  const cells = decodeRates(explorer, explorer.models[model.at]), T = explorer.grid.length;
  const place = new Map(explorer.positive.map((a, j) => [`${a},${explorer.negative[j]}`, j]));
  const both = (i) => {
    const from = 2 * T * place.get(`${model.pairs.positive[i]},${model.pairs.negative[i]}`);
    return { tpr: cells.subarray(from, from + T), fpr: cells.subarray(from + T, from + 2 * T) };
  };
  return { rates: explorer.grid, both };
}

// The parts of the drawing, from back to front, in place of the drawing for pages without a script.
function chartParts(element) {
  const canvas = document.createElement("canvas");
  const svg = shape("svg", { "aria-hidden": "true" });
  const clip = shape("clipPath", { id: "curve-clip" });
  const parts = { canvas, svg, clip: shape("rect") };
  clip.append(parts.clip);
  svg.append(clip);
  for (const name of ["axes", "bands", "picked", "lines", "marks"]) {
    parts[name] = shape("g", name === "axes" ? {} : { "clip-path": "url(#curve-clip)" });
    svg.append(parts[name]);
  }
  parts.readout = document.createElement("div");
  parts.readout.className = "readout";
  parts.readout.hidden = true;
  parts.called = document.createElement("div"); // the name of the pair that is selected
  parts.called.className = "called";
  parts.called.hidden = true;
  element.replaceChildren(canvas, svg, parts.called, parts.readout);
  element.classList.add("chart");
  return parts;
}

function calledOf(data, model, kind) {
  const { name } = data.models[model];
  if (data.models[model].n_pairs === 1) return [name ? nameElement(name) : "ROC curve"];
  const what = kind === "curve" ? "shared curve" : "mean of the pairs";
  return name ? [nameElement(name), `: ${what}`] : [what];
}

// Every model's two curves with their bands, as elements that stay; only their shapes change.
function chartLines(data, parts) {
  const lines = [];
  for (const kind of ["curve", "mean_curve"]) {
    data.models.forEach((given, model) => {
      if (!given[kind]) return;
      const colour = `var(--curve-${model % data.themes.light.curves.length})`;
      const line = { kind, model, curve: given[kind], around: given[kind === "curve" ? "band" : "mean_band"], called: () => calledOf(data, model, kind) };
      line.path = shape("path", { class: `line ${kind}`, "data-model": model, style: `stroke: ${colour}`, "stroke-dasharray": given.dashes[kind] });
      line.band = line.around && shape("path", { class: `band ${kind}`, "data-model": model, style: `fill: ${colour}` });
      parts.lines.append(line.path);
      if (line.band) parts.bands.append(line.band);
      lines.push(line);
    });
  }
  return lines;
}

export function curveChart(data, state, selection = null) {
  const element = document.getElementById("curve");
  const parts = chartParts(element);
  /** @type {any} places are set by `frame`, what is picked by `drawPairs` */
  const chart = {
    element, parts, data, state, selection, zoom: WHOLE, lines: chartLines(data, parts),
    pairs: [], // the curves of single pairs that are to be seen
    live: null, // other curves than those judged, for other costs
  };
  const decoded = new Map();
  const areas = Array.from(document.querySelectorAll(".key .areas"), (words) => ({ element: words, judged: words.textContent }));
  const frame = () => {
    const size = state.printing ? ON_PAPER : Math.max(240, element.clientWidth);
    const square = state.view === "square";
    const left = square ? 52 : 62 + 7 * (data.decades - 2); // for 99 % to 99.999 %
    chart.box = { left, top: 12, side: size - left - { square: 14, corner: 22, logit: 28 }[state.view], size };
    chart.scale = scaleOf(state.view, data.decades);
    chart.pixels = pixelsOf(chart.box, chart.zoom);
  };

  const isShown = (line) => state.shown[line.model] && state.kinds[line.kind];
  // Paper has the costs that were judged, as the words around the figure have.
  const isLive = () => chart.live !== null && !state.printing;
  const curveOf = (line) => (isLive() ? { ...line.curve, ...chart.live[line.model][line.kind] } : line.curve);

  function shapeLine(line) {
    line.shown = isShown(line);
    line.path.style.display = line.shown ? "" : "none";
    if (!line.shown) return;
    line.now = curveOf(line);
    line.places = placed(chart.scale, line.now);
    line.path.setAttribute("d", pathOf(line.places, chart.pixels));
  }

  function shapeBand(line) {
    if (!line.band) return;
    // Bands are of the costs that were judged.
    const shown = state.bands && isShown(line) && !isLive();
    line.band.style.display = shown ? "" : "none";
    if (!shown) return;
    const lower = placed(chart.scale, line.around.lower), upper = placed(chart.scale, line.around.upper);
    upper.across.reverse();
    upper.up.reverse();
    line.band.setAttribute("d", `${pathOf(lower, chart.pixels)}${pathOf(upper, chart.pixels, "L")}Z`);
  }

  function draw() {
    frame();
    drawAxes(chart);
    for (const line of chart.lines) {
      const looked = data.models.length > 1 && line.model === state.model;
      line.path.style.strokeWidth = `${(looked ? 3.2 : 2.2) - (line.kind === "curve" ? 0 : 0.6)}px`;
      shapeLine(line);
      shapeBand(line);
    }
    sayCosts();
    drawPairs();
    chart.refresh?.();
  }

  function pairsOf(place) {
    if (!decoded.has(place)) decoded.set(place, pairCurvesOf(data, { ...data.models[place], at: place }));
    return decoded.get(place);
  }

  function drawPairs() {
    const model = data.models[state.model];
    const name = (label) => nameElement(data.labels[label]);
    const line = (curve, i) => curve && ({
      pair: [model.pairs.positive[i], model.pairs.negative[i]], now: curve, places: placed(chart.scale, curve),
      called: () => [name(model.pairs.positive[i]), " against ", name(model.pairs.negative[i])],
    });
    // Before somebody asks for them, nothing is unpacked.
    const chosen = selection && selection.get().pair;
    const all = state.pairCurves > 0 || chosen ? pairsOf(state.model) : { n: 0 };
    chart.pairs = Array.from({ length: Math.min(all.n, state.pairCurves) }, (_, i) => line(all.at(i), i));
    paintPairs(chart);
    const found = placeOf(model, chosen ?? null);
    chart.picked = found === undefined ? null : line(all.at(found), found);
    parts.picked.replaceChildren(...(chart.picked ? [shape("path", { class: "picked", d: pathOf(chart.picked.places, chart.pixels) })] : []));
    callPicked(chart);
  }

  // Bands are those of the costs as given: while others are tried there are none, and the caption names none.
  function sayCosts() {
    for (const words of document.querySelectorAll(".band-words")) words.hidden = !state.bands || isLive();
    document.getElementById("curve-live").hidden = !isLive();
    sayAreas();
  }

  // The key has the areas of the curves that are drawn. At other costs the mean area is not M.
  function sayAreas() {
    areas.forEach(({ element: words, judged }, m) => {
      const now = isLive() ? `D\u00a0${areaText(chart.live[m].auc)} mean\u00a0${areaText(chart.live[m].mean_auc)}` : judged;
      if (words.textContent !== now) words.textContent = now;
    });
  }

  // Only lines and their areas: this runs in every frame while somebody drags a cost.
  function show(live) {
    const changed = (live === null) !== (chart.live === null);
    chart.live = live;
    for (const line of chart.lines) shapeLine(line);
    if (changed) {
      for (const line of chart.lines) shapeBand(line);
      sayCosts();
    } else sayAreas();
    chart.repoint?.();
  }

  chart.zoomTo = (zoom) => { chart.zoom = zoom; draw(); };
  chart.draw = draw;
  frame();
  selection?.on(drawPairs);
  viewButtons(chart);
  pointing(chart);
  keysOf(chart);
  // A chart of another width has other ticks and other places.
  new ResizeObserver(() => { if (!state.printing && element.clientWidth !== chart.box.size) draw(); }).observe(element);
  const difference = differenceChart(data);
  return { draw() { draw(); difference.draw(); }, show };
}

// The selected pair's name stands where its view seldom has a curve.
function callPicked({ parts: { called }, box, scale, picked }) {
  called.hidden = picked === null;
  if (picked === null) return;
  called.replaceChildren(...picked.called());
  const side = `${box.left + 8}px`, other = `${box.size - box.left - box.side + 8}px`;
  Object.assign(called.style, scale.view === "corner" ? { inset: `${box.top + 8}px auto auto ${side}` } : { inset: `auto ${other} 54px auto` });
  called.style.maxWidth = `${Math.round(0.6 * box.side)}px`;
}

// Frame, grid, ticks and the diagonal of guessing.
function drawAxes({ parts, box, scale, zoom, pixels }) {
  const { left, top, side, size } = box;
  const bottom = top + side, right = left + side;
  const height = bottom + 46;
  parts.svg.setAttribute("viewBox", `0 0 ${size} ${height}`);
  const room = scale.bent ? Math.ceil(OUTSIDE * side) + 1 : 2; // for lines at the edge, and those that leave it
  for (const [key, value] of Object.entries({ x: left - room, y: top - room, width: side + room + 2, height: side + room + 2 })) parts.clip.setAttribute(key, value);
  const axes = [];
  const most = side < 300 ? 5 : 7;
  for (const { place, text } of ticksOf(scale, "across", zoom.left, zoom.right, most)) {
    const x = Math.round(pixels.x(place) * 10) / 10;
    axes.push(shape("path", { class: text ? "grid" : "grid fine", d: `M${x} ${top}V${bottom}` }));
    if (text) axes.push(shape("text", { class: scale.bent && side < 52 * scale.length ? "tick x tight" : "tick x", x, y: bottom + 18, "text-anchor": "middle" }, text));
  }
  for (const { place, text } of ticksOf(scale, "up", zoom.bottom, zoom.top, most)) {
    const y = Math.round(pixels.y(place) * 10) / 10;
    axes.push(shape("path", { class: text ? "grid" : "grid fine", d: `M${left} ${y}H${right}` }));
    if (text) axes.push(shape("text", { class: "tick y", x: left - (scale.bent ? 14 : 9), y: y + 4, "text-anchor": "end" }, text));
  }
  const steps = Array.from({ length: 41 }, (_, i) => i / 40);
  const chance = pathOf(placed(scale, { fpr: steps, tpr: steps }), pixels);
  const middle = top + side / 2;
  const kind = scale.view === "logit" ? " (logit scale)" : "";
  axes.push(
    shape("rect", { class: "frame", x: left, y: top, width: side, height: side }),
    shape("path", { class: "chance", d: chance, "clip-path": "url(#curve-clip)" }),
    shape("text", { class: "title", x: left + side / 2, y: bottom + 40, "text-anchor": "middle" }, `false positive rate${kind}`),
    shape("text", { class: "title", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, `true positive rate${kind}`),
  );
  parts.axes.replaceChildren(...axes);
}

// Many thin lines: as elements they would be slow.
function paintPairs({ parts: { canvas, clip }, box, pairs, pixels, data, state }) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches && !state.printing; // paper is light
  const scale = state.printing ? 3 : Math.max(1, devicePixelRatio);
  const height = box.top + box.side + 46;
  canvas.width = Math.round(box.size * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.aspectRatio = `${box.size} / ${height}`; // as the drawing over it
  const pen = canvas.getContext("2d");
  if (!pairs.length) return;
  pen.scale(scale, scale);
  pen.beginPath();
  pen.rect(...["x", "y", "width", "height"].map((key) => Number(clip.getAttribute(key))));
  pen.clip();
  pen.strokeStyle = (dark ? data.themes.dark : data.themes.light).soft;
  pen.globalAlpha = pairs.length > 60 ? 0.3 : 0.5;
  pen.lineWidth = 1;
  for (const { places } of pairs) {
    pen.beginPath();
    places.across.forEach((place, i) => pen.lineTo(pixels.x(place), pixels.y(places.up[i])));
    pen.stroke();
  }
}

function viewButtons(chart) {
  const buttons = [...document.querySelectorAll("[data-view]")];
  const whole = document.getElementById("curve-whole");
  for (const button of buttons) {
    button.addEventListener("click", () => { chart.state.view = button.dataset.view; chart.zoomTo(WHOLE); });
  }
  whole.addEventListener("click", () => { chart.zoomTo(WHOLE); chart.element.focus(); });
  chart.refresh = () => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === chart.state.view));
    for (const view of ["corner", "logit"]) document.querySelector(`.${view}-words`).hidden = chart.state.view !== view;
    whole.hidden = chart.zoom === WHOLE;
    chart.repoint?.();
  };
}
