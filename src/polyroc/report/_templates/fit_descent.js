// Damped descent, as `_core/fit.py` has it, and the few steps of a frame while somebody drags.

import { clip, EDGE, expit, logit, sum } from "./fit_cells.js";
import { devianceOf, factored, linearise, setGram, setScales, step, TINY } from "./fit_steps.js";

const MAX_ITER = 200;
const FIRST_DAMPING = 0.1;
const MAX_DAMPING = 1e12;
const STILL = 1e-9;
const FLAT = 1e-8;
const AT_REST = 1e-12;
const SOME_DAMPING = 1e-3;
const NEAR = 0.1; // moves of the predictor within which two gradients give the change of the deviance
const FRAME_STEPS = 3;
const FALLBACK_ITER = 6;
const SETTLED = 1e-4; // a step of a frame too short to be seen in the curve or in four digits of D
const SLOW = 0.25; // a step this long compared with the one before it: the factor is too old

// Where a fit begins: all pairs alike, each row at the logit of its mean.
function setStart(cells, at) {
  for (let i = 0; i < cells.R; i++) at.row[i] = cells.omega[i] > 0 ? logit(clip(cells.mean[i], EDGE, 1 - EDGE)) : 0;
  at.pair.fill(1);
}

// Take a step. No v falls below a tenth of its value.
function move(from, to, { rowMove, pairMove }) {
  for (let i = 0; i < rowMove.length; i++) to.row[i] = from.row[i] + rowMove[i];
  for (let j = 0; j < pairMove.length; j++) to.pair[j] = Math.max(from.pair[j] + pairMove[j], 0.1 * from.pair[j]);
}

const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

// Scale of the gradient of each row and of each pair: sums of |weights|.
function scalesOf(cells, at) {
  const { R, K, T, omega, weights } = cells, row = new Float64Array(R), pair = new Float64Array(K);
  let onTpr = 0, onFpr = 0, tprLength = 0, fprLength = 0;
  for (let j = 0; j < K; j++) {
    onTpr += weights.tpr[j] * at.pair[j];
    onFpr += weights.fpr[j] * at.pair[j];
  }
  for (let i = 0; i < R; i++) {
    row[i] = omega[i] * (i < T ? onTpr : onFpr) + TINY;
    if (i < T) tprLength += omega[i] * Math.abs(at.row[i]);
    else fprLength += omega[i] * Math.abs(at.row[i]);
  }
  for (let j = 0; j < K; j++) pair[j] = weights.tpr[j] * tprLength + weights.fpr[j] * fprLength + TINY;
  return { row, pair };
}

// Half the change of the deviance between two points, and its rounding error.
function changeOf(cells, from, to) {
  const { R, K } = cells, scales = scalesOf(cells, from), moves = { row: 0, pair: 0 };
  let slope = 0, noise = 0;
  for (let i = 0; i < R; i++) {
    const move = to.row[i] - from.row[i];
    slope += 0.5 * move * (from.rowGradient[i] + to.rowGradient[i]);
    noise += Math.abs(move) * scales.row[i];
    moves.row = Math.max(moves.row, Math.abs(move));
  }
  for (let j = 0; j < K; j++) {
    const move = to.pair[j] - from.pair[j];
    slope += 0.5 * move * (from.pairGradient[j] + to.pairGradient[j]);
    noise += Math.abs(move) * scales.pair[j];
    moves.pair = Math.max(moves.pair, Math.abs(move));
  }
  // A short move changes the deviance by less than its rounding; its slope at both ends has no such loss.
  const isNear = moves.row * largest(to.pair) + largest(from.row) * moves.pair <= NEAR;
  if (isNear) return { change: slope, noise: 1e-15 * noise };
  const before = devianceOf(cells, from);
  return { change: devianceOf(cells, to) - before, noise: 1e-14 * Math.abs(before) };
}

