"""How many files of polyroc a call passes through: what a newcomer must open to follow the data from `evaluate` down.

python scripts/hops.py            counts functions that are entered, not modules that are imported
"""

import contextlib
import io
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import polyroc
from polyroc.cli import main

PACKAGE = str(Path(polyroc.__file__).parent)


def files_of(function):
    """The files of the package in which some function is entered while this one runs."""
    found = set()

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(PACKAGE):
            found.add(code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def evaluate_with_report(folder):
    example = polyroc.load_example()
    table, page = folder / "predictions.csv", folder / "report.html"
    names = ["label", *(f"p_{label}" for label in example.labels)]
    rows = zip(example.y_true, example.scores["tree"].tolist(), strict=True)
    table.write_text("\n".join([",".join(names), *(",".join(map(str, [label, *row])) for label, row in rows)]) + "\n")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(
            [
                "evaluate",
                str(table),
                "--target",
                "label",
                "--report",
                str(page),
            ]
        )


def parquet_file(folder):
    import pyarrow as pa
    from pyarrow import parquet

    example = polyroc.load_example()
    columns = {"label": example.y_true}
    for place, label in enumerate(example.labels):
        columns[f"p_{label}"] = example.scores["tree"][:, place]
    parquet.write_table(pa.table(columns), folder / "tree.parquet")
    return folder / "tree.parquet"


def calls(folder):
    example = polyroc.load_example()
    y_true, scores = example.y_true, example.scores
    evaluation = polyroc.evaluate(y_true, scores["tree"])
    path = parquet_file(folder)
    return {
        "evaluate": lambda: polyroc.evaluate(y_true, scores["tree"]),
        "confidence_interval": evaluation.confidence_interval,
        "compare": lambda: polyroc.compare(y_true, scores),
        "evaluate_parquet": lambda: polyroc.evaluate_parquet(path, target="label"),
        "evaluate --report": lambda: evaluate_with_report(folder),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sources = list(Path(PACKAGE).rglob("*.py"))
    print(f"{len(sources)} files, {len([p for p in sources if p.parent == Path(PACKAGE)])} of them in the root")
    with tempfile.TemporaryDirectory() as name:
        for call_name, call in calls(Path(name)).items():
            print(f"{call_name}: {len(files_of(call))} files")
