// Colours of areas. One hue on log(1 - area) with fixed ends, so that two reports have the same colours, and harder pairs are
// further from the background.

const HEAT_ENDS = [0.5, 0.9999]; // also for what is beyond
const HEAT_TICKS = [0.5, 0.9, 0.99, 0.999, 0.9999];
// From the easy end to the hard one.
const HEAT_COLOURS = {
  light: ["#e8f0f8", "#cfe0f0", "#abcbe6", "#7fb0d8", "#4f8fc4", "#2a6fab", "#125089", "#08306b"],
  dark: ["#1b2530", "#1e3447", "#234a69", "#2b648f", "#3d83b8", "#68a6d6", "#a2cbec", "#e0f0fd"],
};

// 0 at the easy end, 1 at the hard one.
function heatPlace(area) {
  const [hard, easy] = HEAT_ENDS.map((end) => Math.log(1 - end));
  const at = Math.log(1 - Math.min(Math.max(area, HEAT_ENDS[0]), HEAT_ENDS[1]));
  return (at - easy) / (hard - easy);
}

function heatColour(area, colours) {
  const at = heatPlace(area) * (colours.length - 1);
  const below = Math.min(Math.floor(at), colours.length - 2);
  const channels = (colour) => [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  const [from, to] = [channels(colours[below]), channels(colours[below + 1])];
  return from.map((channel, i) => Math.round(channel + (at - below) * (to[i] - channel)));
}

const rgb = (channels) => `rgb(${channels.join(", ")})`;

// Black or white, whichever has more contrast (WCAG's luminance; both have the same at 0.179).
function inkOn(channels) {
  const [r, g, b] = channels.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

// Three decimals; more where they would make an area perfect that is not, and a bound where these have no room.
function cellText(area) {
  if (area === 0 || area === 1) return String(area);
  const text = areaText(area, 3).replace(/^0/, "");
  return text.length <= ".9995".length ? text : area > 0.5 ? ">.999" : "<.001";
}

function heatLegend(colours) {
  const legend = document.createElement("div");
  legend.className = "heat-legend";
  legend.setAttribute("aria-hidden", "true"); // the numbers say the same
  const bar = document.createElement("div");
  bar.className = "heat-bar";
  bar.style.background = `linear-gradient(to left, ${colours.join(", ")})`;
  for (const tick of HEAT_TICKS) {
    const mark = document.createElement("span");
    mark.style.left = `${(100 * (1 - heatPlace(tick))).toFixed(2)}%`;
    mark.textContent = String(tick);
    bar.append(mark);
  }
  const words = (text) => Object.assign(document.createElement("span"), { textContent: text });
  legend.append(words("harder"), bar, words("easier"));
  return legend;
}
