// The cost explorer: a grid of costs that are dragged, typed and moved by keys, and what follows from them.

import { areaText } from "./elements.js";
import { makeExplorer } from "./recompute.js";
import { EXPLORER_RATIO, explorerCosts, explorerCsv, explorerStep } from "./explorer_costs.js";
import { explorerOrder, explorerPieces, explorerSentence } from "./explorer_words.js";
import { explorerDrag, explorerGrid, explorerKeys } from "./explorer_grid.js";
import { explorerCopy, explorerCurves, explorerSide } from "./explorer_side.js";

const EXPLORER_PAUSE = 600; // milliseconds of rest before a screen reader is told

function explorerElements() {
  const find = (id) => document.getElementById(`explorer-${id}`);
  const ids = ["says", "live", "numbers", "grid", "what", "value", "slide", "less", "more", "note", "undo", "reset", "copy", "file", "copied", "curves"];
  return Object.fromEntries(ids.map((id) => [id, find(id)]));
}

// The small table: numbers now and as judged, and the places; in the order of D. More columns may be added.
function explorerTable(table, names, before, tell) {
  const columns = [];
  const body = table.tBodies[0];
  const rows = before.map((_, m) => body.querySelector(`[data-model="${m}"]`));

  function place(byD, byMean, m) {
    return byD[m] === byMean[m] ? String(byD[m]) : `${byD[m]} (by the mean area ${byMean[m]})`;
  }

  function fill(models) {
    const byD = explorerOrder(models, "auc");
    const byMean = explorerOrder(models, "mean_auc");
    rows.forEach((row, m) => {
      for (const key of ["auc", "mean_auc"]) row.querySelector(`.now-${key}`).textContent = areaText(models[m][key]);
      const cell = row.querySelector(".place");
      if (cell) cell.textContent = place(byD.places, byMean.places, m);
      columns.forEach(({ text, cells }) => { cells[m].textContent = text(m, ...tell()); });
    });
    const order = byD.order.map((m) => rows[m]);
    // Rows that stay where they are are not touched.
    if (order.some((row, i) => body.rows[i] !== row)) body.append(...order);
  }

  function add(title, text) {
    const head = document.createElement("th");
    head.scope = "col";
    head.className = "number";
    head.textContent = title;
    table.tHead.rows[0].append(head);
    const cells = rows.map((row) => { const cell = row.insertCell(); cell.className = "number"; return cell; });
    columns.push({ text, cells });
  }

  return { fill, add };
}

export function explorerPanel(data, { chart = null, selection = null, make = null } = {}) {
  const section = document.getElementById("explorer");
  if (!section) return null;
  if (!data.explorer) {
    // A tipping list without a grid: its buttons lead nowhere.
    for (const button of section.querySelectorAll("[data-factor] button.control")) button.remove();
    return null;
  }
  const { classes, models: before } = data.explorer;
  const elements = explorerElements();
  const costs = explorerCosts(data.explorer);
  const labels = classes.map((c) => data.labels[c]);
  const names = data.models.map((model) => model.name);
  const given = section.dataset.given === "true";
  const grid = explorerGrid(elements.grid, costs, { names: classes.map((c) => data.explorer_names.short[c]), labels });
  const numbers = explorerTable(elements.numbers, names, before, () => [costs.now(), costs.prevalence()]);
  const curves = explorerCurves(elements.curves, data);
  let fit = null; // made when somebody first changes a cost
  let models = before;
  let waiting = 0;

  function fitted() {
    if (fit) return fit;
    fit = (make ?? makeExplorer)(data.explorer);
    fit.on((result) => {
      if (costs.isGiven()) return; // a late answer: the costs as given need no fit
      models = result.models;
      section.dataset.settled = String(result.settled);
      follow();
    });
    return fit;
  }

  function say() {
    numbers.fill(models);
    elements.says.replaceChildren(...explorerPieces(explorerSentence({ models, names, before, costs, labels, given })));
  }

  // Everything that says or draws something follows.
  function follow() {
    chart?.show?.(models === before ? null : models);
    curves.draw(models === before ? null : models);
    say();
    clearTimeout(waiting);
    if (section.dataset.settled === "true") waiting = setTimeout(() => { elements.live.textContent = elements.says.textContent; }, EXPLORER_PAUSE);
  }

  function change() {
    grid.paint();
    side.show();
    elements.file.hidden = true;
    elements.copied.textContent = "";
    const asGiven = costs.isGiven();
    section.dataset.settled = String(asGiven);
    if (!asGiven || fit) fitted().set(costs.now(), costs.prevalence());
    if (!asGiven) return;
    models = before;
    follow();
  }

  function rest() {
    change();
    if (!costs.isGiven()) fitted().settle();
  }

  const side = explorerSide(elements, costs, labels, { change, rest, leave: (target) => grid.cellOf(target).focus() });
  const panel = explorerActions({ data, elements, costs, grid, side, selection, change, rest });
  explorerTips(section, classes, panel);
  say();
  section.dataset.settled = "true";
  return { ...panel, addColumn(title, text) { numbers.add(title, text); numbers.fill(models); } };
}

