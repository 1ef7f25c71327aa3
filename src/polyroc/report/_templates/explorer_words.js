// Sentences of the explorer: which model is first, by how much, and at what costs. Never "better": these are point estimates.

import { areaText, nameElement } from "./elements.js";
import { explorerChanges } from "./explorer_costs.js";

const EXPLORER_LEVEL = 1e-6; // differences below this the fit of the page does not settle

// Three digits, more where they would say that nothing changed.
export function explorerNumber(value, least = 3) {
  for (let digits = least; digits <= 9; digits += 1) {
    const number = Number(value.toPrecision(digits));
    if (number !== 1 || value === 1) return number.toLocaleString("en", { maximumSignificantDigits: digits });
  }
  return value > 1 ? "just above 1" : "just below 1";
}

// "100", "1,000", "0.5", "1/20", "1e-2" or, as many countries write it, "0,5"; NaN for anything else.
export function explorerParse(text) {
  const plain = text.trim().replace(/^[×x]\s*/i, "");
  if (plain.includes("/")) {
    const [above, below, ...more] = plain.split("/").map(explorerParse);
    return more.length ? NaN : above / below;
  }
  const thousands = /^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(plain);
  const number = thousands ? plain.replaceAll(",", "") : plain.replace(",", ".");
  return /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(number) ? Number(number) : NaN;
}

function explorerLead(value) {
  for (let digits = 3; digits <= 6; digits += 1) {
    const text = value.toFixed(digits);
    if (Number(text) !== 0) return text;
  }
  return "less than 0.000001";
}

// Places by one number: those who are level share one.
export function explorerOrder(models, key) {
  const order = models.map((_, m) => m).sort((x, y) => models[y][key] - models[x][key] || x - y);
  const places = new Array(models.length);
  order.forEach((m, i) => {
    const level = i > 0 && models[order[i - 1]][key] - models[m][key] < EXPLORER_LEVEL;
    places[m] = level ? places[order[i - 1]] : i + 1;
  });
  return { order, places, first: order.filter((m) => places[m] === 1) };
}

function explorerListed(items) {
  if (items.length < 3) return items.flatMap((item, i) => (i ? [" and ", item] : [item]));
  return items.flatMap((item, i) => (i === 0 ? [item] : [i === items.length - 1 ? ", and " : ", ", item]));
}

// Who is first by D or by the mean area, as pieces of text and names.
function explorerFirst(models, names, key, words) {
  const { order, first } = explorerOrder(models, key);
  const best = areaText(models[order[0]][key], 3);
  const who = explorerListed(first.map((m) => names[m]));
  if (first.length > 1) return [...who, ` are level by ${words} (${best})`];
  const lead = explorerLead(models[order[0]][key] - models[order[1]][key]);
  return [...who, ` is first by ${words} (${best}, ${lead} ahead of `, names[order[1]], ")"];
}

function explorerStanding(models, names, before) {
  if (models.length === 1) {
    const then = (key) => (models[0] === before[0] ? "" : `, as judged ${areaText(before[0][key], 3)}`);
    return [`D is ${areaText(models[0].auc, 3)}${then("auc")}; the mean area is ${areaText(models[0].mean_auc, 3)}${then("mean_auc")}`];
  }
  const same = (x, y) => x.length === 1 && y.length === 1 && x[0] === y[0];
  const byD = explorerFirst(models, names, "auc", "D");
  if (same(explorerOrder(models, "auc").first, explorerOrder(models, "mean_auc").first)) return [...byD, " and by the mean area"];
  return [...byD, ", but ", ...explorerFirst(models, names, "mean_auc", "the mean area")];
}

// One change of the costs. Where costs were given, both are said.
function explorerChange(target, costs, labels, given) {
  const { a, b, share } = target;
  const factor = explorerNumber(target.factor);
  if (share !== undefined) return [labels[share], ` is ${factor} times as common`];
  if (a !== undefined && b !== undefined) {
    const how = given ? ` costs ${explorerNumber(costs.value(target))} instead of ${explorerNumber(costs.unit(target))}` : ` counts ${factor} times`;
    return ["predicting ", labels[a], " as ", labels[b], how];
  }
  const times = given ? `${factor} times as much as given` : `${factor} times`;
  const [all, counts] = target.whole ? ["every", " counts"] : ["most", " count"];
  const s = target.whole ? "" : "s";
  if (a !== undefined) return [`${all} mistake${s} on `, labels[a], `${counts} ${times}`];
  return [`${all} sample${s} wrongly predicted as `, labels[b], `${counts} ${times}`];
}

function explorerChanged(costs, labels, given) {
  const changes = explorerChanges(costs);
  if (!changes.length) return [given ? ", at the costs as given" : ", when all mistakes count the same"];
  const named = changes.slice(0, 2).map((target) => explorerChange(target, costs, labels, given));
  const more = changes.length - named.length;
  const pieces = named.flatMap((change, i) => [i ? ", " : "; ", ...change]);
  return more ? [...pieces, `, and ${more.toLocaleString("en")} more`] : pieces;
}

// Whether somebody else was first before; by which number, too.
function explorerUpset(models, names, before) {
  const was = { auc: explorerOrder(before, "auc").first, mean_auc: explorerOrder(before, "mean_auc").first };
  const differs = (key) => String(was[key]) !== String(explorerOrder(models, key).first);
  const keys = ["auc", "mean_auc"].filter(differs);
  if (models.length < 2 || !keys.length) return [];
  const who = (key) => explorerListed(was[key].map((m) => names[m]));
  const verb = (key) => (was[key].length > 1 ? " are first by " : " is first by ");
  if (keys.length === 2 && String(was.auc) === String(was.mean_auc)) return [" As judged, ", ...who("auc"), `${verb("auc")}both.`];
  const said = keys.map((key) => [...who(key), verb(key) + (key === "auc" ? "D" : "the mean area")]);
  return [" As judged, ", ...said.flatMap((one, i) => (i ? [", and ", ...one] : one)), "."];
}

export function explorerSentence({ models, names, before, costs, labels, given }) {
  return [...explorerStanding(models, names, before), ...explorerChanged(costs, labels, given), ".", ...explorerUpset(models, names, before)];
}

// Names never as markup, and whole, as in every sentence of the page.
export function explorerPieces(pieces) {
  return pieces.map((piece) => (typeof piece === "string" ? piece : nameElement({ text: piece.whole || piece.text })));
}
