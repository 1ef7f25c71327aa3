// One point of the fit, and one step from it (docs/method.md, step 6; `_core/fit.py` says what it means).
// With mu = expit(lambda_i v_j), the derivatives of half the deviance are sums over cells of
//
//   by lambda_i        v_j w (mu - rate)           twice: v_j^2 w mu (1 - mu)
//   by v_j             lambda_i w (mu - rate)      twice: lambda_i^2 w mu (1 - mu)
//   by lambda_i, v_j   lambda_i v_j w mu (1 - mu) + w (mu - rate), the cross term

export const TINY = 1e-290; // added to sums that are divided by

// exp(-x) by a table and what is left of x: twice as fast as Math.exp, which takes most of a pass, and as exact as is needed
// (1e-15). Beyond FARTHEST nothing of it is seen beside 1.
const FARTHEST = 80;
const PER_UNIT = 128 / Math.LN2;
const WIDTH = Math.LN2 / 128;
const THIRD = 1 / 6;
const FOURTH = 1 / 24;
const POWERS = Float64Array.from({ length: Math.ceil(FARTHEST * PER_UNIT) + 2 }, (_, n) => 2 ** (-n / 128));

export function newPoint(R, K) {
  const rows = () => new Float64Array(R), pairs = () => new Float64Array(K);
  // Of many pairs in single precision, for the memory: cross terms bend a step, not where steps lead.
  const cross = K > R ? new Float32Array(R * K) : new Float64Array(R * K);
  return { row: rows(), pair: pairs(), rowGradient: rows(), rowBlock: rows(), pairGradient: pairs(), pairBlock: pairs(), cross,
    deviance: NaN };
}

// The derivatives at a point, in one pass over the cells. The deviance takes a pass of its own, for steps that need it.
export function linearise(cells, at) {
  const { K, T, weights } = cells;
  at.rowGradient.fill(0);
  at.rowBlock.fill(0);
  const sums = new Float64Array(2);
  for (let j = 0; j < K; j++) {
    sums.fill(0);
    half(cells, at, j, 0, T, weights.tpr, sums);
    half(cells, at, j, T, 2 * T, weights.fpr, sums);
    at.pairGradient[j] = sums[0];
    at.pairBlock[j] = sums[1] + TINY;
  }
  for (let i = 0; i < 2 * T; i++) at.rowBlock[i] += TINY;
  at.deviance = NaN; // not known yet
}

// The true or the false positive rates of one pair.
function half({ R, rates, omega, mean, keep }, { row, pair, rowGradient, rowBlock, cross }, j, start, stop, onRates, sums) {
  const v = pair[j], base = R * j, on = onRates[j], own = keep[j], shared = 1 - own;
  let gradient = 0, block = 0;
  for (let i = start; i < stop; i++) {
    const effect = row[i], eta = effect * v, weight = omega[i] * on;
    const rate = own * rates[base + i] + shared * mean[i];
    // Both tails from one exponential: 1 - p would lose all digits of a p near 1.
    const far = eta < 0 ? -eta : eta, x = far < FARTHEST ? far : FARTHEST, n = (x * PER_UNIT + 0.5) | 0, r = n * WIDTH - x;
    const e = POWERS[n] * (1 + r * (1 + r * (0.5 + r * (THIRD + r * FOURTH)))), large = 1 / (1 + e), small = e * large;
    const residual = weight * ((eta < 0 ? small : large) - rate), bend = weight * small * large;
    const turned = bend * effect;
    rowGradient[i] += v * residual;
    rowBlock[i] += v * v * bend;
    gradient += effect * residual;
    block += effect * turned;
    cross[base + i] = turned * v + residual;
  }
  sums[0] += gradient;
  sums[1] += block;
}

// Half the deviance of a point, without the entropy of the rates; once computed, it is known.
export function devianceOf({ K, R, T, rates, keep, weights, omega, mean, ends }, at) {
  if (!Number.isNaN(at.deviance)) return at.deviance;
  let total = 0;
  for (let j = 0; j < K; j++) {
    const v = at.pair[j], own = keep[j];
    let product = 1;
    for (let i = 0; i < R; i++) {
      const eta = at.row[i] * v, weight = omega[i] * (i < T ? weights.tpr[j] : weights.fpr[j]);
      const rate = own * rates[R * j + i] + (1 - own) * mean[i];
      total += weight * ((eta < 0 ? 0 : eta) - rate * eta);
      product *= 1 + Math.exp(eta < 0 ? eta : -eta);
      if (ends[i]) {
        total += weight * Math.log(product);
        product = 1;
      }
    }
  }
  return (at.deviance = total);
}

