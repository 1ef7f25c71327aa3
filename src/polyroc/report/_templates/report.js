// Reads what the page carries, draws it, and draws it again when somebody asks for another part or another theme.

const data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
const heatmap = document.getElementById("heatmap"); // two classes have none
const state = {
  model: data.selected,
  shown: data.models.map(() => true),
  bands: data.bands,
  kinds: data.kinds, // shared curves and means of the pairs
  pairCurves: 0,
  heatmap: false, // drawn when somebody comes near to it, for it takes time
  printing: paper.matches,
};

for (const control of document.querySelectorAll(".control")) control.hidden = false;
for (const note of document.querySelectorAll(".static-note")) note.remove(); // for pages without a script
const table = pairTable(data);

// Paper is light.
const theme = () => (dark.matches && !state.printing ? data.themes.dark : data.themes.light);

function draw() {
  for (const words of document.querySelectorAll(".band-words")) words.hidden = !state.bands;
  drawCurve(data, state, theme());
  if (state.heatmap) drawHeatmap(data, state, theme());
}

function lookAt(place) {
  state.model = place;
  table.show(data.models[place]);
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

onChange("#model", (select) => lookAt(Number(select.value)));
onChange("#bands", (box) => { state.bands = box.checked; draw(); });
onChange("#pair-curves", (select) => { state.pairCurves = Number(select.value); draw(); });
onChange("[data-curve]", (box) => { state.shown[Number(box.dataset.curve)] = box.checked; draw(); });
onChange("[data-kind]", (box) => { state.kinds[box.dataset.kind] = box.checked; draw(); });
for (const box of document.querySelectorAll("[data-kind]")) box.checked = state.kinds[box.dataset.kind];
const bands = document.getElementById("bands");
if (bands) bands.checked = state.bands;

dark.addEventListener("change", draw);
paper.addEventListener("change", (event) => onPaper(event.matches));
addEventListener("beforeprint", () => onPaper(true));
addEventListener("afterprint", () => onPaper(false));

if (heatmap) {
  const near = new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    near.disconnect();
    state.heatmap = true;
    draw();
  }, { rootMargin: "800px" });
  near.observe(heatmap);
}

draw();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
