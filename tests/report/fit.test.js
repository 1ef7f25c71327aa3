// The fit of the page against numbers of the package, which test_report_scripts.py writes and names in POLYROC_FIT_CASES.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { openModels, resultOf } from "../../src/polyroc/report/_templates/fit.js";

const cases = JSON.parse(readFileSync(process.env.POLYROC_FIT_CASES, "utf8"));

function assertClose(found, wanted, atol) {
  assert.equal(found.length, wanted.length);
  wanted.forEach((value, i) => assert.ok(Math.abs(found[i] - value) <= atol, `${found[i]} is not ${value} at ${i}`));
}

for (const { name, explorer, opening, costs, prevalence, wanted } of cases) {
  test(`${name}: at the costs of the page its very numbers`, () => {
    const ones = explorer.classes.map(() => 1);
    const { auc, mean_auc } = resultOf(openModels(explorer)[0], explorer.costs.flat(), ones, true);
    assert.deepEqual({ auc, mean_auc }, opening);
  });

  test(`${name}: at other costs the numbers of the package`, () => {
    const found = resultOf(openModels(explorer)[0], costs, prevalence, true);
    assertClose([found.auc, found.mean_auc], [wanted.auc, wanted.mean_auc], 1e-6);
    for (const kind of ["fpr", "tpr"]) assertClose(found.curve[kind], wanted.curve[kind], 1e-4);
  });

  test(`${name}: frames from the opening to other costs end there, too`, () => {
    const [model] = openModels(explorer);
    const steps = [0, 0.25, 0.5, 0.75, 1, 1, 1, 1];
    const frame = (share) => resultOf(model, costs.map((cost) => cost ** share), prevalence.map((factor) => factor ** share), false);
    assertClose([steps.map(frame).at(-1).auc], [wanted.auc], 1e-4);
  });
}
