// What tables share: headings that sort, rows that are selected, and all points of the curves.

import { areaText, counted, NAMES } from "./elements.js";

// Places of the names in their order, as people sort them.
export function ranks(labels) {
  const order = labels.map((_, i) => i).sort((a, b) => NAMES.compare(labels[a].text, labels[b].text));
  const rank = new Array(labels.length);
  order.forEach((label, i) => { rank[label] = i; });
  return rank;
}

// Buttons in the headings; `state` has the key and the direction. Gives a function that marks the column that was asked for.
export function sortButtons(table, state, changed) {
  const heads = [...table.tHead.querySelectorAll("th[data-key]")];
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.dataset.title = head.textContent; // for paper
    button.addEventListener("click", () => {
      state.rising = head.dataset.key === state.key ? !state.rising : true;
      state.key = head.dataset.key;
      changed();
    });
    head.replaceChildren(button);
  }
  return () => {
    for (const head of heads) {
      if (head.dataset.key !== state.key) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
    }
  };
}

// Rows by click, and by Enter where the arrow keys have led; only one of them is a stop of Tab. `choose` gets a row's number,
// which is in `data-at`. Gives a function that marks the row with a number, or none.
export function selectableRows(table, choose) {
  const body = table.tBodies[0];
  table.setAttribute("role", "grid"); // rows of a grid may be selected, those of a table may not
  body.classList.add("selectable");

  function take(row) {
    if (row?.dataset.at !== undefined) choose(Number(row.dataset.at));
  }

  body.addEventListener("click", (event) => {
    const isReading = String(getSelection()) !== ""; // somebody marks text
    if (!isReading) take(event.target.closest("tr"));
  });
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    const last = body.rows.length - 1;
    const next = { ArrowDown: row.sectionRowIndex + 1, ArrowUp: row.sectionRowIndex - 1, Home: 0, End: last }[event.key];
    if (event.key === "Enter" || event.key === " ") take(row);
    else if (next !== undefined) rove(body.rows[Math.min(Math.max(next, 0), last)]);
    else return;
    event.preventDefault();
  });

  function rove(row) {
    for (const other of body.querySelectorAll("tr[tabindex='0']")) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  }

  return (at) => {
    let stop = body.rows[0];
    for (const row of body.rows) {
      const isSelected = at !== null && row.dataset.at === String(at);
      row.classList.toggle("selected", isSelected);
      row.setAttribute("aria-selected", String(isSelected));
      row.tabIndex = -1;
      if (isSelected) stop = row;
    }
    if (!stop) return;
    stop.tabIndex = 0;
    if (stop.classList.contains("selected")) showInBox(stop);
  };
}

// Scrolls the box of a table, never the page.
function showInBox(row) {
  const box = row.closest(".box");
  const head = row.closest("table").tHead.offsetHeight;
  const inside = box.getBoundingClientRect();
  const at = row.getBoundingClientRect();
  if (at.top >= inside.top + head && at.bottom <= inside.bottom) return;
  box.scrollTop += at.top - inside.top - head - (inside.height - head - at.height) / 2;
}

export function numberCell(row, text) {
  const cell = row.insertCell();
  cell.className = "number";
  cell.textContent = text;
  return cell;
}

// All points of the curves as tables, once somebody opens them: the page comes with some, for readers without a script.
export function curveNumbers(data) {
  const tables = [...document.querySelectorAll("table.numbers")];
  const rowOf = (cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) row.insertCell().textContent = areaText(cell);
    return row;
  };
  const fill = (table, { curve, mean_curve: mean }) => {
    const columns = [curve.call_rate, curve.fpr, curve.tpr, ...(mean ? [mean.fpr, mean.tpr] : [])];
    table.tBodies[0].replaceChildren(...curve.call_rate.map((_, i) => rowOf(columns.map((column) => column[i]))));
    table.caption.querySelector(".n-points").textContent = counted(curve.call_rate.length);
  };
  tables[0]?.closest("details").addEventListener("toggle", () => tables.forEach((table, m) => fill(table, data.models[m])), { once: true });
}
