// What is fitted and what becomes of it: rates, weights, shrunk cells, curves (docs/method.md, steps 3 to 5 and 8).
// This file, packing.js, fit_steps.js, fit_descent.js and fit.js are one script. It touches no page, so a worker can run the same text.
//
// Letters as in the package: k classes, K = k (k - 1) ordered pairs, T call rates. Rows are 2 T, those of the true positive
// rates first; cells lie by pairs, so cell (row i, pair j) is at 2 T j + i.

import { numbersOf } from "./packing.js";

export const LOGIT_BOUND = 30; // stands for an infinite logit: of rows whose rate is 0 or 1 in every pair
export const EDGE = 1 / (1 + Math.exp(LOGIT_BOUND));
const LARGEST_RATIO = 1e12; // of two weights, as the package allows
export const SAME = 1e-12; // shares of weights that differ by no more are the same to rounding

// All rates of a model, cell by cell.
export function decodeRates(explorer, model) {
  const { grid, limit } = explorer, T = grid.length;
  const first = numbersOf(model.rates), second = model.fpr === null ? null : numbersOf(model.fpr);
  // Single precision has more digits than rates of 16 bits, and 0 and 1 are exact there, too.
  const K = first.length / T, rates = new (limit < 2 ** 16 ? Float32Array : Float64Array)(2 * T * K);
  for (let j = 0; j < K; j++) {
    for (let t = 0; t < T; t++) {
      const from = T * j + t, at = 2 * T * j + t;
      if (second) {
        rates[at] = first[from] / limit;
        rates[at + T] = second[from] / limit;
      } else {
        // A share of the room that is left around the call rate: 0 and 1 come out exactly, for both rates.
        const height = (first[from] / limit) * Math.min(grid[t], 1 - grid[t]);
        rates[at] = grid[t] + height;
        rates[at + T] = grid[t] - height;
      }
    }
  }
  return rates;
}

// What costs do not change: the classes of each pair as rows and columns of the costs, its weight without costs, and its size,
// the harmonic mean of both numbers of samples.
export function pairsOf({ classes, positive, negative, counts, on_tpr: onTpr, on_fpr: onFpr }) {
  const position = new Map(classes.map((label, a) => [label, a])), positions = (labels) => Int32Array.from(labels, (label) => position.get(label));
  const first = positions(positive), second = positions(negative), ones = new Float64Array(first.length).fill(1);
  const size = ones.map((_, j) => 2 / (1 / counts[first[j]] + 1 / counts[second[j]]));
  return { k: classes.length, first, second, size, onTpr: onTpr || ones, onFpr: onFpr || ones };
}

// Numbers over the largest of them, every `step`th left out; what is not positive becomes the smallest weight.
function relative(values, step) {
  const ratios = new Float64Array(values.length);
  let largest = 0;
  for (let a = 0; a < ratios.length; a++) if (a % step !== 0 && values[a] > largest && values[a] < Infinity) largest = values[a];
  for (let a = 0; a < ratios.length; a++) {
    ratios[a] = values[a] > 0 && values[a] < Infinity ? Math.max(values[a] / largest, 1 / LARGEST_RATIO) : 1 / LARGEST_RATIO;
  }
  return ratios;
}

// Weights of both rates of every pair, with mean 1: cost of (a, b) times the prevalence factors of a and b.
export function pairWeights({ k, first, second, onTpr, onFpr }, costs, prevalence) {
  const K = first.length, cost = relative(costs, k + 1), factor = relative(prevalence, NaN);
  const tpr = new Float64Array(K), fpr = new Float64Array(K);
  for (let j = 0; j < K; j++) {
    const both = factor[first[j]] * factor[second[j]];
    tpr[j] = both * cost[first[j] * k + second[j]] * onTpr[j];
    fpr[j] = both * cost[second[j] * k + first[j]] * onFpr[j];
  }
  let largest = 0, total = 0;
  for (let j = 0; j < K; j++) largest = Math.max(largest, tpr[j], fpr[j]);
  for (const weight of [tpr, fpr]) {
    for (let j = 0; j < K; j++) {
      weight[j] = Math.max(weight[j] / largest, 1 / LARGEST_RATIO);
      total += weight[j];
    }
  }
  for (let j = 0; j < K; j++) {
    tpr[j] *= (2 * K) / total;
    fpr[j] *= (2 * K) / total;
  }
  return { tpr, fpr };
}

