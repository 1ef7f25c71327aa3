import ast
import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import tomllib
import typing
from pathlib import Path

import pytest

import polyroc
from polyroc import baselines, dask, display, meta, report, spark, training

API_PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.rst"
# The version is a string, `baselines` a module and EXPERIMENTS a mapping: they are no entries of their own.
NOT_LISTED = {"__version__", "baselines", "EXPERIMENTS"}
# Classes of other packages, which are loaded where those are there.
OF_OTHERS = {"polyroc": {"CostSensitiveClassifier"}, "polyroc.training": {"KerasCallback"}}
HEAVY = {
    "numba",
    "matplotlib",
    "jinja2",
    "dask",
    "torch",
    "sklearn",
    "pandas",
    "polars",
    "pyarrow",
    "mlflow",
    "pyspark",
    "keras",
}
SLOW_PARTS_OF_SCIPY = {"scipy.stats", "scipy.optimize", "scipy.linalg"}


def documented(module: str) -> list[str]:
    """Names that the autosummary tables of the API page list for a module, in their order."""
    names, current = [], ""
    for line in API_PAGE.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            current = found[1]
        elif current == module and (found := re.fullmatch(r" {3}(\w+)", line)):
            names.append(found[1])
    return names


@pytest.mark.parametrize(
    "module",
    [
        "polyroc",
        "polyroc.baselines",
        "polyroc.dask",
        "polyroc.display",
        "polyroc.meta",
        "polyroc.report",
        "polyroc.spark",
        pytest.param("polyroc.torch", marks=pytest.mark.training("torch", "torchmetrics")),
        "polyroc.training",
    ],
)
def test_all_agrees_with_the_api_page(module):
    names = importlib.import_module(module).__all__
    assert len(set(names)) == len(names)
    assert sorted(documented(module)) == sorted((set(names) | OF_OTHERS.get(module, set())) - NOT_LISTED)


@pytest.mark.parametrize(
    "module",
    [polyroc, baselines, dask, display, meta, report, spark, training],
    ids=lambda module: module.__name__,
)
def test_every_public_name_is_there_and_documented(module):
    for name in module.__all__:
        assert hasattr(module, name), name
        documentation = getattr(module, name).__doc__
        assert documentation, name
        # A dataclass without a docstring gets its signature for one.
        assert not documentation.startswith(f"{name}("), name


@pytest.mark.parametrize(
    "module",
    [polyroc, baselines, dask, display, meta, report, spark, training],
    ids=lambda module: module.__name__,
)
def test_public_functions_have_a_numpydoc_example(module):
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value) and not isinstance(value, type):
            assert "Examples\n" in value.__doc__, name


def test_displays_have_an_example():
    for name in display.__all__:
        assert "Examples\n" in getattr(display, name).__doc__, name


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_import_is_light():
    loaded = loaded_by("import polyroc")
    assert "polyroc" in loaded
    assert "polyroc.display" not in loaded
    assert not loaded & HEAVY
    # Older SciPy loads its linear algebra with its special functions, whatever we do.
    assert not (loaded - loaded_by("import scipy.special")) & SLOW_PARTS_OF_SCIPY


def test_displays_load_matplotlib_only_to_draw():
    assert not loaded_by("import polyroc.display") & HEAVY


def test_reports_load_jinja_only_to_render():
    assert not loaded_by("import polyroc.report") & HEAVY


@pytest.mark.slow
def test_summary_curves_load_the_optimiser_only_to_fit():
    loaded = loaded_by("import polyroc.meta") - loaded_by("import scipy.special")
    assert not loaded & (HEAVY | SLOW_PARTS_OF_SCIPY)
    fitted = "from polyroc.meta import summary_roc; summary_roc([[4, 1, 2, 8], [3, 2, 1, 9], [5, 1, 3, 7]])"
    loaded = loaded_by(fitted)
    assert "scipy.optimize" in loaded
    assert not loaded & HEAVY


def test_metrics_for_training_load_nothing_of_what_trains():
    assert not loaded_by("import polyroc.training; dir(polyroc.training); dir(polyroc)") & HEAVY


def test_engines_of_clusters_are_loaded_only_when_used():
    assert not loaded_by("import polyroc.dask, polyroc.spark") & HEAVY


@pytest.mark.parametrize(
    "function",
    [polyroc.evaluate, polyroc.compare, polyroc.cost_sweep, polyroc.evaluate_cv, polyroc.Evaluation.bootstrap],
    ids=lambda function: function.__name__,
)
def test_help_opens_with_types_that_can_be_read(function):
    signature = str(inspect.signature(function))
    assert "numpy._typing" not in signature
    assert "'ArrayLike" in signature or "ArrayLike]'" in signature
    # What checks types still finds them.
    assert typing.get_type_hints(function)


