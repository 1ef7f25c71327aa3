// The difference of two curves with its paired band, in a small chart that is drawn when somebody opens it.

import { shape } from "./elements.js";
import { stepsBetween } from "./scale.js";

const DIFFERENCE = { width: 600, height: 260, left: 66, right: 12, top: 12, bottom: 44 };

// Of good models everything happens around a call rate of one half: the part in which there is something to be seen.
function stretchOf(rates, { low, high }) {
  const most = Math.max(...low.map(Math.abs), ...high.map(Math.abs));
  const seen = rates.filter((_, i) => Math.max(Math.abs(low[i]), Math.abs(high[i])) > 0.05 * most);
  if (!seen.length) return [0, 1];
  const room = Math.max(0.02, 0.15 * (seen[seen.length - 1] - seen[0]));
  return [Math.max(0, seen[0] - room), Math.min(1, seen[seen.length - 1] + room)];
}

const signed = (value, digits) => (value === 0 ? "0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(digits)}`);
// More digits if these would say that there is no difference.
const signedGap = (value) => signed(value, [4, 5, 6, 7, 8].find((digits) => Number(value.toFixed(digits)) !== 0) ?? 12);

export function differenceChart(data) {
  const element = document.getElementById("difference");
  if (!element) return { draw() {} };
  const box = document.getElementById("difference-section");
  const [pair, kind] = ["difference-pair", "difference-kind"].map((id) => document.getElementById(id));
  const { call_rate: rates, pairs } = data.curve_differences;
  element.classList.add("difference");

  function draw() {
    if (!box.open) return;
    const chosen = pairs[Number(pair.value)];
    const numbers = chosen[kind ? kind.value : "curve"] || chosen.curve;
    const width = Math.max(280, element.clientWidth);
    element.replaceChildren(differenceDrawing(rates, numbers, { ...DIFFERENCE, width }, `var(--curve-${chosen.models[0] % data.themes.light.curves.length})`));
    element.setAttribute("aria-label", `${pair.selectedOptions[0].textContent}: ${differenceWords(rates, numbers)}`);
  }
  for (const select of [pair, kind]) select?.addEventListener("change", draw);
  box.addEventListener("toggle", draw);
  new ResizeObserver(draw).observe(element);
  return { draw };
}

function differenceWords(rates, { value, low, high }) {
  const largest = value.reduce((best, x, i) => (Math.abs(x) > Math.abs(value[best]) ? i : best), 0);
  const clear = rates.filter((_, i) => low[i] > 0 || high[i] < 0);
  const where = clear.length ? `the band leaves 0 between call rates of ${clear[0].toFixed(2)} and ${clear[clear.length - 1].toFixed(2)}` : "the band contains 0 everywhere";
  return `largest difference ${signedGap(value[largest])} at a call rate of ${rates[largest].toFixed(3)}; ${where}.`;
}

function differenceDrawing(rates, { value, low, high }, size, colour) {
  const [from, to] = stretchOf(rates, { low, high });
  const inside = rates.map((rate, i) => i).filter((i) => rates[i] >= from && rates[i] <= to);
  const least = Math.min(0, ...inside.map((i) => low[i])), most = Math.max(0, ...inside.map((i) => high[i]));
  const room = 0.06 * (most - least) || 0.01;
  const x = (rate) => Math.round((size.left + ((rate - from) / (to - from)) * (size.width - size.left - size.right)) * 10) / 10;
  const y = (value) => Math.round((size.top + ((most + room - value) / (most - least + 2 * room)) * (size.height - size.top - size.bottom)) * 10) / 10;
  const points = (values, order = inside) => order.map((i) => `${x(rates[i])} ${y(values[i])}`).join("L");
  const svg = shape("svg", { viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" });
  const bottom = size.height - size.bottom, right = size.width - size.right;
  const across = stepsBetween(from, to, size.width < 400 ? 4 : 8), up = stepsBetween(least - room, most + room, 5);
  for (const rate of across.values) {
    svg.append(shape("path", { class: "grid", d: `M${x(rate)} ${size.top}V${bottom}` }));
    svg.append(shape("text", { x: x(rate), y: bottom + 17, "text-anchor": "middle" }, rate.toFixed(across.digits)));
  }
  for (const height of up.values) {
    const rounded = Number(height.toFixed(up.digits));
    svg.append(shape("path", { class: rounded === 0 ? "zero" : "grid", d: `M${size.left} ${y(height)}H${right}` }));
    svg.append(shape("text", { x: size.left - 7, y: y(height) + 4, "text-anchor": "end" }, signed(rounded, up.digits)));
  }
  svg.append(
    shape("path", { class: "band", style: `fill: ${colour}`, d: `M${points(low)}L${points(high, [...inside].reverse())}Z` }),
    shape("path", { class: "line", style: `stroke: ${colour}; stroke-width: 2.2px`, d: `M${points(value)}` }),
    shape("text", { class: "title", x: (size.left + right) / 2, y: size.height - 8, "text-anchor": "middle" }, "call rate"),
  );
  return svg;
}