export const sum = (values) => values.reduce((total, value) => total + value, 0);

// Mean rate of each row under the weights of the pairs: the mean curve, and what cells are shrunk to.
function rowMeans(rates, weights, T) {
  const R = 2 * T, K = weights.tpr.length, mean = new Float64Array(R);
  for (let j = 0; j < K; j++) {
    const onTpr = weights.tpr[j], onFpr = weights.fpr[j], base = R * j;
    for (let i = 0; i < T; i++) mean[i] += onTpr * rates[base + i];
    for (let i = T; i < R; i++) mean[i] += onFpr * rates[base + i];
  }
  const onTpr = sum(weights.tpr), onFpr = sum(weights.fpr);
  for (let i = 0; i < R; i++) mean[i] /= i < T ? onTpr : onFpr;
  return mean;
}

// What is fitted. Rows whose rates are all 0 or all 1 have weight 0 and take no part.
export function cellsOf(model, weights) {
  const { T, rates, rowWeights } = model, R = 2 * T, mean = rowMeans(rates, weights, T);
  const omega = new Float64Array(R), ends = new Uint8Array(R);
  let fitted = 0;
  for (let i = 0; i < R; i++) {
    if (mean[i] > EDGE && mean[i] < 1 - EDGE) {
      omega[i] = rowWeights[i % T];
      fitted += 1;
    }
  }
  // Rows of equal weight share one logarithm in the deviance: here a run of them ends.
  for (let i = 0, length = 1; i < R; i++, length++) {
    const next = i + 1 === R || i + 1 === T || length === 900 ? NaN : omega[i + 1];
    ends[i] = Math.abs(next - omega[i]) <= 1e-9 * omega[i] ? 0 : 1;
    if (ends[i]) length = 0;
  }
  return { T, R, K: weights.tpr.length, rates, keep: model.keep, weights, mean, omega, ends, fitted };
}

export const expit = (x) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));
export const logit = (p) => Math.log(p / (1 - p));
export const clip = (x, low, high) => Math.min(high, Math.max(low, x));

// Rates that never fall, from 0 to 1: a fall is rounding, mended half from below and half from above.
function fromCornerToCorner(rates) {
  const n = rates.length, rising = new Float64Array(n + 2);
  for (let i = 0, high = 0; i < n; i++) rising[i + 1] = high = Math.max(high, rates[i]);
  for (let i = n - 1, low = 1; i >= 0; i--) {
    low = Math.min(low, rates[i]);
    rising[i + 1] = (rising[i + 1] + low) / 2;
  }
  rising[n + 1] = 1;
  return rising;
}

// 1/2 and half the cross products of neighbours: exactly 1/2 on the diagonal.
export function areaUnder({ fpr, tpr }) {
  let cross = 0;
  for (let i = 1; i < fpr.length; i++) cross += fpr[i] * tpr[i - 1] - fpr[i - 1] * tpr[i];
  return clip(0.5 + 0.5 * cross, 0, 1);
}

function curveOf(rates) {
  const T = rates.length / 2;
  return { fpr: fromCornerToCorner(rates.subarray(T)), tpr: fromCornerToCorner(rates.subarray(0, T)) };
}

// The curve of row effects whose pair effects have mean 1.
export function sharedCurve(effects) {
  return curveOf(effects.map((effect) => (Math.abs(effect) < LOGIT_BOUND ? expit(effect) : effect > 0 ? 1 : 0)));
}

// The mean curve and its area: exact where both rates of a pair count alike and thresholds are not shared.
export function meanCurve(model, weights, mean) {
  const curve = curveOf(mean.map((rate) => clip(rate, 0, 1)));
  const onTpr = sum(weights.tpr), onFpr = sum(weights.fpr);
  let isExact = model.thresholds !== "shared", area = 0;
  for (let j = 0; isExact && j < weights.tpr.length; j++) {
    const share = weights.tpr[j] / onTpr, other = weights.fpr[j] / onFpr;
    isExact = Math.abs(share - other) <= SAME * other;
    area += share * model.areas[j];
  }
  return { curve, auc: isExact ? clip(area, 0, 1) : areaUnder(curve) };
}
