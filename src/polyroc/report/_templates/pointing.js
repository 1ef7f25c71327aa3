// How people ask the chart of the curves: by pointing, tapping, dragging, pinching and by keys.

import { shape } from "./elements.js";
import { pathOf, pixelsOf, rateText, WHOLE } from "./scale.js";

const REACH = { mouse: 30, pen: 30, touch: 44 }; // pixels
const LEAST_ZOOM = { square: 0.002, corner: 0.02, logit: 0.02 };
const LEAST_DRAG = 6; // pixels: less is a click

// Where on a drawn line the nearest place to a point is: squared distance, and between which points of the curve.
function nearestOn({ across, up, at }, pixels, x, y) {
  let best = { distance: Infinity, at: 0 };
  let [x0, y0] = [pixels.x(across[0]), pixels.y(up[0])];
  for (let i = 1; i < across.length; i += 1) {
    const x1 = pixels.x(across[i]), y1 = pixels.y(up[i]);
    const [dx, dy] = [x1 - x0, y1 - y0];
    const length = dx * dx + dy * dy;
    const share = length ? Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / length)) : 0;
    const distance = (x0 + share * dx - x) ** 2 + (y0 + share * dy - y) ** 2;
    if (distance < best.distance) best = { distance, at: at[i - 1] + share * (at[i] - at[i - 1]) };
    [x0, y0] = [x1, y1];
  }
  return best;
}

const between = (values, at) => {
  const first = Math.floor(at), share = at - first;
  return share ? values[first] + share * (values[first + 1] - values[first]) : values[first];
};

function pointOf(chart, line, at) {
  const [fpr, tpr] = [between(line.now.fpr, at), between(line.now.tpr, at)];
  return {
    line, at, fpr, tpr, rate: line.now.call_rate.length === line.now.fpr.length ? between(line.now.call_rate, at) : (fpr + tpr) / 2,
    x: chart.pixels.x(chart.scale.across(fpr)), y: chart.pixels.y(chart.scale.up(tpr)),
  };
}

// The point that somebody means; a point of the curve itself where one is near, for only those were computed.
function pointNear(chart, x, y, reach) {
  const nearest = (lines) => lines
    .map((line) => ({ line, ...nearestOn(line.places, chart.pixels, x, y) }))
    .reduce((best, line) => (line.distance < best.distance ? line : best), { distance: Infinity });
  let best = nearest(chart.lines.filter((line) => line.shown));
  // Curves of pairs lie everywhere: those of models come first where both are near.
  if (best.distance > 8 ** 2) {
    const pair = nearest(chart.picked ? [...chart.pairs, chart.picked] : chart.pairs);
    if (pair.distance < best.distance) best = pair;
  }
  if (best.distance > reach ** 2) return null;
  const exact = pointOf(chart, best.line, best.at), near = pointOf(chart, best.line, Math.round(best.at));
  return Math.hypot(near.x - exact.x, near.y - exact.y) < 12 ? near : exact;
}

// Around one half, call rates are 0.0005 apart.
const wordsOf = ({ rate, fpr, tpr }) => [
  `call rate (quantile) ${rate.toFixed(4)}`, `false positive rate ${rateText(fpr)}`, `true positive rate ${rateText(tpr)}`,
];

