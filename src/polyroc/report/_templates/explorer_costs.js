// The costs that somebody tries: how far they are from those that were given, the way back, and the file for --costs.

const EXPLORER_MOST = 1000; // times as given, or a thousandth of it
const EXPLORER_RATIO = 1e12; // of the largest to the smallest cost, as evaluate() allows
const EXPLORER_UNDO = 200;

// What a mistake costs: twelve digits, so that 10 times a tenth is 1 again.
const explorerTidy = (value) => Number(value.toPrecision(12));

// The series 1, 2, 5, 10, 20, ...: the next one up or down.
function explorerStep(value, direction) {
  const steps = [];
  for (let power = -13; power <= 13; power += 1) for (const digit of [1, 2, 5]) steps.push(Number(`${digit}e${power}`));
  const near = 1e-9 * value;
  if (direction > 0) return steps.find((step) => step > value + near) ?? value;
  return steps.findLast((step) => step < value - near) ?? value;
}

// A target is a cell {a, b}, a row {a}, a column {b} or the share of a class {share}; classes are counted in the grid.
function explorerCosts(explorer) {
  const k = explorer.classes.length;
  const place = explorer.costs.length === k ? explorer.classes.map((_, i) => i) : explorer.classes;
  const given = Float64Array.from({ length: k * k }, (_, i) => explorer.costs[place[Math.floor(i / k)]][place[i % k]]);
  // All that is moved: a factor for each cell, then one for each class.
  let factors = new Float64Array(k * k + k).fill(1);
  const past = [];
  const others = (c) => explorer.classes.map((_, i) => i).filter((i) => i !== c);

  function members({ a, b, share }) {
    if (share !== undefined) return [k * k + share];
    if (a !== undefined && b !== undefined) return [a * k + b];
    return a !== undefined ? others(a).map((i) => a * k + i) : others(b).map((i) => i * k + b);
  }

  const unit = ({ a, b }) => (a !== undefined && b !== undefined ? given[a * k + b] : 1);

  // A cell has a cost, a class a factor; those of a row or column may differ, and this is their geometric mean.
  function factor(target) {
    const all = members(target).map((i) => factors[i]);
    if (all.every((one) => one === all[0])) return all[0];
    return explorerTidy(Math.exp(all.reduce((sum, one) => sum + Math.log(one), 0) / all.length));
  }

  const isEven = (target) => members(target).every((i, _, all) => factors[i] === factors[all[0]]);

  // All members move by the same factor, as far as the first of them can go.
  function setFactor(target, wanted) {
    const all = members(target);
    const now = factor(target);
    const low = Math.max(...all.map((i) => 1 / EXPLORER_MOST / factors[i]));
    const high = Math.min(...all.map((i) => EXPLORER_MOST / factors[i]));
    const by = Math.min(Math.max(wanted / now, low), high);
    for (const i of all) factors[i] = explorerTidy(factors[i] * by);
    return Math.abs(by * now - wanted) <= 1e-9 * wanted;
  }

  function usual() {
    const sorted = [...given].filter((_, i) => i % (k + 1) !== 0).sort((x, y) => x - y);
    return sorted[Math.floor(sorted.length / 2)];
  }

  const api = {
    k, given, members, unit, factor, isEven, setFactor, usual: usual(),
    value: (target) => explorerTidy(unit(target) * factor(target)),
    set: (target, value) => setFactor(target, value / unit(target)),
    cost: (a, b) => explorerTidy(given[a * k + b] * factors[a * k + b]),
    now: () => given.map((cost, i) => explorerTidy(cost * factors[i])),
    prevalence: () => factors.slice(k * k),
    isGiven: () => factors.every((one) => one === 1),
    snapshot: () => factors.slice(),
    restore(snapshot) { factors = snapshot.slice(); },
    reset() { factors.fill(1); },
    forget(target) { for (const i of members(target)) factors[i] = 1; },
    remember(snapshot = factors) {
      const last = past.at(-1);
      if (!last || last.some((one, i) => one !== snapshot[i])) past.push(snapshot.slice());
      if (past.length > EXPLORER_UNDO) past.shift();
    },
    undo() {
      while (past.length) {
        const before = past.pop();
        if (before.some((one, i) => one !== factors[i])) { factors = before; return true; }
      }
      return false;
    },
    // With the dragged prevalences folded in: what --costs is given.
    folded: () => given.map((cost, i) => explorerTidy(cost * factors[i] * factors[k * k + Math.floor(i / k)] * factors[k * k + (i % k)])),
  };
  return api;
}

// What differs from the costs as given: whole rows, then whole columns, then cells; the largest change first.
function explorerChanges(costs) {
  const { k } = costs;
  const classes = Array.from({ length: k }, (_, i) => i);
  const moved = (target) => costs.factor(target) !== 1;
  const whole = (target) => moved(target) && costs.isEven(target);
  const rows = classes.filter((a) => whole({ a })).map((a) => ({ a }));
  const columns = classes.filter((b) => whole({ b })).map((b) => ({ b }));
  const covered = new Set([...rows, ...columns].flatMap(costs.members));
  const cells = classes
    .flatMap((a) => classes.filter((b) => b !== a).map((b) => ({ a, b })))
    .filter((cell) => moved(cell) && !covered.has(costs.members(cell)[0]));
  const shares = classes.map((share) => ({ share })).filter(moved);
  const size = (target) => Math.abs(Math.log(costs.factor(target)));
  return [...rows, ...columns, ...cells, ...shares].sort((x, y) => size(y) - size(x));
}

// The file that --costs reads: the names letter by letter, whatever they hold, because it looks for just these.
function explorerCsv(exact, classes, costs) {
  const place = new Map(classes.map((label, i) => [label, i]));
  const folded = costs.folded();
  const cell = (a, b) => {
    if (a === b) return 0;
    // Classes without samples have no part in any number; but the file must name them.
    return place.has(a) && place.has(b) ? folded[place.get(a) * costs.k + place.get(b)] : costs.usual;
  };
  let corner = "true class";
  while (exact.includes(corner)) corner += "_";
  const mark = explorerMark([corner, ...exact]);
  const quoted = (text) => (/^[A-Za-z0-9_.-]+(?: [A-Za-z0-9_.-]+)*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`);
  const rows = exact.map((name, a) => [quoted(name), ...exact.map((_, b) => String(cell(a, b)))]);
  return [[corner, ...exact].map(quoted), ...rows].map((row) => `${row.join(mark)}\n`).join("");
}

// --costs takes the mark that the first line has most of for the one between cells, also where names have it.
function explorerMark(names) {
  const line = names.join("").split(/[\r\n]/)[0];
  const count = (mark) => line.split(mark).length - 1;
  return [",", "\t", ";"].reduce((best, mark) => (count(mark) > count(best) ? mark : best));
}
