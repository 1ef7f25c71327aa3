"""The scripts of the page as modules: how they are joined, and what eslint, tsc and Node say of them.

`make test-page` installs eslint and tsc; without them, or without Node, these tests are skipped.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from page_script import NODE
from report_pages import evaluation_of

from polyroc.report._packing import packed_rates
from polyroc.report._page import _FIT, _PAGE, _scripts, _text, bundle, module_order

ROOT = Path(__file__).parents[2]


def joined(**modules):
    """The bundle of the last module, with names as in `a.js`."""
    texts = {f"{name}.js": text for name, text in modules.items()}
    return bundle(list(texts)[-1], texts.__getitem__)


def test_each_module_is_there_once_after_what_it_imports():
    found = joined(
        a="// Why.\n\nexport const one = 1;\n",
        b='import { one } from "./a.js";\n\nexport function two() {\n  // Twice.\n  return one + one;\n}\n',
        c='import {\n  one,\n} from "./a.js";\nimport { two } from "./b.js";\n\nalert(two() - one); // "export"\n',
    )
    wanted = [
        "const one = 1;",
        "function two() {",
        "  return one + one;",
        "}",
        'alert(two() - one); // "export"',
    ]
    assert found.splitlines() == wanted


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        ({"a": "const x = 1;\n", "b": 'import "./a.js";\nfunction x() {}\n'}, "a.js and b.js both declare 'x'"),
        ({"a": "const x = 1;\n", "b": 'import { x } from "./a.js";\n'}, "b.js imports 'x', which a.js does not export"),
        ({"a": "export const x = 1;\n", "b": 'import { x as y } from "./a.js";\n'}, "imports 'x as y'"),
        ({"a": 'import "./b.js";\n', "b": 'import "./a.js";\n'}, "import each other: b.js -> a.js -> b.js"),
        ({"b": "export default 1;\n"}, "b.js has 'export default 1;'"),
        ({"b": 'import fs from "node:fs";\n'}, "b.js has 'import fs"),
        ({"b": 'const fs = await import("./a.js");\n'}, "b.js has 'import("),
    ],
)
def test_what_cannot_be_joined_is_refused(modules, said):
    with pytest.raises(ValueError) as error:
        joined(**modules)
    assert said in str(error.value)


def test_the_two_scripts_have_every_module_once():
    modules = {path.name for path in (ROOT / "src/polyroc/report/_templates").glob("*.js")}
    assert set(module_order(_PAGE, _text)) == modules
    assert set(module_order(_FIT, _text)) < modules
    fit, page = _scripts()
    assert ("function openModels(" in fit, "function openModels(" in page) == (True, False)
    assert ("function curveChart(" in fit, "function curveChart(" in page) == (False, True)


def test_a_name_of_the_fit_is_no_name_of_the_page():
    texts = {"fit.js": "const x = 1;\n", "page.js": "const x = 2;\n"}
    with pytest.raises(ValueError, match="both declare 'x'"):
        bundle("page.js", texts.__getitem__, loaded=["fit.js"])


def output_of(*command, **environment):
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("tool", ["eslint", "tsc"])
def test_tools_find_nothing(tool):
    program = ROOT / "node_modules" / ".bin" / tool
    if not (NODE and program.exists()):
        pytest.skip(f"needs node and {tool}, which `make test-page` installs")
    assert output_of(str(program)) == (0, "")


def fit_case(name, k, **options):
    """What a page carries, and the package's own numbers at other costs; prevalences are folded into these."""
    rng = np.random.default_rng(k)
    costs, prevalence = 10 ** rng.uniform(-1, 1, size=(k, k)), 10 ** rng.uniform(-0.5, 0.5, size=k)
    opening = evaluation_of(k, options=options)
    there = evaluation_of(k, options={**options, "costs": costs * np.outer(prevalence, prevalence)})
    return {
        "name": name,
        "explorer": packed_rates([opening]),
        "opening": {"auc": opening.auc, "mean_auc": opening.mean_auc},
        "costs": costs.ravel().tolist(),
        "prevalence": prevalence.tolist(),
        "wanted": {
            "auc": there.auc,
            "mean_auc": there.mean_auc,
            "curve": {"fpr": there.curve.fpr.tolist(), "tpr": there.curve.tpr.tolist()},
        },
    }


@pytest.mark.skipif(not NODE, reason="needs node")
def test_node_imports_the_fit_and_has_the_packages_numbers(tmp_path):
    cases = [
        fit_case("three classes", 3),
        fit_case("ten classes", 10),
        fit_case("shared thresholds", 5, thresholds="shared"),
        fit_case("saturated", 4, structure="saturated"),
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    code, said = output_of(
        NODE,
        "--test",
        "--test-reporter=tap",
        "tests/report/fit.test.js",
        POLYROC_FIT_CASES=str(tmp_path / "cases.json"),
    )
    assert code == 0, said
    assert f"# pass {3 * len(cases)}\n" in said