// How far rates moved: coordinates of the curve, and the cells of a row and of a pair in the mean, by the bend at a point.
function moveOf(cells, from, to, { rowBlock, pairBlock } = to) {
  const { R, K, T, omega, weights } = cells, before = sum(from.pair) / K, after = sum(to.pair) / K;
  const onTpr = sum(weights.tpr), onFpr = sum(weights.fpr), onRows = sum(omega.subarray(0, T)), onOthers = sum(omega.subarray(T));
  let most = 0;
  for (let i = 0; i < R; i++) {
    if (omega[i] === 0) continue;
    const move = to.row[i] - from.row[i], weight = omega[i] * (i < T ? onTpr : onFpr);
    most = Math.max(most, Math.abs(expit(to.row[i] * after) - expit(from.row[i] * before)));
    most = Math.max(most, Math.abs(move) * Math.sqrt(rowBlock[i] / weight) / 2);
  }
  for (let j = 0; j < K; j++) {
    const weight = weights.tpr[j] * onRows + weights.fpr[j] * onOthers;
    most = Math.max(most, (Math.abs(to.pair[j] - from.pair[j]) * Math.sqrt(pairBlock[j] / weight)) / 2);
  }
  return most;
}

// Largest gradient as a weighted mean of residuals: a limit of 1e-8 then means the same for every problem.
function scaledGradient(cells, at) {
  const scales = scalesOf(cells, at), reach = largest(at.row);
  let most = 0;
  for (let i = 0; i < cells.R; i++) most = Math.max(most, Math.abs(at.rowGradient[i]) / scales.row[i]);
  for (let j = 0; j < cells.K; j++) {
    const pull = at.pairGradient[j] / scales.pair[j];
    // At 0, where v >= 0 binds, a gradient that pulls further down is none.
    most = Math.max(most, at.pair[j] * reach <= 1e-8 ? -pull : Math.abs(pull));
  }
  return most;
}

// Less damping, the more of what the quadratic model promised came true.
function nextDamping(damping, { change, noise }, promised) {
  if (noise - change >= 0.75 * promised || noise === 0) return damping > 1e-9 ? damping / 100 : 0;
  return -change > 0.25 * promised ? damping : Math.max(4 * damping, 1e-6);
}

// Lower the deviance from room.at until nothing moves; where it ends is room.at again. Returns whether it converged.
function descend(cells, room, maxIter) {
  let damping = FIRST_DAMPING, isNew = true;
  for (let n = 0; n < maxIter; n++) {
    if (isNew) {
      setScales(room.at, room);
      setGram(room.at, room);
    }
    const factor = factored(room.at, room, 1 + damping);
    if (factor === null && damping >= SOME_DAMPING && scaledGradient(cells, room.at) <= AT_REST) return false;
    const promised = factor && step(room.at, room, factor, 1 + damping);
    if (factor) {
      move(room.at, room.trial, room);
      linearise(cells, room.trial);
    }
    const outcome = factor && changeOf(cells, room.at, room.trial);
    isNew = factor !== null && outcome.change <= outcome.noise;
    if (!isNew) {
      damping = Math.max(10 * damping, 1e-4);
      if (damping > MAX_DAMPING) return false;
      continue;
    }
    const isStill = damping <= STILL && moveOf(cells, room.at, room.trial) <= STILL;
    damping = nextDamping(damping, outcome, promised);
    [room.at, room.trial] = [room.trial, room.at];
    if (isStill && scaledGradient(cells, room.at) <= FLAT) return true;
  }
  return false;
}