@pytest.mark.parametrize("name", ["RocCurve", "Evaluation", "Factorization", "PairwiseRates"])
def test_help_on_records_is_short(name):
    signature = str(inspect.signature(getattr(polyroc, name)))
    assert "numpy.ndarray[" not in signature
    assert "numpy.dtype" not in signature


SCORES = {"y_true": [0, 0, 1, 1], "y_score": [0.1, 0.4, 0.35, 0.8]}


@pytest.mark.parametrize(
    "call",
    [
        lambda **options: polyroc.auc_score(**SCORES, **options),
        lambda **options: polyroc.cost_sweep(**SCORES, true_class=0, **options),
        lambda **options: polyroc.compare([0, 1], {}, **options),
        lambda **options: polyroc.evaluate_cv(None, [0, 1], [0, 1], **options),
        lambda **options: polyroc.make_auc_scorer(**options),
    ],
    ids=["auc_score", "cost_sweep", "compare", "evaluate_cv", "make_auc_scorer"],
)
def test_unknown_options_are_reported_by_the_function_that_was_called(call, request):
    name = request.node.callspec.id
    if name == "evaluate_cv":
        pytest.importorskip("sklearn")
    with pytest.raises(TypeError) as caught:
        call(multi_class="ovo")
    words = str(caught.value)
    assert words.startswith(f"{name}() got an unexpected keyword argument 'multi_class'. Accepted options: ")
    assert "thresholds, n_thresholds, shrinkage, structure" in words
    assert words.endswith("M, scikit-learn's 'ovo', is `evaluate(...).hand_till`; 'ovr' is `baselines.one_vs_rest`.")
    with pytest.raises(
        TypeError, match=r"got unexpected keyword arguments 'average', 'bogus'. .*weighting='prevalence'"
    ):
        call(average="macro", bogus=1)
    if name == "compare":  # which takes it
        return
    with pytest.raises(TypeError, match=r"`evaluate\(\.\.\.\)\.partial_auc\(max_fpr\)`"):
        call(max_fpr=0.1)


def test_options_of_a_function_are_all_it_accepts():
    pytest.importorskip("sklearn")
    with pytest.raises(TypeError, match=r"Accepted options: cv, groups, weighting, .*n_jobs\.$"):
        polyroc.evaluate_cv(None, [0, 1], [0, 1], labels=[0, 1])


def test_dir_shows_public_names_and_the_parts_that_load_on_access():
    of_sklearn = ["CostSensitiveClassifier"] if importlib.util.find_spec("sklearn") else []
    of_torch = ["torch"] if importlib.util.find_spec("torch") and importlib.util.find_spec("torchmetrics") else []
    rooms = ["dask", "display", "meta", "report", "spark", "training", *of_torch]
    assert sorted(dir(polyroc)) == sorted([*polyroc.__all__, *rooms, *of_sklearn])
    code = "import polyroc, sys; assert 'polyroc.report' not in sys.modules; print(polyroc.report.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "polyroc.report"
    with pytest.raises(AttributeError, match="module 'polyroc' has no attribute 'bogus'"):
        _ = polyroc.bogus


def test_displays_are_called_so_and_take_axes_first_and_the_rest_by_keyword():
    assert all(name.endswith("Display") for name in display.__all__)
    for drawn in [*(getattr(display, name) for name in display.__all__), polyroc.Evaluation]:
        _, ax, *rest = inspect.signature(drawn.plot).parameters.values()
        assert (ax.name, ax.default) == ("ax", None), drawn
        assert all(one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD) for one in rest), drawn
    for name in display.__all__:
        for method in vars(getattr(display, name)).values():
            function = getattr(method, "__func__", method)
            if callable(function):
                found = inspect.signature(function).parameters
                assert not [one for one in found if one.endswith("_kw")], (name, function)


# Packages that are called otherwise than their modules, or named only to keep old versions of another one away.
MODULES = {"scikit-learn": "sklearn"}
BOUNDS = {"click"}  # of typer


def test_extras_exist_because_some_line_imports_their_package():
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    imported = set()
    for file in (root / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
    for extra, packages in project["optional-dependencies"].items():
        if extra in ("dev", "docs"):
            continue
        for package in packages:
            name = re.match(r"[\w-]+", package)[0]
            assert name in BOUNDS or MODULES.get(name, name) in imported, (extra, package)