// What somebody can do: select, drag, press keys, go back, copy.
function explorerActions({ data, elements, costs, grid, side, selection, change, rest }) {
  const { classes } = data.explorer;
  let stop = null; // the one cell that Tab leads to

  function enter(cell) {
    if (stop) { stop.tabIndex = -1; stop.classList.remove("stop"); }
    stop = cell;
    stop.tabIndex = 0;
    stop.classList.add("stop");
  }

  function light(r, c) {
    for (const lit of grid.table.querySelectorAll(".lit")) lit.classList.remove("lit");
    if (r > 0) grid.cells[r][0].classList.add("lit");
    if (c > 0) grid.cells[0][c].classList.add("lit");
  }

  function select(target) {
    const [r, c] = grid.placeOf(target);
    enter(grid.cells[r][c]);
    light(r, c);
    side.select(target);
  }

  // The page's selection: a pair for a cell, a class for a name.
  function choose({ a, b, share }) {
    if (a !== undefined && b !== undefined) selection?.set?.({ pair: [classes[a], classes[b]], class: null });
    else selection?.set?.({ pair: null, class: classes[a ?? b ?? share] });
  }

  function step(direction) {
    if (!side.target) return;
    costs.remember();
    costs.set(side.target, explorerStep(costs.value(side.target), direction));
    rest();
  }

  function back() {
    if (!side.target) return;
    costs.remember();
    costs.forget(side.target);
    rest();
  }

  const undo = () => { if (costs.undo()) rest(); };
  const reset = () => { costs.remember(); costs.reset(); rest(); };

  function focused(r, c) {
    const target = grid.targetAt(r, c);
    enter(grid.cells[r][c]);
    light(r, c);
    side.select(target);
  }

  grid.table.addEventListener("focusin", (event) => {
    const cell = event.target.closest("[data-r]");
    if (cell) focused(Number(cell.dataset.r), Number(cell.dataset.c));
  });
  grid.table.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-r]");
    if (cell && side.target) choose(side.target);
  });
  grid.table.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td[data-r]");
    if (cell) cell.title = cell.getAttribute("aria-label"); // small cells have no room for their numbers
  });
  explorerDrag(grid, costs, { begin: (target) => { select(target); choose(target); }, change, rest });
  explorerKeys(grid, costs, { focus: (r, c) => grid.cells[r][c].focus(), step, edit: side.edit, back, undo });
  elements.less.addEventListener("click", () => step(-1));
  elements.more.addEventListener("click", () => step(1));
  elements.undo.addEventListener("click", undo);
  elements.reset.addEventListener("click", reset);
  elements.copy.addEventListener("click", () => {
    const folded = costs.folded().filter((_, i) => i % (costs.k + 1) !== 0);
    if (Math.max(...folded) > EXPLORER_RATIO * Math.min(...folded)) {
      elements.copied.textContent = "These costs lie further apart than polyroc accepts, which is a ratio of 1e12. Bring some of them closer together.";
    } else explorerCopy(elements, explorerCsv(data.explorer_names.exact, classes, costs));
  });
  explorerFollow(data, grid, selection, select);
  enter(grid.cells[1][2]);
  side.show();

  function show(a, b, factor) {
    costs.remember();
    costs.reset();
    costs.setFactor({ a, b }, factor);
    select({ a, b });
    rest();
    grid.cellOf({ a, b }).focus();
  }

  return { show, reset, undo };
}

// Another part of the page selected a pair or a class: the grid shows it, and leaves the focus where it is.
function explorerFollow(data, grid, selection, select) {
  const place = new Map(data.explorer.classes.map((label, i) => [label, i]));
  const mark = () => {
    const { pair, class: one } = selection.get();
    for (const cell of grid.table.querySelectorAll(".selected")) { cell.classList.remove("selected"); cell.removeAttribute("aria-selected"); }
    const target = pair ? { a: place.get(pair[0]), b: place.get(pair[1]) } : { a: place.get(one) };
    if (target.a === undefined || (pair && target.b === undefined)) return;
    const cell = grid.cellOf(target);
    cell.classList.add("selected");
    cell.setAttribute("aria-selected", "true");
    if (!grid.table.contains(document.activeElement)) select(target);
  };
  if (!selection) return;
  selection.on?.(mark);
  mark();
}

// The entries of the tipping list lead to their cell.
function explorerTips(section, classes, panel) {
  const place = new Map(classes.map((label, i) => [label, i]));
  for (const entry of section.querySelectorAll("[data-true][data-predicted][data-factor]")) {
    const button = entry.querySelector("button.control");
    const [a, b] = [entry.dataset.true, entry.dataset.predicted].map((label) => place.get(Number(label)));
    const factor = Number(entry.dataset.factor);
    if (!button || a === undefined || b === undefined || !(factor > 0)) continue;
    button.addEventListener("click", () => panel.show(a, b, factor));
  }
}
