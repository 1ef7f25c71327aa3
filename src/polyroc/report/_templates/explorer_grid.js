// The grid of costs: a row for the true class, a column for the predicted class, one more for the shares.

import { nameElement } from "./elements.js";
import { explorerNumber } from "./explorer_words.js";

const EXPLORER_DECADE = 100; // pixels of a drag to ten times the cost
const EXPLORER_NUMBERED = 20; // classes above which cells are too small for numbers
const EXPLORER_STILL = 3; // pixels that are no drag yet

function explorerCell(tag, r, c, label) {
  const cell = document.createElement(tag);
  cell.tabIndex = -1;
  cell.dataset.r = r;
  cell.dataset.c = c;
  if (label) cell.setAttribute("aria-label", label);
  return cell;
}

// `names` has short names for the sides; `labels` whole ones.
export function explorerGrid(table, costs, { names, labels }) {
  const { k } = costs;
  const whole = (i) => labels[i].whole || labels[i].text;
  const cells = []; // by row and column, names included
  const painted = new Map();

  function head(tag, r, c, i, scope) {
    const cell = explorerCell(tag, r, c, scope === "row" ? `true class ${whole(i)}` : `predicted ${whole(i)}`);
    cell.scope = scope;
    // Numbers and other short names need not be turned.
    if (scope === "col" && [...names[i]].length <= (k > EXPLORER_NUMBERED ? 2 : 3)) cell.classList.add("upright");
    cell.append(nameElement({ text: names[i], whole: names[i] === whole(i) ? "" : whole(i) }));
    return cell;
  }

  function firstRow() {
    const corner = document.createElement("th");
    corner.className = "corner";
    corner.textContent = "predicted →\ntrue class ↓";
    corner.scope = "col";
    const share = document.createElement("th");
    share.className = "share-head";
    share.scope = "col";
    const word = document.createElement("span");
    word.textContent = "share";
    share.append(word);
    share.title = "How common a class is where the model is used, compared with the data as judged";
    return [corner, ...labels.map((_, b) => head("th", 0, b + 1, b, "col")), share];
  }

  function build() {
    const top = document.createElement("thead");
    const body = document.createElement("tbody");
    const line = (part, row) => {
      const element = document.createElement("tr");
      element.append(...row);
      part.append(element);
      cells.push(row);
    };
    line(top, firstRow());
    for (let a = 0; a < k; a += 1) {
      const row = [head("th", a + 1, 0, a, "row")];
      for (let b = 0; b < k; b += 1) row.push(explorerCell("td", a + 1, b + 1));
      row[a + 1].className = "none";
      row[a + 1].setAttribute("aria-label", "no mistake");
      row[a + 1].setAttribute("aria-readonly", "true");
      row.push(explorerCell("td", a + 1, k + 1));
      row[k + 1].className = "share";
      line(body, row);
    }
    table.replaceChildren(top, body);
  }

  // What stands at a place of the grid; null for what cannot be changed.
  function targetAt(r, c) {
    if (r === 0) return c > 0 && c <= k ? { b: c - 1 } : null;
    if (c === 0) return { a: r - 1 };
    if (c === k + 1) return { share: r - 1 };
    return r === c ? null : { a: r - 1, b: c - 1 };
  }

  function placeOf({ a, b, share }) {
    if (share !== undefined) return [share + 1, k + 1];
    return [a === undefined ? 0 : a + 1, b === undefined ? 0 : b + 1];
  }

  const cellOf = (target) => { const [r, c] = placeOf(target); return cells[r][c]; };

  // One hue for more than usual and one for less, as strong as the logarithm is large.
  function paintCell(cell, value, usual, changed, label) {
    if (painted.get(cell) === `${value} ${changed}`) return;
    painted.set(cell, `${value} ${changed}`);
    const log = Math.log10(value / usual);
    cell.classList.toggle("more", log > 1e-9);
    cell.classList.toggle("less", log < -1e-9);
    cell.classList.toggle("changed", changed);
    cell.style.setProperty("--heat", `${Math.round(12 + 53 * Math.min(1, Math.abs(log) / 3))}%`);
    const share = cell.classList.contains("share");
    cell.textContent = `${share ? "×" : ""}${explorerNumber(value)}`;
    cell.setAttribute("aria-label", `${label}: ${explorerNumber(value)}`);
  }

  function paint() {
    for (let a = 0; a < k; a += 1) {
      for (let b = 0; b < k; b += 1) {
        if (a === b) continue;
        const target = { a, b };
        paintCell(cells[a + 1][b + 1], costs.cost(a, b), costs.usual, costs.factor(target) !== 1, `predicting ${whole(a)} as ${whole(b)}`);
      }
      const share = costs.factor({ share: a });
      paintCell(cells[a + 1][k + 1], share, 1, share !== 1, `share of ${whole(a)}, times as judged`);
    }
  }

  build();
  paint();
  return { table, cells, targetAt, placeOf, cellOf, paint };
}

