"""Do thirteen things that people do first, and write what polyroc answers into docs/first-steps.md."""

import contextlib
import io
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyroc._lib.files import write_whole
from polyroc.cli import main as polyroc

PAGE = Path(__file__).resolve().parents[1] / "docs" / "first-steps.md"
BEGIN, END = "<!-- results: written by `python scripts/first_steps.py` -->", "<!-- end of results -->"
CLASSES = ("cat", "dog", "owl")


@dataclass(frozen=True)
class Step:
    what: str
    command: str


STEPS = (
    Step("labels that are text", "evaluate animals.csv --target label --method none"),
    Step("a wrong column name", "evaluate animals.csv --target lable"),
    Step("logits instead of probabilities", "evaluate logits.csv --target label --method none"),
    Step("a class that has a column and no samples", "evaluate no_owl.csv --target label --method none"),
    Step("a class that has samples and no column", "evaluate animals.csv --target label --scores p_cat,p_dog"),
    Step("labels that do not match the columns", "evaluate unnamed.csv --target label"),
    Step("a file that is not Parquet", "evaluate renamed.parquet --target label"),
    Step("an empty file", "evaluate empty.csv --target label"),
    Step("two models in one file", "evaluate both.csv --target label"),
    Step("NaN in the scores", "evaluate nan.csv --target label"),
    Step("two classes, one column", "evaluate spam.csv --target label --method none"),
    Step("a class of one sample", "evaluate one_owl.csv --target label"),
    Step("costs of the wrong shape", "evaluate animals.csv --target label --costs costs.csv"),
)


def rows_of(label, scores, prefix="p_", names=CLASSES):
    header = ",".join(["label", *(f"{prefix}{name}" for name in names)])
    lines = [",".join([one, *(f"{x:.3f}" for x in row)]) for one, row in zip(label, scores, strict=True)]
    return "\n".join([header, *lines]) + "\n"


def make_files(folder):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    logits = rng.normal(size=(60, 3)) + 1.5 * np.eye(3)[codes]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = np.array(CLASSES)[codes]
    holed = scores.copy()
    holed[7, 1] = np.nan
    both = np.hstack([scores, scores[:, ::-1]])
    one_owl = np.where((label == "owl") & (np.arange(60) > 2), "dog", label)
    files = {
        "animals.csv": rows_of(label, scores),
        "logits.csv": rows_of(label, logits),
        "no_owl.csv": rows_of(np.where(label == "owl", "dog", label), scores),
        "unnamed.csv": rows_of(label, scores, "s", ("1", "2", "3")),
        "renamed.parquet": rows_of(label, scores),
        "empty.csv": "",
        "both.csv": rows_of(label, both, "", [f"{m}_{name}" for m in ("knn", "tree") for name in CLASSES]),
        "nan.csv": rows_of(label, holed),
        "spam.csv": rows_of(np.where(label == "cat", "spam", "ham"), scores[:, :1], "p_", ("spam",)),
        "one_owl.csv": rows_of(one_owl, scores),
        "costs.csv": "cat,dog\n1,2\n2,1\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def answer(command):
    """The exit code, and what matters of both streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = polyroc(shlex.split(command))
    areas = [" ".join(line.split()) for line in out.getvalue().splitlines() if line.startswith(("D ", "M "))]
    return code, [*err.getvalue().splitlines(), *areas]


def table():
    rows = [["", "what was done", "command", "exit code", "answer"]]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make_files(Path())
        for number, step in enumerate(STEPS, 1):
            code, lines = answer(step.command)
            cell = "<br>".join(fenced(line) for line in lines)
            rows.append([str(number), step.what, fenced(f"polyroc {step.command}"), str(code), cell])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "| --- | --- | --- | --- | --- |", *lines[1:]])


def fenced(text):
    """As code, in which a bar would end the cell and a backquote the code."""
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def page(text, results):
    before, begin, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    if not begin:
        msg = f"{PAGE.name} lacks its mark, {BEGIN}"
        raise ValueError(msg)
    return f"{before}{BEGIN}\n\n{results}\n\n{END}{after}"


def main():
    written = page(PAGE.read_text(encoding="utf-8"), table())
    write_whole(PAGE, written.encode())
    print(f"Written: docs/{PAGE.name}")


if __name__ == "__main__":
    main()
