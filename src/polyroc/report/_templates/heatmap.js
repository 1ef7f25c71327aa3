// The heatmap: areas of the pairs of the model that is looked at, a row per positive and a column per negative class.

import { areaText, nameElement, shape } from "./elements.js";
import { isSamePair } from "./selection.js";
import { AREA_PARTS, placeOf } from "./pairs.js";

// More cells than these are painted: thousands of elements would be slow.
const MOST_DRAWN_CELLS = 30;

// Colours of areas. One hue on log(1 - area) with fixed ends, the same in every report; harder pairs stand out more
// from the background.
const HEAT_ENDS = [0.5, 0.9999]; // also for what is beyond
const HEAT_TICKS = [0.5, 0.9, 0.99, 0.999, 0.9999];
// From the easy end to the hard one.
const HEAT_COLOURS = {
  light: ["#e8f0f8", "#cfe0f0", "#abcbe6", "#7fb0d8", "#4f8fc4", "#2a6fab", "#125089", "#08306b"],
  dark: ["#1b2530", "#1e3447", "#234a69", "#2b648f", "#3d83b8", "#68a6d6", "#a2cbec", "#e0f0fd"],
};

// 0 at the easy end, 1 at the hard one.
function heatPlace(area) {
  const [hard, easy] = HEAT_ENDS.map((end) => Math.log(1 - end));
  const at = Math.log(1 - Math.min(Math.max(area, HEAT_ENDS[0]), HEAT_ENDS[1]));
  return (at - easy) / (hard - easy);
}

