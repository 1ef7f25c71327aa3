// The fit: costs -> curves, for the page itself, a worker, or a test.
//
//   const models = openModels(explorer);            decoded once; `explorer` as `packed_rates` makes it
//   resultOf(models[m], costs, prevalence, rest)    costs k x k by rows (Float64Array or list), prevalence k factors;
//                                                   rest: until it converges, else a few steps from the last result
//   -> { auc, mean_auc, curve: { fpr, tpr }, mean_curve: { fpr, tpr } }, T + 2 points each, corners included
//
// k counts the classes that take part, in the order of explorer.classes. At the costs with which the page opened, both
// areas are those of the package. A worker is sent { explorer } first, then any number of
// { costs, prevalence, rest, only } and answers each with { results }; `only` is the number of a model, or null for all.

import { areaUnder, cellsOf, clip, decodeRates, logit, LOGIT_BOUND, meanCurve, pairsOf, pairWeights, SAME, sharedCurve, sum } from "./fit_cells.js";
import { newPoint, newRoom } from "./fit_steps.js";
import { fitFrame, fitToRest } from "./fit_descent.js";

export function openModels(explorer) {
  const T = explorer.grid.length, K = explorer.positive.length, pairs = pairsOf(explorer), room = newRoom(2 * T, K);
  room.at = newPoint(2 * T, K);
  room.trial = newPoint(2 * T, K);
  const opening = pairWeights(pairs, explorer.costs.flat(), explorer.costs.map(() => 1));
  return explorer.models.map((model) => ({
    T,
    pairs,
    opening,
    room, // for all models: nothing in it outlives a fit
    thresholds: explorer.thresholds,
    isSaturated: explorer.structure === "saturated",
    rates: decodeRates(explorer, model),
    rowWeights: Float64Array.from(explorer.row_weights),
    keep: pairs.size.map((n) => n / (n + explorer.shrinkage)),
    areas: Float64Array.from(model.areas),
    judged: { auc: model.auc, mean_auc: model.mean_auc },
    kept: { row: null, pair: null, factor: null, isOld: true },
  }));
}

export function resultOf(model, costs, prevalence, rest) {
  const weights = pairWeights(model.pairs, costs, prevalence), cells = cellsOf(model, weights);
  const effects = model.isSaturated ? saturatedEffects(cells) : rankOneEffects(model, cells, rest);
  const curve = sharedCurve(effects), mean = meanCurve(model, weights, cells.mean);
  const areas = areSameWeights(weights, model.opening) ? model.judged : { auc: areaUnder(curve), mean_auc: mean.auc };
  return { ...areas, curve, mean_curve: mean.curve };
}

const areSameWeights = (weights, others) =>
  ["tpr", "fpr"].every((kind) => weights[kind].every((weight, j) => Math.abs(weight - others[kind][j]) <= SAME * others[kind][j]));

// Rows that take no part stand for rates of 0 and 1.
const withBounds = (cells, effects) =>
  effects.map((effect, i) => (cells.omega[i] > 0 ? effect : cells.mean[i] < 0.5 ? -LOGIT_BOUND : LOGIT_BOUND));

function rankOneEffects(model, cells, rest) {
  if (cells.fitted === 0) return withBounds(cells, cells.mean);
  const { kept, room } = model;
  if (rest || kept.row === null) fitToRest(cells, kept, room);
  else fitFrame(cells, kept, room);
  return withBounds(cells, kept.row);
}

// Every cell fits itself, and the shared effect is the mean of the logits.
function saturatedEffects(cells) {
  const { R, K, T, rates, keep, mean, weights } = cells, effects = new Float64Array(R);
  const totals = [sum(weights.tpr), sum(weights.fpr)];
  for (let j = 0; j < K; j++) {
    for (let i = 0; i < R; i++) {
      const rate = keep[j] * rates[R * j + i] + (1 - keep[j]) * mean[i], on = i < T ? weights.tpr[j] : weights.fpr[j];
      effects[i] += (on / totals[i < T ? 0 : 1]) * clip(logit(clip(rate, 0, 1)), -LOGIT_BOUND, LOGIT_BOUND);
    }
  }
  return withBounds(cells, effects);
}

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  let models = [];
  self.onmessage = ({ data: question }) => {
    if (question.explorer) models = openModels(question.explorer);
    else {
      const chosen = question.only === null ? models : [models[question.only]];
      self.postMessage({ results: chosen.map((model) => resultOf(model, question.costs, question.prevalence, question.rest)) });
    }
  };
}