export function pointing(chart) {
  const { element, parts } = chart;
  let shown = null; // the point whose numbers are shown
  let drag = null;
  const placeOf = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function show(point) {
    shown = point;
    parts.readout.hidden = !point;
    if (!point) { parts.marks.replaceChildren(); return; }
    const { line, x, y } = point;
    const colour = line.pair ? "var(--ink)" : `var(--curve-${line.model % chart.data.themes.light.curves.length})`;
    const marks = [shape("circle", { class: "dot", cx: x, cy: y, r: 5.5, style: `fill: ${colour}` })];
    if (line.pair) marks.unshift(shape("path", { class: "picked", d: pathOf(line.places, chart.pixels) }));
    parts.marks.replaceChildren(...marks);
    const lines = [line.called(), ...wordsOf(point).map((words) => [words])].map((words) => {
      const row = document.createElement("div");
      row.append(...words); // text and elements with text: no markup
      return row;
    });
    parts.readout.replaceChildren(...lines);
    setBeside(parts.readout, x, y, chart.box);
  }

  function rectangle(x, y) {
    const clamp = (value, least) => Math.min(Math.max(value, least), least + chart.box.side);
    const xs = [drag.x, x].map((value) => clamp(value, chart.box.left)).sort((a, b) => a - b);
    const ys = [drag.y, y].map((value) => clamp(value, chart.box.top)).sort((a, b) => a - b);
    return { xs, ys, small: xs[1] - xs[0] < LEAST_DRAG || ys[1] - ys[0] < LEAST_DRAG };
  }

  element.addEventListener("pointermove", (event) => {
    const [x, y] = placeOf(event);
    if (drag) {
      const { xs, ys, small } = rectangle(x, y);
      if (small) return;
      show(null);
      parts.marks.replaceChildren(shape("rect", { class: "drag", x: xs[0], y: ys[0], width: xs[1] - xs[0], height: ys[1] - ys[0] }));
    } else if (event.pointerType !== "touch") {
      show(pointNear(chart, x, y, REACH.mouse));
    }
  });
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = placeOf(event);
    // A finger scrolls the page, and taps.
    if (event.pointerType === "touch") { drag = null; return; }
    drag = { x, y };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointerup", (event) => {
    const [x, y] = placeOf(event);
    if (drag) {
      const { xs, ys, small } = rectangle(x, y);
      drag = null;
      if (!small) {
        parts.marks.replaceChildren();
        const { across, up } = chart.pixels;
        chart.zoomTo(zoomWithin({ left: across(xs[0]), right: across(xs[1]), bottom: up(ys[1]), top: up(ys[0]) }, chart.state.view));
        return;
      }
    }
    // What scrolls is cancelled, and so does not come here.
    const point = pointNear(chart, x, y, REACH[event.pointerType] || REACH.mouse);
    show(point);
    if (point?.line.pair) chart.selection?.set({ model: chart.state.model, pair: point.line.pair });
  });
  element.addEventListener("pointercancel", () => { drag = null; show(null); });
  element.addEventListener("pointerleave", (event) => { if (!drag && event.pointerType !== "touch" && !element.matches(":focus-visible")) show(null); });
  element.addEventListener("dblclick", (event) => { event.preventDefault(); chart.zoomTo(WHOLE); });
  element.addEventListener("blur", () => show(null));
  document.addEventListener("pointerdown", (event) => { if (!element.contains(event.target)) show(null); });
  wheelAndPinch(chart, placeOf);

  chart.point = show;
  chart.pointed = () => shown;
  chart.repoint = () => {
    if (!shown) return;
    const { line, at } = shown;
    if (!chart.lines.includes(line) || !line.shown) show(null);
    else show(pointOf(chart, line, at));
  };
}

// Beside a point, where there is room.
function setBeside(label, x, y, box) {
  const { offsetWidth: width, offsetHeight: height } = label;
  const left = x + 14 + width <= box.size ? x + 14 : Math.max(0, x - 14 - width);
  const top = Math.min(Math.max(y - height / 2, 0), box.top + box.side + 40 - height);
  label.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

// Never outside of the whole, and never so small that the numbers end.
function zoomWithin(zoom, view) {
  const side = (low, high) => {
    const length = Math.min(1, Math.max(LEAST_ZOOM[view], high - low));
    const start = Math.min(Math.max((low + high - length) / 2, 0), 1 - length);
    return [start, start + length];
  };
  const [left, right] = side(zoom.left, zoom.right), [bottom, top] = side(zoom.bottom, zoom.top);
  return right - left > 0.999 && top - bottom > 0.999 ? WHOLE : { left, right, bottom, top };
}

// The same place stays where it is while everything around grows by a factor.
function zoomedAround(chart, [x, y], factor, zoom = chart.zoom, target = [x, y]) {
  const { box, state } = chart;
  const wide = (zoom.right - zoom.left) / factor, high = (zoom.top - zoom.bottom) / factor;
  const pixels = pixelsOf(box, zoom);
  const left = pixels.across(x) - (wide * (target[0] - box.left)) / box.side;
  const top = pixels.up(y) + (high * (target[1] - box.top)) / box.side;
  return zoomWithin({ left, right: left + wide, bottom: top - high, top }, state.view);
}

function wheelAndPinch(chart, placeOf) {
  const { element } = chart;
  element.addEventListener("wheel", (event) => {
    // The wheel alone scrolls the page. Pinching on a touchpad comes as a wheel with the control key.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    chart.zoomTo(zoomedAround(chart, placeOf(event), Math.exp(-Math.max(-50, Math.min(50, event.deltaY)) / 100)));
  }, { passive: false });
  let pinch = null;
  const fingers = ({ touches }) => {
    const [a, b] = [placeOf(touches[0]), placeOf(touches[1])];
    return { middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2], apart: Math.max(10, Math.hypot(a[0] - b[0], a[1] - b[1])) };
  };
  element.addEventListener("touchstart", (event) => {
    if (event.touches.length === 2) { pinch = { ...fingers(event), zoom: chart.zoom }; chart.point(null); }
  }, { passive: true });
  element.addEventListener("touchmove", (event) => {
    if (!pinch || event.touches.length !== 2) return; // one finger scrolls the page
    event.preventDefault();
    const { middle, apart } = fingers(event);
    chart.zoomTo(zoomedAround(chart, pinch.middle, apart / pinch.apart, pinch.zoom, middle));
  }, { passive: false });
  for (const name of ["touchend", "touchcancel"]) element.addEventListener(name, () => { pinch = null; });
}

