// What predictions cost, at the costs and shares of the grid: on request, because it needs scores of single samples.

import { numbersOf } from "./packing.js";

const DECISIONS_SLOW = 50; // milliseconds; what takes longer waits until somebody lets go
const DECISIONS_FLOOR = 2 ** -1022; // what an expected cost of 0 counts as

// Numbers of 32 or 64 bits from their bits: all upper halves come first.
function floatsOf(text, size) {
  const words = numbersOf(text), n = words.length / (size / 4), view = new DataView(new ArrayBuffer(size * n));
  words.forEach((word, i) => view.setUint32(size * (i % n) + 4 * Math.floor(i / n), word));
  return Float64Array.from({ length: n }, (_, i) => (size === 4 ? view.getFloat32(4 * i) : view.getFloat64(8 * i)));
}

// Probabilities, sample by sample, as `_coded.py` has coded them.
export function decisionScores({ codes, values, low, step }) {
  const listed = values === null ? null : floatsOf(values, 8);
  const scores = numbersOf(codes);
  for (let i = 0; i < scores.length; i++) {
    const code = scores[i];
    if (listed) scores[i] = listed[code];
    else scores[i] = code > 0 ? Math.exp(low + (code - 1) * step) : 0;
  }
  return scores;
}

// Mean cost of a table of true and predicted classes (rows by true class), with classes as common as `shares` says.
function tableCost(table, k, costs, shares) {
  let sum = 0, total = 0;
  for (let a = 0; a < k; a++) {
    for (let b = 0; b < k; b++) {
      const weight = shares[a] * table[a * k + b];
      total += weight;
      if (a !== b) sum += weight * costs[a * k + b];
    }
  }
  return sum / total;
}

// Which of two lists of numbers comes first.
function listOrder(x, y) {
  const i = x.findIndex((value, place) => value !== y[place]);
  return i < 0 ? 0 : x[i] - y[i];
}

// Costs in units of the highest, a row for each true class, in the order in which the package sums over them: where
// expected costs are equal, as they often are of votes, the last bit decides.
function orderedCosts(costs, k, shares) {
  const most = costs.reduce((largest, cost, i) => (i % (k + 1) ? Math.max(largest, cost) : largest), 0);
  const rows = Array.from({ length: k }, (_, a) => {
    const row = Float64Array.from({ length: k }, (_, j) => (a === j ? 0 : costs[a * k + j] / most));
    return { a, row, share: shares[a], largest: row.slice().sort().reverse() };
  });
  return rows.sort((x, y) => x.share - y.share || listOrder(x.largest, y.largest));
}

// The lowest number, the first of equal ones; by logarithms, as the package compares them.
function lowest(numbers) {
  let best = 0, level = Infinity;
  for (let j = 0; j < numbers.length; j++) {
    const own = Math.log(Math.max(numbers[j], DECISIONS_FLOOR));
    if (own < level) { level = own; best = j; }
  }
  return best;
}

// The class of the least expected cost for each sample: costs[a * k + j] of predicting a as j.
export function leastExpected(scores, k, costs, shares) {
  const rows = orderedCosts(costs, k, shares), p = new Float64Array(k), expected = new Float64Array(k);
  const predicted = new Uint8Array(scores.length / k);
  for (let i = 0; i < predicted.length; i++) {
    let total = 0;
    for (let r = 0; r < k; r++) { p[r] = scores[i * k + rows[r].a] * rows[r].share; total += p[r]; }
    // Without any probability every class may be the true one.
    if (total === 0) { p.fill(1); total = k; }
    expected.fill(0);
    for (let r = 0; r < k; r++) {
      const { row } = rows[r], q = p[r] / total;
      if (q > 0) for (let j = 0; j < k; j++) expected[j] += q * row[j];
    }
    predicted[i] = lowest(expected);
  }
  return predicted;
}

// For each model of data.decisions a function of costs and shares that returns both costs.
export function openDecisions(decisions, k) {
  const truth = decisions.true === null ? null : numbersOf(decisions.true);
  const weight = decisions.weight === null ? null : floatsOf(decisions.weight, 4);
  return decisions.models.map(({ confusion, scores: coded }) => {
    const highest = confusion.flat();
    const scores = coded === null ? null : decisionScores(coded);
    return (costs, shares) => {
      const result = { highest: tableCost(highest, k, costs, shares), least: null };
      if (scores === null) return result;
      const predicted = leastExpected(scores, k, costs, shares), table = new Float64Array(k * k);
      for (let i = 0; i < predicted.length; i++) table[truth[i] * k + predicted[i]] += weight ? weight[i] : 1;
      result.least = tableCost(table, k, costs, shares);
      return result;
    };
  });
}

// Four digits, and 0 only of 0.
function decisionText(cost) {
  if (cost === null) return "–";
  return cost === 0 ? "0" : cost.toLocaleString("en", { minimumSignificantDigits: 4, maximumSignificantDigits: 4 });
}

// Columns of the explorer's table that follow what is dragged.
export function addDecisions(data, explorer) {
  if (!data.decisions) return;
  const section = document.getElementById("explorer");
  const models = openDecisions(data.decisions, data.explorer.classes.length);
  const answers = models.map(() => ({ question: "", result: null, took: 0 }));

  function resultAt(m, costs, shares) {
    const answer = answers[m], question = `${costs};${shares}`;
    const waits = answer.took > DECISIONS_SLOW && section.dataset.settled !== "true";
    if (answer.question === question || waits) return { ...answer.result, isOld: answer.question !== question };
    const start = performance.now();
    answer.result = models[m](costs, shares);
    answer.question = question;
    answer.took = performance.now() - start;
    return answer.result;
  }

  const add = (title, key) => explorer.addColumn(title, (m, costs, shares) => {
    const result = resultAt(m, costs, shares);
    return result.isOld && result[key] !== null ? "…" : decisionText(result[key]);
  });
  const expects = data.decisions.models.some((model) => model.scores !== null);
  if (expects) add("cost of decisions", "least");
  add(expects ? "by highest score" : "cost of decisions", "highest");
}