const up = (n) => 4 * Math.ceil(n / 4); // the gram matrix is made by tiles of four

// Room for the system of the smaller side, which is solved for; the other side is eliminated.
export function newRoom(R, K) {
  const n = Math.min(R, K), m = Math.max(R, K), side = up(n);
  return { n, m, side, keepsPairs: K <= R, coupling: new Float64Array(side * m), gram: new Float64Array(side * side),
    right: new Float64Array(n), rowMove: new Float64Array(R), pairMove: new Float64Array(K), rowScale: new Float64Array(R),
    pairScale: new Float64Array(K), rowSide: new Float64Array(R) };
}

// Pairs whose own Newton step would take away more than 9/10 take that cut step by themselves: their scale is 0.
export function setScales(at, room) {
  const { rowScale, pairScale } = room, { rowBlock, pairBlock, pairGradient, pair } = at;
  for (let i = 0; i < rowScale.length; i++) rowScale[i] = 1 / Math.sqrt(rowBlock[i]);
  for (let j = 0; j < pairScale.length; j++) {
    pairScale[j] = pairGradient[j] > 0.9 * pair[j] * pairBlock[j] ? 0 : 1 / Math.sqrt(pairBlock[j]);
  }
}

// C C' of the scaled cross terms, the side that is kept by rows.
export function setGram(at, room) {
  const { n, m, side, keepsPairs, coupling, rowScale, pairScale } = room, { cross } = at;
  const R = rowScale.length, K = pairScale.length;
  for (let j = 0; j < K; j++) {
    const scale = pairScale[j];
    for (let i = 0; i < R; i++) coupling[keepsPairs ? R * j + i : K * i + j] = scale * rowScale[i] * cross[R * j + i];
  }
  coupling.fill(0, n * m);
  for (let i = 0; i < side; i += 4) {
    for (let l = i; l < side; l += 2) tile(coupling, m, i, l, room.gram, side);
  }
}

// Eight sums stay in registers, and six numbers read serve eight products.
function tile(x, length, i, l, out, side) {
  const a0 = i * length, a1 = a0 + length, a2 = a1 + length, a3 = a2 + length, b0 = l * length, b1 = b0 + length;
  let s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
  for (let t = 0; t < length; t++) {
    const first = x[b0 + t], second = x[b1 + t], p = x[a0 + t], q = x[a1 + t], r = x[a2 + t], s = x[a3 + t];
    s00 += p * first;
    s01 += p * second;
    s10 += q * first;
    s11 += q * second;
    s20 += r * first;
    s21 += r * second;
    s30 += s * first;
    s31 += s * second;
  }
  const at = i * side + l;
  out[at] = s00;
  out[at + 1] = s01;
  out[at + side] = s10;
  out[at + side + 1] = s11;
  out[at + 2 * side] = s20;
  out[at + 2 * side + 1] = s21;
  out[at + 3 * side] = s30;
  out[at + 3 * side + 1] = s31;
}

// The Schur complement (1 + mu) I - C C' / (1 + mu) + gauge, and its Cholesky factor; null where it is not positive definite.
// Along the gauge v is stretched and lambda shrunk, so no rate changes, and without it the system would be singular.
export function factored(at, room, stretch) {
  const { n, side, gram, keepsPairs } = room, factor = new Float64Array(n * n), gauge = new Float64Array(n);
  let squares = TINY;
  for (let i = 0; i < n; i++) {
    const scale = keepsPairs ? room.pairScale[i] : room.rowScale[i];
    gauge[i] = keepsPairs ? scale * at.pairBlock[i] * at.pair[i] : at.row[i] / scale;
    squares += gauge[i] * gauge[i];
  }
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let total = (gauge[i] * gauge[j]) / squares - gram[j * side + i] / stretch + (i === j ? stretch : 0);
      const mine = n * i, other = n * j;
      for (let l = 0; l < j; l++) total -= factor[mine + l] * factor[other + l];
      if (i !== j) factor[mine + j] = total / factor[other + j];
      // Systems come scaled to a diagonal of order 1: a smaller pivot is rounding.
      else if (total > 1e-14) factor[mine + i] = Math.sqrt(total);
      else return null;
    }
  }
  return factor;
}

