// Where rates stand in a chart: in the whole square, in its corner on logarithmic scales, or on logit scales.
// `_lib/axes.py` draws the first two by the same rules for pages without a script. Places go from 0 to 1, to the right
// and upwards.

export const WHOLE = { left: 0, right: 1, bottom: 0, top: 1 };
export const OUTSIDE = 0.015; // a rate of 0 stands this far outside the frame: its line visibly leaves it
const BEND = 1.3; // straight lines bend on a logarithmic scale: a point more whenever a rate has changed by this factor

export function scaleOf(view, decades) {
  const same = (rate) => rate;
  if (view === "square") return { view, bent: false, across: same, up: same };
  const most = 1 + OUTSIDE;
  if (view === "logit") {
    const length = 2 * Math.log10(10 ** decades - 1); // from 10 ** -decades to 1 - 10 ** -decades
    const place = (rate) => Math.min(most, Math.max(-OUTSIDE, 0.5 + Math.log10(rate / (1 - rate)) / length));
    return { view, bent: true, decades, length, across: place, up: place, floor: 10 ** (-length * (0.5 + OUTSIDE)) };
  }
  const depth = (rate) => (rate > 0 ? Math.min(most, -Math.log10(rate) / decades) : most);
  return { view, bent: true, decades, length: decades, across: (fpr) => 1 - depth(fpr), up: (tpr) => depth(1 - tpr), floor: 10 ** (-decades * most) };
}

// Shares of a segment at which a rate that grows from `first` to `last` has grown by another step.
function bendsOf(first, last, floor, turned, shares) {
  for (let rate = Math.max(first, floor); last > rate * BEND; rate *= BEND) {
    const share = (rate - first) / (last - first);
    if (share > 0 && share < 1) shares.push(turned ? 1 - share : share);
  }
}

// A curve in places, with points between its own where lines bend; `at` says between which of its points each stands.
export function placed(scale, { fpr, tpr }) {
  const across = [], up = [], at = [];
  const put = (x, y, point) => { across.push(scale.across(x)); up.push(scale.up(y)); at.push(point); };
  for (let i = 0; i < fpr.length; i += 1) {
    const [x, y] = [fpr[i], tpr[i]];
    put(x, y, i);
    if (!scale.bent || i + 1 === fpr.length) continue;
    const shares = [];
    bendsOf(x, fpr[i + 1], scale.floor, false, shares);
    bendsOf(1 - tpr[i + 1], 1 - y, scale.floor, true, shares);
    if (scale.view === "logit") {
      bendsOf(1 - fpr[i + 1], 1 - x, scale.floor, true, shares);
      bendsOf(y, tpr[i + 1], scale.floor, false, shares);
    }
    if (shares.length > 1) shares.sort((a, b) => a - b);
    for (const share of shares) put(x + share * (fpr[i + 1] - x), y + share * (tpr[i + 1] - y), i + share);
  }
  return { across, up, at };
}

// From places to pixels: `box` is the frame, `zoom` the part of all places that it shows.
export function pixelsOf(box, zoom) {
  const wide = box.side / (zoom.right - zoom.left), high = box.side / (zoom.top - zoom.bottom);
  return {
    x: (place) => box.left + (place - zoom.left) * wide,
    y: (place) => box.top + (zoom.top - place) * high,
    across: (x) => zoom.left + (x - box.left) / wide,
    up: (y) => zoom.top - (y - box.top) / high,
  };
}

// Tenths of a pixel are enough. Points that fall on the one before are left out.
export function pathOf({ across, up }, pixels, start = "M") {
  let path = "", last = "";
  for (let i = 0; i < across.length; i += 1) {
    const point = `${Math.round(pixels.x(across[i]) * 10) / 10} ${Math.round(pixels.y(up[i]) * 10) / 10}`;
    if (point !== last) path += (path ? "L" : start) + point;
    last = point;
  }
  return path;
}

// 1, 2 or 5 times a power of ten: about `most` steps fill the length.
function niceStep(length, most) {
  const rough = length / most, power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((times) => times * power >= rough) || 10);
}

export function stepsBetween(from, to, most) {
  const step = niceStep(to - from, most), values = [];
  for (let n = Math.ceil(from / step - 1e-6); n * step <= to + step * 1e-6; n += 1) values.push(n * step);
  return { values, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-6)) };
}

// The ticks of an axis between two places: { place, text }, without text for lines between them.
export function ticksOf(scale, axis, from, to, most) {
  if (!scale.bent) {
    const { values, digits } = stepsBetween(from, to, most);
    return values.map((value) => ({ place: value, text: digits ? value.toFixed(digits).replace(/^(-?\d+)\.0+$/, "$1") : String(Math.round(value)) }));
  }
  return logTicks(scale, axis, from, to, most);
}

const percentText = (share, digits = 7) => `${Number((100 * share).toPrecision(digits))} %`;

function logTicks(scale, axis, from, to, most) {
  // The rate that the axis is the logarithm of: in the corner false positives, or missed positives.
  const logit = scale.view === "logit", missed = !logit && axis === "up";
  const placeOf = (rate) => (missed ? scale.up(1 - rate) : scale.across(rate));
  const textOf = (rate) => percentText(missed ? 1 - rate : rate);
  const inside = (rate) => placeOf(rate) >= from - 1e-9 && placeOf(rate) <= to + 1e-9;
  const mirrored = (rates) => { const low = rates.filter((rate) => rate < 0.5); return [...low, 0.5, ...low.map((rate) => 1 - rate)]; };
  const times = (list) => {
    const rates = [...Array(scale.decades + 1).keys()].flatMap((d) => list.map((n) => n * 10 ** -d));
    return (logit ? mirrored(rates) : rates).filter((rate) => rate <= 1 && inside(rate));
  };
  const few = times([1]).length < 3;
  let labelled = few ? times([1, 2, 5]) : times([1]);
  if (logit && labelled.length > most) labelled = labelled.filter((rate) => Math.round(Math.log10(Math.min(rate, 1 - rate))) % 2 === 0); // 50 % stays
  const fine = (to - from) * scale.length > 2.5 ? [2, 5] : [2, 3, 4, 5, 6, 7, 8, 9];
  const ticks = new Map(times(fine).map((rate) => [placeOf(rate), ""]));
  for (const rate of labelled) ticks.set(placeOf(rate), textOf(rate));
  if (labelled.length < 2) {
    // A very small part: equal steps of the rate itself.
    const rateAt = (place) => (logit ? 1 / (1 + 10 ** (scale.length * (0.5 - place))) : 10 ** (scale.decades * (missed ? -place : place - 1)));
    const ends = [from, to].map(rateAt);
    for (const rate of stepsBetween(Math.min(...ends), Math.max(...ends), most).values) if (rate > 0) ticks.set(placeOf(rate), textOf(rate));
  }
  return [...ticks].map(([place, text]) => ({ place, text }));
}

// Three decimals; near 0 and 1 two digits of what is lacking. None and all are said only where it is none or all.
export function rateText(rate) {
  const lacks = Math.min(rate, 1 - rate);
  if (lacks <= 0) return String(Math.round(rate));
  return rate.toFixed(lacks >= 0.01 ? 3 : Math.min(8, 1 - Math.floor(Math.log10(lacks))));
}
