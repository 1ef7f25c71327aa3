// The cost explorer: a grid of costs that are dragged, typed and moved by keys, and what follows from them.

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

// What is selected, enlarged beside the grid: its names, its number, and a slider for fingers.
function explorerSide(elements, costs, labels, { change, rest, leave }) {
  const { what, value, slide, note, less, more } = elements;
  let target = null;
  let held = null; // the costs before the slider moved

  function words({ a, b, share }) {
    if (share !== undefined) return ["How common ", labels[share], " is where the model is used, compared with the data as judged"];
    if (a !== undefined && b !== undefined) return ["Cost of taking ", labels[a], " for ", labels[b]];
    return a !== undefined ? ["Costs of every mistake on ", labels[a]] : ["Costs of every sample wrongly taken for ", labels[b]];
  }

  const typed = () => (isCell() ? "" : "×") + explorerNumber(costs.value(target), 6);
  const isCell = () => target.a !== undefined && target.b !== undefined;

  function remark() {
    if (isCell()) return `As given: ${explorerNumber(costs.unit(target))}.`;
    const mean = costs.isEven(target) ? "" : " on average";
    return `${explorerNumber(costs.factor(target))} times as ${target.share === undefined ? "given" : "judged"}${mean}.`;
  }

  function show() {
    const off = target === null;
    for (const one of [value, slide, less, more]) one.disabled = off;
    if (off) { what.textContent = "Select a mistake in the grid."; note.textContent = ""; return; }
    what.replaceChildren(...explorerPieces(words(target)));
    if (document.activeElement !== value) value.value = typed();
    slide.value = String(Math.log10(costs.factor(target)));
    slide.setAttribute("aria-valuetext", `${explorerNumber(costs.factor(target))} times as ${target.share === undefined ? "given" : "judged"}`);
    note.textContent = remark();
    value.removeAttribute("aria-invalid");
  }

  function refuse(text) {
    note.textContent = text;
    value.setAttribute("aria-invalid", "true");
  }

  const limits = () => [costs.unit(target) / EXPLORER_MOST, costs.unit(target) * EXPLORER_MOST].map(explorerNumber).join(" and ");

  function commit() {
    const wanted = explorerParse(value.value);
    if (!(wanted > 0 && Number.isFinite(wanted))) { refuse(`Type a number between ${limits()}, such as 20, 0.5 or 1/20.`); return false; }
    // Left as it was: what is shown may be rounded.
    if (value.value === typed()) return true;
    costs.remember();
    const whole = costs.set(target, wanted);
    rest();
    if (!whole) note.textContent = `Costs go up and down by ${EXPLORER_MOST.toLocaleString("en")} times at most: set to the limit.`;
    return true;
  }

  value.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation(); // Escape would clear the page's selection
    if (event.key === "Enter" && !commit()) return;
    leave(target);
    show();
  });
  value.addEventListener("change", () => { if (target && commit()) show(); });
  value.addEventListener("blur", () => { if (target && value.getAttribute("aria-invalid") !== "true") show(); });
  slide.addEventListener("input", () => {
    held ??= costs.snapshot();
    const factor = Number((10 ** Number(slide.value)).toPrecision(2));
    costs.restore(held);
    costs.setFactor(target, factor);
    change();
  });
  slide.addEventListener("change", () => { if (held) costs.remember(held); held = null; rest(); });

  return {
    show,
    get target() { return target; },
    select(chosen) { target = chosen; value.removeAttribute("aria-invalid"); show(); },
    edit(text) { if (!target) return; value.focus(); if (text) value.value = text; else value.select(); },
  };
}

// Browsers may refuse the clipboard to a page that was opened from a file: then the text is there, selected.
function explorerCopy({ file, copied }, text) {
  const byHand = () => {
    file.hidden = false;
    file.focus();
    file.select();
    copied.textContent = "Press Ctrl+C (on a Mac Cmd+C) to copy the text, and save it as costs.csv for --costs.";
  };
  file.value = text;
  file.hidden = true;
  if (!navigator.clipboard?.writeText) { byHand(); return; }
  navigator.clipboard.writeText(text).then(() => { copied.textContent = "Copied. Save it as costs.csv for --costs."; }, byHand);
}

function explorerPanel(data, { chart = null, selection = null, make = null } = {}) {
  const section = document.getElementById("explorer");
  if (!section || !data.explorer) return null;
  const { classes, models: before } = data.explorer;
  const elements = explorerElements();
  const costs = explorerCosts(data.explorer);
  const labels = classes.map((c) => data.labels[c]);
  const names = data.models.map((model) => model.name);
  const given = section.dataset.given === "true";
  const grid = explorerGrid(elements.grid, costs, { names: classes.map((c) => data.explorer_names.short[c]), labels });
  const numbers = explorerTable(elements.numbers, names, before, () => [costs.now(), costs.prevalence()]);
  const curves = explorerCurves(elements.curves, data.models);
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
  let entry = null; // the one cell that Tab leads to

  function enter(cell) {
    if (entry) { entry.tabIndex = -1; entry.classList.remove("entry"); }
    entry = cell;
    entry.tabIndex = 0;
    entry.classList.add("entry");
  }

  function light(r, c) {
    for (const lit of grid.table.querySelectorAll(".lit")) lit.classList.remove("lit");
    grid.cells[r][0].classList.add("lit");
    grid.cells[0][c].classList.add("lit");
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
  explorerDrag(grid, costs, { select, change, rest });
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
  for (const entry of section.querySelectorAll("[data-true][data-taken][data-factor]")) {
    const button = entry.querySelector("button.control");
    const [a, b] = [entry.dataset.true, entry.dataset.taken].map((label) => place.get(Number(label)));
    const factor = Number(entry.dataset.factor);
    if (!button || a === undefined || b === undefined || !(factor > 0)) continue;
    button.addEventListener("click", () => panel.show(a, b, factor));
  }
}