function solve(factor, right) {
  const n = right.length;
  for (let i = 0; i < n; i++) {
    let total = right[i];
    for (let l = 0; l < i; l++) total -= factor[n * i + l] * right[l];
    right[i] = total / factor[n * i + i];
  }
  // From the last row up: a number, once solved, is subtracted from those before it, which reads the factor by rows, too.
  for (let i = n - 1; i >= 0; i--) {
    right[i] /= factor[n * i + i];
    for (let l = 0; l < i; l++) right[l] -= factor[n * i + l] * right[i];
  }
}

// The joint step, into room.rowMove and room.pairMove; returns the fall that the quadratic model promises. The factor may be
// one of another point or of other weights: all else is of this point, so the step still leads downhill.
export function step(at, room, factor, stretch) {
  const { keepsPairs, rowMove, pairMove, pairScale, rowSide } = room;
  const { row, pair, rowGradient, rowBlock, pairGradient, pairBlock, cross } = at, R = row.length, K = pair.length;
  rowSide.set(rowGradient);
  for (let j = 0; j < K; j++) {
    // Pinned pairs move whatever the others do; that changes the gradient of the rows.
    pairMove[j] = pairScale[j] === 0 ? (-0.9 * pair[j]) / stretch : 0;
    if (pairMove[j] !== 0) for (let i = 0; i < R; i++) rowSide[i] += pairMove[j] * cross[R * j + i];
  }
  if (keepsPairs) solvePairs(at, room, factor, stretch);
  else solveRows(at, room, factor, stretch);
  let fall = 0, length = 0;
  for (let i = 0; i < R; i++) {
    fall -= 0.5 * rowSide[i] * rowMove[i];
    length += rowBlock[i] * rowMove[i] * rowMove[i];
  }
  for (let j = 0; j < K; j++) {
    // Solved for, a step falls by half its slope; a pinned pair's slope counts whole.
    fall -= (pairScale[j] === 0 ? 1 : 0.5) * pairGradient[j] * pairMove[j];
    if (pairScale[j] !== 0) length += pairBlock[j] * pairMove[j] * pairMove[j];
  }
  return fall + 0.5 * (stretch - 1) * length;
}

function solvePairs({ rowBlock, pairGradient, cross }, { right, rowMove, pairMove, pairScale, rowSide }, factor, stretch) {
  const R = rowMove.length, K = pairMove.length;
  for (let i = 0; i < R; i++) rowMove[i] = rowSide[i] / (rowBlock[i] * stretch);
  for (let j = 0; j < K; j++) {
    let carried = -pairGradient[j];
    for (let i = 0; i < R; i++) carried += cross[R * j + i] * rowMove[i];
    right[j] = pairScale[j] * carried;
  }
  solve(factor, right);
  rowMove.set(rowSide);
  for (let j = 0; j < K; j++) {
    if (pairScale[j] === 0) continue;
    const move = (pairMove[j] = pairScale[j] * right[j]);
    for (let i = 0; i < R; i++) rowMove[i] += move * cross[R * j + i];
  }
  for (let i = 0; i < R; i++) rowMove[i] /= -rowBlock[i] * stretch;
}

function solveRows({ pairGradient, pairBlock, cross }, { right, rowMove, pairMove, rowScale, pairScale, rowSide }, factor, stretch) {
  const R = rowMove.length, K = pairMove.length;
  for (let i = 0; i < R; i++) right[i] = -rowSide[i];
  for (let j = 0; j < K; j++) {
    if (pairScale[j] === 0) continue;
    const carried = pairGradient[j] / (pairBlock[j] * stretch);
    for (let i = 0; i < R; i++) right[i] += carried * cross[R * j + i];
  }
  for (let i = 0; i < R; i++) right[i] *= rowScale[i];
  solve(factor, right);
  for (let i = 0; i < R; i++) rowMove[i] = rowScale[i] * right[i];
  for (let j = 0; j < K; j++) {
    if (pairScale[j] === 0) continue;
    let slope = pairGradient[j];
    for (let i = 0; i < R; i++) slope += cross[R * j + i] * rowMove[i];
    pairMove[j] = -slope / (pairBlock[j] * stretch);
  }
}
