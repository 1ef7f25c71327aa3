// The pairs: unpacked from what the page carries, and their table, sorted, searched, filtered by class and filled up.

import { numbersOf } from "./packing.js";
import { areaText, counted, nameElement } from "./elements.js";
import { isSamePair } from "./selection.js";
import { numberCell, ranks, selectableRows, sortButtons } from "./table.js";

export const AREA_PARTS = 1e7; // areas come in ten-millionths
const EFFECT_PARTS = 1000;

// The smallest area first.
function unpackedPairs(packed) {
  const [positive, negative, auc, effect] = ["positive", "negative", "auc", "effect"].map((name) => Array.from(numbersOf(packed[name])));
  return { positive, negative, auc: auc.map((parts) => parts / AREA_PARTS), effect: effect.map((parts) => parts / EFFECT_PARTS) };
}

export function unpacked(data) {
  for (const model of data.models) {
    model.pairs = unpackedPairs(model.pairs);
    model.place = new Map(model.pairs.auc.map((_, i) => [`${model.pairs.positive[i]},${model.pairs.negative[i]}`, i]));
  }
  return data;
}

// Where the pairs of a model have a pair; undefined where they do not.
export const placeOf = (model, pair) => (pair === null ? undefined : model.place.get(pair.join(",")));

export function pairTable(data, selection) {
  const table = document.getElementById("pairs");
  const body = table.tBodies[0];
  const more = document.getElementById("more");
  const search = document.getElementById("search");
  const rank = ranks(data.labels);
  const haystack = data.labels.map((name) => (name.whole || name.text).toLowerCase());
  const state = { key: "auc", rising: true, query: "", limit: data.first_rows, model: data.models[data.selected] };
  const markSorted = sortButtons(table, state, draw);
  const markSelected = selectableRows(table, (i) => {
    const pair = [state.model.pairs.positive[i], state.model.pairs.negative[i]];
    selection.set({ pair: isSamePair(pair, selection.get().pair) ? null : pair });
  });

  const value = {
    positive: (i) => rank[state.model.pairs.positive[i]],
    negative: (i) => rank[state.model.pairs.negative[i]],
    auc: (i) => state.model.pairs.auc[i],
    effect: (i) => state.model.pairs.effect[i],
    n_positive: (i) => data.counts[state.model.pairs.positive[i]],
    n_negative: (i) => data.counts[state.model.pairs.negative[i]],
  };

  function matchingRows() {
    const { positive, negative, auc } = state.model.pairs;
    const only = selection.get().class;
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (i, word) => haystack[positive[i]].includes(word) || haystack[negative[i]].includes(word);
    const isOf = (i) => only === null || positive[i] === only || negative[i] === only;
    const rows = auc.map((_, i) => i).filter((i) => isOf(i) && words.every((word) => has(i, word)));
    const of = value[state.key];
    const sign = state.rising ? 1 : -1;
    // Pairs come with the smallest area first, and stay so among equals.
    return rows.sort((a, b) => sign * (of(a) - of(b)) || a - b);
  }

  function rowElement(i) {
    const { positive, negative, auc, effect } = state.model.pairs;
    const row = document.createElement("tr");
    row.dataset.at = i;
    for (const label of [positive[i], negative[i]]) row.insertCell().append(nameElement(data.labels[label]));
    const counts = [value.n_positive(i), value.n_negative(i)].map(counted);
    for (const text of [areaText(auc[i]), effect[i].toFixed(3), ...counts]) numberCell(row, text);
    return row;
  }

  function draw() {
    const rows = matchingRows();
    const first = rows.slice(0, state.limit);
    const selected = placeOf(state.model, selection.get().pair);
    // The pair that somebody selected elsewhere is above all others, if it is not among them.
    const isFurther = selected !== undefined && rows.includes(selected) && !first.includes(selected);
    body.replaceChildren(...(isFurther ? [selected, ...first] : first).map(rowElement));
    say(rows.length, first.length, isFurther);
    markSelected(selected ?? null);
  }

  function say(all, first, isFurther = false) {
    const worst = state.key === "auc" && state.rising ? "the worst " : "";
    const match = state.query.trim() ? " that match" : "";
    const some = `${worst}${counted(first)} of ${counted(all)} pairs${match}${isFurther ? ", and the selected one" : ""}`;
    const shown = document.getElementById("shown");
    shown.textContent = first < all ? some : `${counted(all)} ${all === 1 ? "pair" : "pairs"}${match}`;
    more.hidden = first >= all;
    more.textContent = `Show the other ${counted(all - first)}`;
    markSorted();
    sayClass(selection.get().class);
  }

  // "class X only ×", and the same for paper.
  function sayClass(only) {
    const chip = document.getElementById("only-class");
    const words = document.getElementById("only-words");
    for (const element of [chip, words]) element.hidden = only === null;
    if (only === null) return;
    const name = data.labels[only];
    chip.replaceChildren("class ", nameElement(name), " only ", Object.assign(document.createElement("span"), { textContent: "×" }));
    chip.setAttribute("aria-label", `Only pairs of class ${name.whole || name.text} are shown. Show all pairs.`);
    words.replaceChildren("Pairs of class ", nameElement({ text: name.whole || name.text }), " only.");
  }

  document.getElementById("only-class").addEventListener("click", () => { selection.set({ class: null }); search.focus(); });
  search.addEventListener("input", () => { state.query = search.value; state.limit = data.first_rows; draw(); });
  more.addEventListener("click", () => { state.limit = Infinity; draw(); table.closest(".box").focus(); });
  selection.on((now, before) => {
    const selected = placeOf(state.model, now.pair);
    const isShown = selected === undefined || body.querySelector(`tr[data-at="${selected}"]`) !== null;
    if (now.model !== before.model) return; // `show` draws
    if (now.class !== before.class || !isShown) draw();
    else markSelected(selected ?? null);
  });

  // The rows that the page comes with are those of the model it opens with.
  [...body.rows].forEach((row, i) => { row.dataset.at = i; });
  const { pair, class: only } = selection.get();
  if (pair || only !== null) draw();
  else { say(state.model.pairs.auc.length, body.rows.length); markSelected(null); }
  return { show(model) { state.model = model; draw(); } };
}
