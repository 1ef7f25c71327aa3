// A small picture of the curves next to the grid: the large one is out of sight while somebody drags.

const EXPLORER_BOX = { left: 0, top: 0, side: 200 };

// The view is the one that the large picture opens with, and lines are placed as there.
function explorerCurves(svg, { models, view, decades, themes }) {
  if (!models.some((model) => model.curve?.fpr)) { svg.remove(); return { draw() {} }; }
  const scale = scaleOf(view, decades), pixels = pixelsOf(EXPLORER_BOX, WHOLE);
  const line = (kind, m, of) => shape("path", { class: `${kind} ${of}`, style: `stroke: var(--curve-${m % themes.light.curves.length})` });

  function place(path, curve) {
    if (curve?.fpr) path.setAttribute("d", pathOf(placed(scale, curve), pixels));
  }

  const kinds = ["curve", "mean_curve"];
  const then = models.map((_, m) => kinds.map((kind) => line(kind, m, "then")));
  const now = models.map((_, m) => kinds.map((kind) => line(kind, m, "now")));
  svg.append(...then.flat(), ...now.flat());
  const each = (lines, all) => all.forEach((model, m) => kinds.forEach((kind, i) => place(lines[m][i], model[kind])));
  each(then, models);
  each(now, models);
  return { draw: (live) => each(now, live ?? models) };
}