// A mouse drags; a finger scrolls the page and only selects: it has a slider for the rest.
export function explorerDrag(grid, costs, { begin, change, rest }) {
  let drag = null;

  function down(event) {
    const cell = event.target.closest("[data-r]");
    if (!cell || event.button !== 0 || event.pointerType !== "mouse") return;
    const target = grid.targetAt(Number(cell.dataset.r), Number(cell.dataset.c));
    if (!target) return;
    drag = { cell, target, x: event.clientX, y: event.clientY, log: 0, moved: false, from: costs.snapshot(), value: costs.value(target) };
  }

  function move(event) {
    if (!drag) return;
    const step = event.clientX - drag.x - (event.clientY - drag.y);
    if (!drag.moved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < EXPLORER_STILL) return;
    if (!drag.moved) {
      drag.moved = true;
      grid.table.setPointerCapture(event.pointerId); // not before: a click would not know its cell
      grid.table.classList.add("dragging");
      begin(drag.target);
    }
    drag.x = event.clientX;
    drag.y = event.clientY;
    drag.log += step / EXPLORER_DECADE / (event.shiftKey ? 10 : 1);
    costs.restore(drag.from);
    // Two digits are enough for a hand, three for a careful one.
    costs.set(drag.target, Number((drag.value * 10 ** drag.log).toPrecision(event.shiftKey ? 3 : 2)));
    change();
  }

  function up(event) {
    if (!drag) return;
    const { moved, from } = drag;
    drag = null;
    grid.table.classList.remove("dragging");
    if (grid.table.hasPointerCapture(event.pointerId)) grid.table.releasePointerCapture(event.pointerId);
    if (!moved) return;
    if (event.type === "pointercancel") costs.restore(from);
    else costs.remember(from);
    rest();
  }

  grid.table.addEventListener("pointerdown", down);
  grid.table.addEventListener("pointermove", move);
  for (const type of ["pointerup", "pointercancel"]) grid.table.addEventListener(type, up);
}

// Arrows move from cell to cell; + and -, page keys and arrows with Shift change what it costs; a digit begins a number.
export function explorerKeys(grid, costs, { focus, step, edit, back, undo }) {
  const { k } = costs;
  const exists = (r, c) => r >= 0 && r <= k && c >= 0 && c <= k + 1 && !(r === 0 && (c === 0 || c === k + 1));
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const ups = ["+", "=", "PageUp"];
  const downs = ["-", "−", "_", "PageDown"];

  function act(event, r, c) {
    const { key } = event;
    if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "z") return () => undo();
    if (event.ctrlKey || event.metaKey || event.altKey) return null;
    if (event.shiftKey && (key === "ArrowUp" || key === "ArrowRight")) return () => step(1);
    if (event.shiftKey && (key === "ArrowDown" || key === "ArrowLeft")) return () => step(-1);
    if (moves[key]) return () => { const [dr, dc] = moves[key]; if (exists(r + dr, c + dc)) focus(r + dr, c + dc); };
    if (key === "Home") return () => focus(r, r === 0 ? 1 : 0);
    if (key === "End") return () => focus(r, r === 0 ? k : k + 1);
    if (ups.includes(key)) return () => step(1);
    if (downs.includes(key)) return () => step(-1);
    if (key === "Delete" || key === "Backspace") return () => back();
    if (key === "Enter" || key === "F2") return () => edit("");
    return /^[0-9.]$/.test(key) ? () => edit(key) : null;
  }

  grid.table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("[data-r]");
    const does = cell && act(event, Number(cell.dataset.r), Number(cell.dataset.c));
    if (!does) return;
    event.preventDefault();
    does();
  });
}