function heatColour(area, colours) {
  const at = heatPlace(area) * (colours.length - 1);
  const below = Math.min(Math.floor(at), colours.length - 2);
  const channels = (colour) => [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  const [from, to] = [channels(colours[below]), channels(colours[below + 1])];
  return from.map((channel, i) => Math.round(channel + (at - below) * (to[i] - channel)));
}

const rgb = (channels) => `rgb(${channels.join(", ")})`;

// Black or white, whichever has more contrast (WCAG's luminance; both have the same at 0.179).
function inkOn(channels) {
  const [r, g, b] = channels.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

// Three decimals; more where they would make an area perfect that is not, and a bound where these have no room.
function cellText(area) {
  if (area === 0 || area === 1) return String(area);
  const text = areaText(area, 3).replace(/^0/, "");
  return text.length <= ".9995".length ? text : area > 0.5 ? ">.999" : "<.001";
}

function heatLegend(colours) {
  const legend = document.createElement("div");
  legend.className = "heat-legend";
  legend.setAttribute("aria-hidden", "true"); // the numbers say the same
  const bar = document.createElement("div");
  bar.className = "heat-bar";
  bar.style.background = `linear-gradient(to left, ${colours.join(", ")})`;
  for (const tick of HEAT_TICKS) {
    const mark = document.createElement("span");
    mark.style.left = `${(100 * (1 - heatPlace(tick))).toFixed(2)}%`;
    mark.textContent = String(tick);
    bar.append(mark);
  }
  const words = (text) => Object.assign(document.createElement("span"), { textContent: text });
  legend.append(words("harder"), bar, words("easier"));
  return legend;
}

// Where things are, in pixels of the page.
function heatLayout(n, names, width, hasTree) {
  const isNarrow = width < 520;
  const font = isNarrow ? 10 : 11.5;
  // About so wide is a letter; those of East Asia, and emoji, are as wide as high.
  const lengthOf = (name) => [...name].reduce((sum, letter) => sum + (letter > "\u2e80" ? 1.05 : 0.63), 0);
  const label = 8 + font * Math.max(...names.map(lengthOf));
  const tree = !hasTree ? 0 : isNarrow ? 34 : 76;
  const title = 18;
  const left = title + label;
  const cell = Math.min(Math.max(Math.floor((width - left - tree - 6) / n), 5), n <= 6 ? 84 : 58);
  const side = n * cell;
  const isFlat = label <= cell; // names along the columns need not be turned
  const top = 4;
  const height = top + side + (isFlat ? 20 : label) + title;
  return { n, cell, side, left, top, tree, isFlat, font, width: left + side + tree + 6, height, step: Math.ceil(12 / cell) };
}

function heatCells(data, model) {
  const { classes } = data.heatmap;
  if (model.heatmap) return model.heatmap.map((row) => row.map((parts) => (parts === null ? null : parts / AREA_PARTS)));
  return classes.map((a) => classes.map((b) => model.pairs.auc[placeOf(model, [a, b])] ?? null));
}

function drawCells(svg, at, cells, colours) {
  const group = shape("g", { class: "heat-cells" });
  const size = Math.min(13, Math.floor(at.cell * 0.31));
  cells.forEach((row, r) => row.forEach((area, c) => {
    if (area === null) return;
    const colour = heatColour(area, colours);
    const [x, y] = [at.left + c * at.cell, at.top + r * at.cell];
    group.append(shape("rect", { x, y, width: at.cell - 1, height: at.cell - 1, fill: rgb(colour) }));
    if (size < 9) return; // too small to read
    const position = { x: x + (at.cell - 1) / 2, y: y + at.cell / 2 + size * 0.34, "font-size": size, fill: inkOn(colour) };
    group.append(shape("text", { class: "heat-number", "text-anchor": "middle", ...position }, cellText(area)));
  }));
  svg.append(group);
}

function paintCells(stage, at, cells, colours, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.round(at.side * scale);
  Object.assign(canvas.style, { left: `${at.left}px`, top: `${at.top}px`, width: `${at.side}px`, height: `${at.side}px` });
  const brush = canvas.getContext("2d");
  const gap = at.cell >= 6 ? Math.round(scale) : 0;
  const edge = (index) => Math.round(index * at.cell * scale);
  cells.forEach((row, r) => row.forEach((area, c) => {
    if (area === null) return;
    brush.fillStyle = rgb(heatColour(area, colours));
    brush.fillRect(edge(c), edge(r), edge(c + 1) - edge(c) - gap, edge(r + 1) - edge(r) - gap);
  }));
  stage.append(canvas);
}

// As many names as there is room for; the pointer finds the others.
function drawNames(svg, at, data) {
  const { names, classes } = data.heatmap;
  const group = shape("g", { class: "heat-names", "font-size": at.font });
  const middle = (index) => (index + 0.5) * at.cell;
  names.forEach((name, index) => {
    if (index % at.step) return;
    const [x, y] = [at.left + middle(index), at.top + at.side + (at.isFlat ? 14 : 6)];
    const turned = at.isFlat ? { "text-anchor": "middle", x, y } : { "text-anchor": "end", transform: `translate(${x + 4} ${y}) rotate(-90)` };
    group.append(shape("text", { "text-anchor": "end", x: at.left - 6, y: at.top + middle(index) + 4, "data-class": classes[index] }, name));
    group.append(shape("text", { ...turned, "data-class": classes[index] }, name));
  });
  const across = at.left + at.side / 2;
  const down = at.top + at.side / 2;
  group.append(shape("text", { class: "heat-title", "text-anchor": "middle", x: across, y: at.height - 4 }, "negative class"));
  group.append(shape("text", { class: "heat-title", "text-anchor": "middle", transform: `translate(12 ${down}) rotate(-90)` }, "positive class"));
  svg.append(group);
}

// Classes and groups are joined where the mean area between them is; further right, they are easier to separate.
function drawTree(svg, at, tree) {
  const depth = (area) => -Math.log(Math.max(1 - area, 1e-7));
  const depths = tree.map(([, , area]) => depth(area));
  const [low, high] = [Math.min(...depths), Math.max(...depths)];
  const start = at.left + at.side + 5;
  const room = at.tree - 8;
  // The first join is a little off the cells, also where all joins are at the same area.
  const across = (value) => start + room * (high - low > 1e-9 ? 0.12 + 0.88 * ((value - low) / (high - low)) : 1);
  const nodes = Array.from({ length: at.n }, (_, row) => ({ x: start, y: at.top + (row + 0.5) * at.cell }));
  const lines = tree.map(([a, b], step) => {
    const [first, second, x] = [nodes[a], nodes[b], across(depths[step])];
    nodes.push({ x, y: (first.y + second.y) / 2 });
    return [`M${first.x} ${first.y}`, `H${x}`, `V${second.y}`, `H${second.x}`].join("");
  });
  svg.append(shape("path", { class: "heat-tree", d: lines.join("") }));
}

export function heatmapChart(data, selection) {
  const element = document.getElementById("heatmap");
  const { classes, names, tree } = data.heatmap;
  const n = classes.length;
  const rowOf = new Map(classes.map((label, row) => [label, row]));
  const box = document.createElement("div");
  const stage = document.createElement("div");
  const marks = shape("g");
  const tip = document.createElement("div");
  const live = document.getElementById("heatmap-cell");
  let at = null;
  let cells = null;
  let drawn = "";
  let cursor = null; // row and column
  let last = null;

  box.className = "heat-box";
  stage.className = "heat-stage";
  tip.className = "heat-tip";
  tip.hidden = true;
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  stage.setAttribute("aria-label", "Heatmap of the areas of the pairs. Arrow keys move from cell to cell, Enter selects a pair.");
  element.removeAttribute("role");
  element.removeAttribute("aria-label");
  box.append(stage);
  element.replaceChildren(box);

  // Only if something has changed: the page draws all its figures whenever one of them has.
  function draw(look) {
    last = look;
    const width = look.printing ? 620 : element.clientWidth;
    const scale = look.printing ? 3 : Math.max(devicePixelRatio, 1);
    const now = JSON.stringify([look, width, scale]);
    if (now === drawn || width === 0) return;
    drawn = now;
    const colours = HEAT_COLOURS[look.dark ? "dark" : "light"];
    at = heatLayout(n, names, width, Boolean(tree));
    cells = heatCells(data, data.models[look.model]);
    Object.assign(stage.style, { width: `${at.width}px`, height: `${at.height}px` });
    const svg = shape("svg", { width: at.width, height: at.height, "aria-hidden": "true" });
    stage.replaceChildren();
    if (n > MOST_DRAWN_CELLS) paintCells(stage, at, cells, colours, scale);
    else drawCells(svg, at, cells, colours);
    drawNames(svg, at, data);
    if (tree) drawTree(svg, at, tree);
    svg.append(marks);
    stage.append(svg, tip);
    Object.assign(stage.dataset, { left: at.left, top: at.top, cell: at.cell });
    element.replaceChildren(box, heatLegend(colours));
    mark();
  }

  function frame(kind, row, column, rows, columns) {
    const size = { x: at.left + column * at.cell - 1, y: at.top + row * at.cell - 1, width: columns * at.cell + 1, height: rows * at.cell + 1 };
    // Two lines: one of them is visible on any colour.
    return [shape("rect", { class: `${kind} halo`, ...size }), shape("rect", { class: kind, ...size })];
  }

  function mark() {
    if (!at) return;
    const { pair, class: label } = selection.get();
    const frames = [];
    if (label !== null && rowOf.has(label)) frames.push(...frame("heat-mark", rowOf.get(label), 0, 1, n), ...frame("heat-mark", 0, rowOf.get(label), n, 1));
    if (pair && pair.every((c) => rowOf.has(c))) frames.push(...frame("heat-mark", rowOf.get(pair[0]), rowOf.get(pair[1]), 1, 1));
    if (cursor && document.activeElement === stage) frames.push(...frame("heat-cursor", ...cursor, 1, 1));
    marks.replaceChildren(...frames);
    for (const name of stage.querySelectorAll("[data-class]")) {
      const own = Number(name.dataset.class);
      name.classList.toggle("selected", own === label || Boolean(pair?.includes(own)));
    }
  }

  const nameAt = (i) => data.labels[classes[i]];
  function wordsAt(row, column) {
    const area = cells[row][column];
    const i = placeOf(data.models[last.model], [classes[row], classes[column]]);
    const effect = i === undefined ? "" : `, effect ${data.models[last.model].pairs.effect[i].toFixed(3)}`;
    return area === null ? "not computed" : `area ${areaText(area)}${effect}`;
  }

  function point(row, column) {
    const line = document.createElement("div");
    line.append(nameElement(nameAt(row)), " against ", nameElement(nameAt(column)));
    const words = Object.assign(document.createElement("div"), { textContent: wordsAt(row, column) });
    tip.replaceChildren(line, words);
    tip.hidden = false;
    const [x, y] = [at.left + (column + 1) * at.cell + 8, at.top + (row + 1) * at.cell + 8];
    // Left of the cell where there is no room right of it, above where there is none below.
    const edge = box.scrollLeft + box.clientWidth;
    tip.style.left = `${Math.max(box.scrollLeft, x + tip.offsetWidth <= edge ? x : Math.min(x - at.cell - 16, edge) - tip.offsetWidth)}px`;
    tip.style.top = `${y + tip.offsetHeight <= at.height ? y : Math.max(0, y - at.cell - 16 - tip.offsetHeight)}px`;
  }

  // What is at a point: a cell, a name, or nothing.
  function under(event) {
    const frame = stage.getBoundingClientRect();
    const [column, row] = [(event.clientX - frame.left - at.left) / at.cell, (event.clientY - frame.top - at.top) / at.cell].map(Math.floor);
    const isInside = (i) => i >= 0 && i < n;
    if (isInside(row) && isInside(column)) return row === column ? {} : { cell: [row, column] };
    if (isInside(row) && column < 0) return { class: classes[row] };
    return isInside(column) && row >= n ? { class: classes[column] } : {};
  }

  stage.addEventListener("pointermove", (event) => {
    const { cell, class: label } = under(event);
    stage.style.cursor = cell || label !== undefined ? "pointer" : "";
    if (cell) point(...cell);
    else tip.hidden = true;
  });
  stage.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") tip.hidden = true; });
  stage.addEventListener("click", (event) => {
    const { cell, class: label } = under(event);
    if (cell) choose(cell);
    else if (label !== undefined) selection.set({ class: label === selection.get().class ? null : label });
  });

  function choose(cell) {
    cursor = cell;
    const pair = cell.map((i) => classes[i]);
    if (cells[cell[0]][cell[1]] !== null) selection.set({ pair: isSamePair(pair, selection.get().pair) ? null : pair });
    point(...cell);
    mark();
  }

  function say() {
    const [row, column] = cursor;
    const words = (i) => nameAt(i).whole || nameAt(i).text;
    const { pair } = selection.get();
    const isSelected = isSamePair(pair, cursor.map((i) => classes[i]));
    live.textContent = `${words(row)} against ${words(column)}: ${wordsAt(row, column)}${isSelected ? ", selected" : ""}`;
  }

  // No class is compared with itself: the cursor jumps over the diagonal, or stays.
  function step(down, across) {
    const next = [cursor[0] + down, cursor[1] + across];
    if (next[0] === next[1]) { next[0] += down; next[1] += across; }
    if (next.every((i) => i >= 0 && i < n)) cursor = next;
  }

  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  stage.addEventListener("keydown", (event) => {
    if (!at || event.altKey || event.ctrlKey || event.metaKey) return;
    if (STEPS[event.key]) step(...STEPS[event.key]);
    else if (event.key === "Enter" || event.key === " ") choose(cursor);
    else if (event.key === "Escape") { tip.hidden = true; return; }
    else return;
    event.preventDefault();
    point(...cursor);
    mark();
    say();
  });
  stage.addEventListener("focus", () => {
    const { pair } = selection.get();
    if (pair && pair.every((c) => rowOf.has(c))) cursor = pair.map((c) => rowOf.get(c));
    cursor ??= [0, 1];
    if (!at || !stage.matches(":focus-visible")) return; // a click shows its own cell
    point(...cursor);
    mark();
    say();
  });
  stage.addEventListener("blur", () => { tip.hidden = true; mark(); });
  selection.on(mark);
  new ResizeObserver(() => { if (last && !last.printing) draw(last); }).observe(element);
  return { draw };
}
