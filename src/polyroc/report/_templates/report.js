// Reads what the page carries, draws it, and draws it again when somebody asks for another part or another theme.

import { nameElement } from "./elements.js";
import { makeSelection } from "./selection.js";
import { curveNumbers } from "./table.js";
import { pairTable, unpacked } from "./pairs.js";
import { classTable } from "./classes.js";
import { curveChart } from "./curve.js";
import { heatmapChart } from "./heatmap.js";
import { explorerPanel } from "./explorer.js";
import { addDecisions } from "./decisions.js";

const data = unpacked(JSON.parse(document.getElementById("data").textContent));
const selection = makeSelection(data);
const dark = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
const heatmap = document.getElementById("heatmap"); // two classes have none
const state = {
  model: data.selected,
  shown: data.models.map(() => true),
  view: data.view, // the whole square, or its corner
  bands: false, // on demand
  kinds: data.kinds, // shared curves and means of the pairs
  pairCurves: 0,
  heatmap: false, // drawn when it comes near the screen, because it takes time
  printing: paper.matches,
};

for (const control of document.querySelectorAll(".control")) control.hidden = false;
for (const note of document.querySelectorAll(".static-note")) note.remove(); // for pages without a script
const table = pairTable(data, selection);
const classes = classTable(data, selection);
const cells = heatmap && heatmapChart(data, selection);
const chart = curveChart(data, state, selection);

function draw() {
  chart.draw();
  if (state.heatmap) cells.draw({ model: state.model, dark: dark.matches && !state.printing, printing: state.printing });
}

function lookAt(place) {
  state.model = place;
  table.show(data.models[place]);
  classes.show(data.models[place]);
  const { name } = data.models[place];
  for (const heading of document.querySelectorAll(".of-model")) heading.replaceChildren(nameElement({ text: name.whole || name.text }));
  draw();
}

// Settings are folded on a screen and printed; afterwards they are as they were.
function unfold(printing) {
  for (const part of document.querySelectorAll("details.printed")) {
    if (printing) part.dataset.open = String(part.open);
    part.open = printing || part.dataset.open === "true";
  }
}

function onPaper(printing) {
  if (state.printing === printing) return;
  state.printing = printing;
  if (printing) state.heatmap = heatmap !== null;
  unfold(printing);
  draw();
}

function onChange(selector, act) {
  for (const element of document.querySelectorAll(selector)) element.addEventListener("change", () => act(element));
}

onChange("#model", (select) => selection.set({ model: Number(select.value) }));
selection.on((now, before) => {
  if (now.model === before.model) return;
  document.getElementById("model").value = now.model;
  lookAt(now.model);
});
onChange("#bands", (box) => { state.bands = box.checked; draw(); });
onChange("#pair-curves", (select) => { state.pairCurves = Number(select.value); draw(); });
onChange("[data-curve]", (box) => { state.shown[Number(box.dataset.curve)] = box.checked; draw(); });
onChange("[data-kind]", (box) => { state.kinds[box.dataset.kind] = box.checked; draw(); });
for (const box of document.querySelectorAll("[data-kind]")) box.checked = state.kinds[box.dataset.kind];
const bands = document.getElementById("bands");
if (bands) bands.checked = state.bands;

curveNumbers(data);
dark.addEventListener("change", draw);
paper.addEventListener("change", (event) => onPaper(event.matches));
addEventListener("beforeprint", () => onPaper(true));
addEventListener("afterprint", () => onPaper(false));

const explorer = explorerPanel(data, { chart, selection });
if (explorer) addDecisions(data, explorer);

if (heatmap) {
  const near = new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    near.disconnect();
    state.heatmap = true;
    draw();
  }, { rootMargin: "800px" });
  near.observe(heatmap);
}

// A link may ask for another model than the page opens with.
if (selection.get().model !== state.model) {
  document.getElementById("model").value = selection.get().model;
  lookAt(selection.get().model);
} else draw();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
