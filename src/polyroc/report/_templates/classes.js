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
  const markSelected = selectableRows(table, (place) => {
    const chosen = state.model.classes.class[place];
    selection.set({ class: chosen === selection.get().class ? null : chosen });
  });

  // By what is shown, so that no order contradicts the numbers. Words without a number come last.
  const numberIn = (text) => Number(/[\d.]+/.exec(text ?? "")?.[0] ?? NaN);
  const keys = { hardest: "hardest_auc", mistaken: "share" };
  function value(place) {
    const columns = state.model.classes;
    const { key } = state;
    if (key === "class") return rank[columns.class[place]];
    if (key === "n_samples") return data.counts[columns.class[place]];
    if (key === "n_named") return columns.n_named[place];
    return numberIn(columns[keys[key] ?? key]?.[place]);
  }

  function order() {
    const places = state.model.classes.class.map((_, place) => place);
    if (!state.key) return places;
    const sign = state.rising ? 1 : -1;
    const of = places.map(value);
    const isLast = of.map(Number.isNaN);
    return places.sort((a, b) => isLast[a] - isLast[b] || (isLast[a] ? 0 : sign * (of[a] - of[b])) || a - b);
  }

  // A number with its interval below, as macros.html.j2 has it.
  function piece(kind, ...content) {
    const element = document.createElement("span");
    element.className = kind;
    element.append(...content);
    return element;
  }

  function estimate(cell, columns, key, place) {
    const ends = columns[`${key}_ends`]?.[place];
    cell.append(piece("strong", columns[key]?.[place] ?? ""));
    if (ends) cell.append(" ", piece("ends", ends));
  }

  const named = (word, label) => piece("ends pair", `${word} `, nameElement(data.labels[label]));
  const write = {
    n_samples: (row, columns, place) => numberCell(row, counted(data.counts[columns.class[place]])),
    n_named(row, columns, place) {
      const isLost = columns.n_named[place] === 0 && data.counts[columns.class[place]] > 0;
      numberCell(row, counted(columns.n_named[place])).classList.toggle("lost", isLost);
    },
    hardest(row, columns, place) {
      const cell = row.insertCell();
      if (columns.hardest[place] === null) return;
      estimate(cell, columns, "hardest_auc", place);
      cell.append(" ", named("with", columns.hardest[place]));
    },
    mistaken(row, columns, place) {
      const cell = row.insertCell();
      const label = columns.mistaken[place];
      if (label === null) cell.append(columns.share[place] ? "none" : "");
      else cell.append(piece("strong", columns.share[place].replace(" %", "\u00a0%")), " ", named("as", label));
    },
  };

  function rowElement(place) {
    const columns = state.model.classes;
    const row = document.createElement("tr");
    row.dataset.at = place;
    const head = document.createElement("th");
    head.scope = "row";
    head.append(nameElement(data.labels[columns.class[place]]));
    row.append(head);
    for (const { dataset: { key } } of heads.slice(1)) {
      if (write[key]) write[key](row, columns, place);
      else estimate(row.insertCell(), columns, key, place);
    }
    return row;
  }

  const selectedPlace = () => state.model.classes.class.indexOf(selection.get().class);

  function draw() {
    const places = order();
    const selected = selectedPlace();
    // A class that was selected elsewhere brings the others with it.
    if (selected >= 0 && places.indexOf(selected) >= state.limit) state.limit = Infinity;
    body.replaceChildren(...places.slice(0, state.limit).map(rowElement));
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

  [...body.rows].forEach((row, place) => { row.dataset.at = place; });
  say();
  mark();
  return { show(model) { state.model = model; draw(); sayNotes(); } };
}
