// The costs being tried: factors on the costs of the evaluation, undo, and the file for --costs.

export const EXPLORER_MOST = 1000; // times as given, or a thousandth of it
export const EXPLORER_RATIO = 1e12; // of the largest to the smallest cost, as evaluate() allows
const EXPLORER_UNDO = 200;

// Cost of a mistake, to twelve digits because 10 times a tenth must be 1 again.
const explorerTidy = (value) => Number(value.toPrecision(12));

// The series 1, 2, 5, 10, 20, ...: the next one up or down.
export function explorerStep(value, direction) {
  const steps = [];
  for (let power = -13; power <= 13; power += 1) for (const digit of [1, 2, 5]) steps.push(Number(`${digit}e${power}`));
  const near = 1e-9 * value;
  if (direction > 0) return steps.find((step) => step > value + near) ?? value;
  return steps.findLast((step) => step < value - near) ?? value;
}

// Median; of two middle values the one closer to 1, because a single changed cell of two is no changed row.
function explorerMiddle(values) {
  const sorted = [...values].sort((x, y) => x - y);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return Math.abs(Math.log(low)) < Math.abs(Math.log(high)) ? low : high;
}

// A target is a cell {a, b}, a row {a}, a column {b} or the share of a class {share}; classes are counted in the grid.
export function explorerCosts(explorer) {
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

  // How many times as given; of a row or column, whose cells may differ, the middle one.
  const factor = (target) => explorerMiddle(members(target).map((i) => factors[i]));

  const isEven = (target) => members(target).every((i, _, all) => factors[i] === factors[all[0]]);

  // All members move by the same factor, as far as the first of them can go.
  function setFactor(target, goal) {
    const all = members(target);
    const now = factor(target);
    const low = Math.max(...all.map((i) => 1 / EXPLORER_MOST / factors[i]));
    const high = Math.min(...all.map((i) => EXPLORER_MOST / factors[i]));
    const by = Math.min(Math.max(goal / now, low), high);
    for (const i of all) factors[i] = explorerTidy(factors[i] * by);
    return Math.abs(by * now - goal) <= 1e-9 * goal;
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

// What differs from the costs as given, in as few changes as say it: the largest first. A row or a column of which some
// cells differ further is not `whole`.
export function explorerChanges(costs) {
  const { k } = costs;
  const classes = Array.from({ length: k }, (_, i) => i);
  const cells = classes.flatMap((a) => classes.filter((b) => b !== a).map((b) => ({ a, b })));
  const at = new Map(cells.map((cell) => [cell.a * k + cell.b, costs.factor(cell)]));
  const of = (a, b) => at.get(a * k + b);
  const rest = (c) => classes.filter((other) => other !== c);
  const rows = classes.map((a) => explorerMiddle(rest(a).map((b) => of(a, b))));
  const columns = classes.map((b) => explorerMiddle(rest(b).map((a) => explorerTidy(of(a, b) / rows[a]))));
  const odd = cells.filter(({ a, b }) => Math.abs(Math.log(of(a, b) / rows[a] / columns[b])) > 1e-9);
  const moved = [
    ...classes.filter((a) => rows[a] !== 1).map((a) => ({ a, factor: rows[a], whole: !odd.some((cell) => cell.a === a) })),
    ...classes.filter((b) => columns[b] !== 1).map((b) => ({ b, factor: columns[b], whole: !odd.some((cell) => cell.b === b) })),
    ...odd.map((cell) => ({ ...cell, factor: of(cell.a, cell.b) })),
  ];
  const single = cells.filter(({ a, b }) => of(a, b) !== 1).map((cell) => ({ ...cell, factor: of(cell.a, cell.b) }));
  const shares = classes.map((share) => ({ share, factor: costs.factor({ share }) })).filter(({ factor }) => factor !== 1);
  const size = ({ factor }) => Math.abs(Math.log(factor));
  return [...(moved.length < single.length ? moved : single), ...shares].sort((x, y) => size(y) - size(x));
}

// The file that --costs reads: the names letter by letter, whatever they hold, because it looks for just these.
export function explorerCsv(exact, classes, costs) {
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