// The best row effects for given pair effects: these make the curve rise whatever the pairs are, also where a fit ended early.
function solveEachRow(cells, at) {
  for (let i = 0; i < cells.R; i++) {
    if (cells.omega[i] === 0) continue;
    let effect = at.row[i], low = -Infinity, high = Infinity;
    for (let n = 0; n < 100; n++) {
      const { gradient, block } = rowSlope(cells, at.pair, i, effect);
      if (gradient < 0) low = effect;
      if (gradient > 0) high = effect;
      let moved = effect + clip(-gradient / block, -2, 2);
      // A Newton step that leaves the bracket is replaced by bisection.
      if ((moved <= low || moved >= high) && gradient !== 0 && high - low < Infinity) moved = (low + high) / 2;
      const isDone = Math.abs(moved - effect) < 1e-13;
      effect = moved;
      if (isDone) break;
    }
    at.row[i] = effect;
  }
}

function rowSlope({ K, R, T, rates, mean, keep, weights }, pair, i, effect) {
  const on = i < T ? weights.tpr : weights.fpr;
  let gradient = 0, block = TINY;
  for (let j = 0; j < K; j++) {
    const p = expit(effect * pair[j]), rate = keep[j] * rates[R * j + i] + (1 - keep[j]) * mean[i];
    gradient += on[j] * pair[j] * (p - rate);
    block += on[j] * pair[j] * pair[j] * p * (1 - p);
  }
  return { gradient, block };
}

// A factor for the frames to come: of this point, with as little damping as makes it positive definite.
function keepFactor(kept, room) {
  setScales(room.at, room);
  setGram(room.at, room);
  for (let damping = 1e-9; damping < MAX_DAMPING; damping = Math.max(1e-4, 10 * damping)) {
    kept.factor = factored(room.at, room, 1 + damping);
    if (kept.factor !== null) break;
  }
  kept.isOld = false;
}

// Kept between frames: effects, scaled as in the curve.
function keepEffects(kept, { row, pair }) {
  const scale = sum(pair) / pair.length;
  kept.row = row.map((effect) => effect * scale);
  kept.pair = pair.map((effect) => effect / scale);
}

const isFinitePoint = (at) => Number.isFinite(sum(at.pairGradient)) && at.row.every(Number.isFinite) && at.pair.every(Number.isFinite);

// To rest, from v = 1: D is the optimum that is reached from there.
export function fitToRest(cells, kept, room) {
  setStart(cells, room.at);
  linearise(cells, room.at);
  if (!descend(cells, room, MAX_ITER)) {
    solveEachRow(cells, room.at);
    linearise(cells, room.at);
  }
  keepFactor(kept, room);
  keepEffects(kept, room.at);
}

// From where the last frame ended: a few steps with the factor that was kept, each of which must lower the deviance, but for
// one too short to be seen, which ends the frame without another pass.
export function fitFrame(cells, kept, room) {
  setStart(cells, room.at);
  for (let i = 0; i < cells.R; i++) if (cells.omega[i] > 0 && kept.row[i] !== 0) room.at.row[i] = kept.row[i];
  room.at.pair.set(kept.pair);
  linearise(cells, room.at);
  if (!isFinitePoint(room.at)) return fitToRest(cells, kept, room);
  if (kept.isOld) keepFactor(kept, room);
  if (kept.factor === null) return fitToRest(cells, kept, room);
  let before = Infinity;
  for (let n = 0; n < FRAME_STEPS; n++) {
    setScales(room.at, room);
    step(room.at, room, kept.factor, 1);
    move(room.at, room.trial, room);
    const moved = moveOf(cells, room.at, room.trial, room.at);
    kept.isOld = moved > SETTLED && moved > SLOW * before;
    before = moved;
    if (moved <= SETTLED) {
      [room.at, room.trial] = [room.trial, room.at];
      break;
    }
    linearise(cells, room.trial);
    const { change, noise } = changeOf(cells, room.at, room.trial);
    if (!(change <= noise) || !isFinitePoint(room.trial)) {
      // From the last point that was good. Where that does not suffice in a frame, the next one goes on.
      descend(cells, room, FALLBACK_ITER);
      kept.isOld = true;
      break;
    }
    [room.at, room.trial] = [room.trial, room.at];
  }
  keepEffects(kept, room.at);
}
