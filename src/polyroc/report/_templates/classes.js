// The table of classes: of the model that is looked at, sorted, and filled up from the columns that the page carries.

import { counted, nameElement } from "./elements.js";
import { numberCell, ranks, selectableRows, sortButtons } from "./table.js";

export function classTable(data, selection) {
  const table = document.getElementById("class-table");
  const body = table.tBodies[0];
  const more = document.getElementById("more-classes");
  const rank = ranks(data.labels);
  const heads = [...table.tHead.querySelectorAll("th[data-key]")];
  const isLong = data.models[data.selected].classes.n > data.first_classes;
  const state = { key: isLong ? table.dataset.order : "", rising: true, limit: data.first_classes, model: data.models[data.selected] };
  const markSorted = sortButtons(table, state, draw);
  const markSelected = selectableRows(table, (index) => {
    const chosen = state.model.classes.class[index];
    selection.set({ class: chosen === selection.get().class ? null : chosen });
  });

  // Sorted by the numbers shown, never by hidden digits. Words without a number come last.
  const numberIn = (text) => Number(/[\d.]+/.exec(text ?? "")?.[0] ?? NaN);
  const keys = { hardest: "hardest_auc", mistaken: "share" };
  function value(index) {
    const columns = state.model.classes;
    const { key } = state;
    if (key === "class") return rank[columns.class[index]];
    if (key === "n_samples") return data.counts[columns.class[index]];
    if (key === "n_predicted") return columns.n_predicted[index];
    return numberIn(columns[keys[key] ?? key]?.[index]);
  }

  function order() {
    const indices = state.model.classes.class.map((_, index) => index);
    if (!state.key) return indices;
    const sign = state.rising ? 1 : -1;
    const of = indices.map(value);
    const isLast = of.map(Number.isNaN);
    return indices.sort((a, b) => isLast[a] - isLast[b] || (isLast[a] ? 0 : sign * (of[a] - of[b])) || a - b);
  }

  // A number with its interval below, as macros.html.j2 has it.
  function piece(kind, ...content) {
    const element = document.createElement("span");
    element.className = kind;
    element.append(...content);
    return element;
  }

  function estimate(cell, columns, key, index) {
    const ends = columns[`${key}_ends`]?.[index];
    cell.append(piece("strong", columns[key]?.[index] ?? ""));
    if (ends) cell.append(" ", piece("ends", ends));
  }

  const named = (word, label) => piece("ends pair", `${word} `, nameElement(data.labels[label]));
  const write = {
    n_samples: (row, columns, index) => numberCell(row, counted(data.counts[columns.class[index]])),
    n_predicted(row, columns, index) {
      const isLost = columns.n_predicted[index] === 0 && data.counts[columns.class[index]] > 0;
      numberCell(row, counted(columns.n_predicted[index])).classList.toggle("lost", isLost);
    },
    hardest(row, columns, index) {
      const cell = row.insertCell();
      if (columns.hardest[index] === null) return;
      estimate(cell, columns, "hardest_auc", index);
      cell.append(" ", named("with", columns.hardest[index]));
    },
    mistaken(row, columns, index) {
      const cell = row.insertCell();
      const label = columns.mistaken[index];
      if (label === null) cell.append(columns.share[index] ? "none" : "");
      else cell.append(piece("strong", columns.share[index].replace(" %", "\u00a0%")), " ", named("as", label));
    },
  };

  function rowElement(index) {
    const columns = state.model.classes;
    const row = document.createElement("tr");
    row.dataset.at = index;
    const head = document.createElement("th");
    head.scope = "row";
    head.append(nameElement(data.labels[columns.class[index]]));
    row.append(head);
    for (const { dataset: { key } } of heads.slice(1)) {
      if (write[key]) write[key](row, columns, index);
      else estimate(row.insertCell(), columns, key, index);
    }
    return row;
  }

  const selectedPlace = () => state.model.classes.class.indexOf(selection.get().class);

  function draw() {
    const indices = order();
    const selected = selectedPlace();
    // A class that was selected elsewhere brings the others with it.
    if (selected >= 0 && indices.indexOf(selected) >= state.limit) state.limit = Infinity;
    body.replaceChildren(...indices.slice(0, state.limit).map(rowElement));
    say();
    markSelected(selected < 0 ? null : selected);
  }

  function say() {
    const { n, class: held } = state.model.classes;
    const shown = Math.min(held.length, state.limit);
    const words = document.getElementById("classes-shown");
    const head = heads.find(({ dataset }) => dataset.key === state.key);
    const order = head ? ` with the ${state.rising ? "lowest" : "highest"} ${head.dataset.short}` : "";
    const isNumber = head && head.dataset.key !== "class";
    if (words) words.textContent = shown < n ? `The ${counted(shown)} of ${counted(n)} classes${isNumber ? order : ""}.` : `All ${counted(n)} classes.`;
    more.hidden = shown >= held.length;
    more.textContent = held.length < n ? `Show the next ${counted(held.length - shown)}` : `Show the other ${counted(n - shown)}`;
    markSorted();
  }

  function sayNotes() {
    const notes = state.model.classes.notes.map((note) => Object.assign(document.createElement("p"), { className: "soft", textContent: note }));
    document.getElementById("class-notes").replaceChildren(...notes);
  }

  more.addEventListener("click", () => { state.limit = Infinity; draw(); table.closest(".box").focus(); });
  selection.on((now, before) => { if (now.model === before.model && now.class !== before.class) mark(); });

  function mark() {
    const selected = selectedPlace();
    const isShown = selected < 0 || body.querySelector(`tr[data-at="${selected}"]`) !== null;
    if (isShown) markSelected(selected < 0 ? null : selected);
    else draw();
  }

  [...body.rows].forEach((row, index) => { row.dataset.at = index; });
  say();
  mark();
  return { show(model) { state.model = model; draw(); sayNotes(); } };
}