// A cursor on the curve of the model that is looked at; its numbers are said aloud.
export function keysOf(chart) {
  const { element, state } = chart;
  const said = document.getElementById("curve-said");
  element.setAttribute("role", "application");
  element.setAttribute("aria-roledescription", "chart");
  element.setAttribute("aria-describedby", "curve-help");
  element.tabIndex = 0;

  const lines = () => chart.lines.filter((line) => line.shown);
  const first = () => lines().find((line) => line.model === state.model) || lines()[0];

  function moveTo(line, at) {
    if (!line) return;
    const last = line.now.fpr.length - 1;
    const point = pointOf(chart, line, Math.min(Math.max(Math.round(at), 0), last));
    const { zoom } = chart;
    // A part that is enlarged moves along.
    const across = chart.scale.across(point.fpr), up = chart.scale.up(point.tpr);
    const dx = Math.max(0, across - zoom.right) + Math.min(0, across - zoom.left);
    const dy = Math.max(0, up - zoom.top) + Math.min(0, up - zoom.bottom);
    if (zoom !== WHOLE && (dx || dy)) chart.zoomTo(zoomWithin({ left: zoom.left + dx, right: zoom.right + dx, bottom: zoom.bottom + dy, top: zoom.top + dy }, state.view));
    chart.point(pointOf(chart, line, point.at));
    const name = line.called().map((part) => part.textContent ?? part).join("");
    said.textContent = `${name}: ${wordsOf(point).join(", ")}`;
  }

  function along(step) {
    const now = chart.pointed();
    if (now && chart.lines.includes(now.line)) moveTo(now.line, now.at + step);
    else if (first()) moveTo(first(), (first().now.fpr.length - 1) / 2);
  }

  // To another curve, at the same call rate.
  function change(step) {
    const all = lines(), now = chart.pointed();
    const place = now ? all.indexOf(now.line) : -1;
    if (place < 0) { along(0); return; }
    const next = all[(place + step + all.length) % all.length];
    const at = next.now.call_rate.findIndex((rate) => rate >= now.rate - 1e-9);
    moveTo(next, at < 0 ? next.now.fpr.length - 1 : at);
  }

  function zoomBy(factor) {
    const now = chart.pointed(), { left, top, side } = chart.box;
    chart.zoomTo(zoomedAround(chart, now ? [now.x, now.y] : [left + side / 2, top + side / 2], factor));
  }

  const keys = {
    ArrowRight: (event) => along(event.shiftKey ? 10 : 1), ArrowLeft: (event) => along(event.shiftKey ? -10 : -1),
    ArrowDown: () => change(1), ArrowUp: () => change(-1),
    Home: () => moveTo(chart.pointed()?.line || first(), 0), End: () => moveTo(chart.pointed()?.line || first(), Infinity),
    "+": () => zoomBy(1.5), "=": () => zoomBy(1.5), "-": () => zoomBy(1 / 1.5), 0: () => chart.zoomTo(WHOLE),
  };
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && (chart.zoom !== WHOLE || chart.pointed())) {
      // Once for the whole; the selection of the page goes with the next.
      event.stopPropagation();
      chart.point(null);
      if (chart.zoom !== WHOLE) chart.zoomTo(WHOLE);
    } else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key](event);
    }
  });
}
