// What stands next to the grid: the selected cost with its slider, the copied file, and a small picture of the curves.

import { shape } from "./elements.js";
import { pathOf, pixelsOf, placed, scaleOf, WHOLE } from "./scale.js";
import { EXPLORER_MOST } from "./explorer_costs.js";
import { explorerNumber, explorerParse, explorerPieces } from "./explorer_words.js";

const EXPLORER_BOX = { left: 0, top: 0, side: 200 };

// What is selected, enlarged beside the grid: its names, its number, and a slider for fingers.
export function explorerSide(elements, costs, labels, { change, rest, leave }) {
  const { what, value, slide, note, less, more } = elements;
  let target = null;
  let held = null; // the costs before the slider moved
  let edited = false; // a number is being typed
  let said = ""; // that a limit was reached

  function words({ a, b, share }) {
    if (share !== undefined) return ["How common ", labels[share], " is where the model is used, compared with the data as judged"];
    if (a !== undefined && b !== undefined) return ["Cost of predicting ", labels[a], " as ", labels[b]];
    return a !== undefined ? ["Costs of every mistake on ", labels[a]] : ["Costs of every sample wrongly predicted as ", labels[b]];
  }

  const typed = () => (isCell() ? "" : "×") + explorerNumber(costs.value(target), 6);
  const isCell = () => target.a !== undefined && target.b !== undefined;

  function remark() {
    if (isCell()) return `As given: ${explorerNumber(costs.unit(target))}.`;
    const mean = costs.isEven(target) ? "" : " for most of them";
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
    note.textContent = said || remark();
    value.removeAttribute("aria-invalid");
  }

  function refuse(text) {
    note.textContent = text;
    value.setAttribute("aria-invalid", "true");
  }

  const limits = () => [costs.unit(target) / EXPLORER_MOST, costs.unit(target) * EXPLORER_MOST].map((cost) => explorerNumber(cost)).join(" and ");

  function commit() {
    edited = false;
    const cost = explorerParse(value.value);
    if (!(cost > 0 && Number.isFinite(cost))) { refuse(`Type a number between ${limits()}, such as 20, 0.5 or 1/20.`); return false; }
    // Left as it was: what is shown may be rounded.
    if (value.value === typed()) return true;
    costs.remember();
    const reached = costs.set(target, cost);
    said = reached ? "" : `The limit is ${EXPLORER_MOST.toLocaleString("en")} times, up or down.`;
    rest();
    return true;
  }

  value.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation(); // Escape would clear the page's selection
    if (event.key === "Enter" && !commit()) return;
    edited = false;
    leave(target);
    show();
  });
  value.addEventListener("input", () => { edited = true; });
  value.addEventListener("blur", () => { if (target && (!edited || commit()) && value.getAttribute("aria-invalid") !== "true") show(); });
  slide.addEventListener("input", () => {
    held ??= costs.snapshot();
    said = "";
    const factor = Number((10 ** Number(slide.value)).toPrecision(2));
    costs.restore(held);
    costs.setFactor(target, factor);
    change();
  });
  slide.addEventListener("change", () => { if (held) costs.remember(held); held = null; rest(); });

  return {
    show,
    get target() { return target; },
    select(chosen) { if (JSON.stringify(chosen) !== JSON.stringify(target)) said = ""; target = chosen; value.removeAttribute("aria-invalid"); show(); },
    edit(text) {
      if (!target) return;
      value.focus();
      value.select();
      if (!text) return;
      value.value = text;
      value.setSelectionRange(text.length, text.length);
      edited = true;
    },
  };
}

// Browsers may refuse the clipboard to a page that was opened from a file: then the text is there, selected.
export function explorerCopy({ file, copied }, text) {
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

// A small picture of the curves next to the grid: the large one is out of sight while somebody drags.
// The view is the one that the large picture opens with, and lines are placed as there.
export function explorerCurves(svg, { models, view, decades, themes }) {
  if (!models.some((model) => model.curve?.fpr)) { svg.remove(); return { draw() {} }; }
  const scale = scaleOf(view, decades), pixels = pixelsOf(EXPLORER_BOX, WHOLE);
  const line = (kind, m, of) => shape("path", { class: `${kind} ${of}`, style: `stroke: var(--curve-${m % themes.light.curves.length})` });

  function place(path, curve) {
    if (curve?.fpr) path.setAttribute("d", pathOf(placed(scale, curve), pixels));
  }

  const kinds = ["curve", "mean_curve"];
  const then = models.map((_, m) => kinds.map((kind) => line(kind, m, "then")));
  const now = models.map((_, m) => kinds.map((kind) => line(kind, m, "now")));
  svg.append(...then.flat(), ...now.flat());
  const each = (lines, all) => all.forEach((model, m) => kinds.forEach((kind, i) => place(lines[m][i], model[kind])));
  each(then, models);
  each(now, models);
  return { draw: (live) => each(now, live ?? models) };
}
