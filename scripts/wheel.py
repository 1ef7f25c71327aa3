"""Build wheel and sdist into dist, and try the wheel in an empty environment.

`make wheel` runs it; it needs `build` and `twine`. With --python the environment is made by another interpreter.
1. Wheel and sdist are built; the wheel that the sdist builds is the same, byte by byte; twine finds no fault.
2. The wheel alone, with what it asks for itself: the first example of the README prints what is shown there.
3. The wheel with the extras cli and report: the command line, and a report.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from pages import blocks_of, differences  # noqa: E402  (next to the tests, which use it as well)

DIST = ROOT / "dist"
# What must not be in a wheel, and what must.
UNWANTED = ("tests/", "experiments/", "benchmarks/", "studies/", "fuzz/", "scripts/")
# Not that of the repository: nothing but the installed package may be found.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(*command, folder=None, quiet=False):
    if not quiet:
        print("+", *(str(part).replace(str(ROOT) + os.sep, "") for part in command), flush=True)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**ENVIRONMENT, "NO_COLOR": "1", "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed with exit code {done.returncode}")
    return done.stdout


def checksum(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def only(folder, pattern):
    [found] = folder.glob(pattern)
    return found


def build(scratch):
    """The wheel, built from the checkout, after comparing it with the one that the sdist builds."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--wheel", "--outdir", DIST, ROOT)
    wheel, sdist = only(DIST, "*.whl"), only(DIST, "*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch, filter="data")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", scratch / "again", only(scratch, "polyroc-*"))
    again = only(scratch / "again", "*.whl")
    if checksum(wheel) != checksum(again):
        sys.exit("The sdist builds another wheel than the checkout.")
    print(f"The sdist builds the same wheel: sha256 {checksum(wheel)}")
    print(run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist), end="")
    names = run(sys.executable, "-m", "zipfile", "--list", wheel, quiet=True).splitlines()[1:]
    unwanted = [name for name in names if name.startswith(UNWANTED)]
    if unwanted or not any(name.startswith("polyroc/py.typed") for name in names):
        sys.exit(f"Not in place in the wheel: {unwanted or 'polyroc/py.typed'}")
    for path in (wheel, sdist):
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    return wheel


def try_alone(python, wheel, folder):
    run(python, "-m", "pip", "install", "--quiet", wheel)
    print(run(python, "-m", "pip", "list", "--format=freeze", quiet=True), end="")
    where = run(python, "-c", "import polyroc; print(polyroc.__file__)", folder=folder, quiet=True)
    if "site-packages" not in where:
        sys.exit(f"Not the installed package: {where}")
    first = next(block for block in blocks_of("README.md") if block.language == "python")
    printed = run(python, "-W", "error", "-c", first.code, folder=folder, quiet=True)
    wrong = differences(first.shown, printed)
    if wrong:
        sys.exit("\n".join(wrong))
    print("The first example of the README prints what is shown there.")


def try_extras(python, wheel, folder):
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[cli,report]")
    (folder / "p.csv").write_text(
        "label,p_a,p_b,p_c\n" + "a,0.7,0.2,0.1\nb,0.2,0.7,0.1\nc,0.1,0.3,0.6\nc,0.2,0.5,0.3\n" * 12, encoding="utf-8"
    )
    command = python.parent / f"polyroc{'.exe' if os.name == 'nt' else ''}"
    for arguments in (
        ("--version",),
        ("evaluate", "p.csv", "--target", "label"),
        ("demo", "--report", "report.html"),
    ):
        print(run(command, *arguments, folder=folder).partition("\n\n")[0].rstrip())
    page = (folder / "report.html").read_text(encoding="utf-8")
    if "</html>" not in page:
        sys.exit("The report is not a whole page.")
    print(f"report.html: {len(page) / 1000:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter of the empty environment")
    parser.add_argument("--wheel", type=Path, help="try this wheel, and build nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        wheel = given.wheel.resolve() if given.wheel else build(scratch)
        environment, folder = scratch / "environment", scratch / "elsewhere"
        folder.mkdir()
        run(given.python, "-m", "venv", environment)
        python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        print(run(python, "--version", quiet=True), end="")
        try_alone(python, wheel, folder)
        try_extras(python, wheel, folder)


if __name__ == "__main__":
    main()
