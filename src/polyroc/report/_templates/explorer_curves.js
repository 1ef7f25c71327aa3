// A small picture of the curves next to the grid: the large one is out of sight while somebody drags.

const EXPLORER_SIDE = 200; // of the picture's box
const EXPLORER_LEAST = 1e-4; // rates below this lie at the edge of the corner view

function explorerCurves(svg, models) {
  const known = models.filter((model) => model.curve?.fpr);
  if (!known.length) { svg.remove(); return { draw() {} }; }
  // Curves that all hug the corner are seen only there.
  const corner = known.every(({ curve }) => curve.tpr.some((rate, i) => rate > 0.9 && curve.fpr[i] < 0.1));
  const log = (rate) => Math.log10(Math.max(rate, EXPLORER_LEAST)) / -Math.log10(EXPLORER_LEAST);
  const across = (fpr) => EXPLORER_SIDE * (corner ? 1 + log(fpr) : fpr);
  const down = (tpr) => EXPLORER_SIDE * (corner ? 1 + log(1 - tpr) : 1 - tpr);

  function line(kind, m, of) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("class", `${kind} ${of}`);
    path.style.stroke = `var(--curve-${m % explorerColours()})`;
    return path;
  }

  function place(path, curve) {
    if (curve?.fpr) path.setAttribute("d", [...curve.fpr].map((fpr, i) => `${i ? "L" : "M"}${across(fpr).toFixed(1)} ${down(curve.tpr[i]).toFixed(1)}`).join(""));
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

function explorerColours() {
  const style = getComputedStyle(document.documentElement);
  let count = 0;
  while (style.getPropertyValue(`--curve-${count}`)) count += 1;
  return count || 1;
}
