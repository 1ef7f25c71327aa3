"""Print the oldest versions that pyproject.toml allows, one per line, for `pip install --constraint`."""

import argparse
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Neither these nor what they need are in the environment: they are large, or hold other packages back.
LEFT_OUT = ("docs", "mlflow", "dask", "spark")


def lower_bounds(project):
    """The lowest version of each package; where two lists name one, the higher of the two, which both allow."""
    extras = project["optional-dependencies"]
    lists = [project["dependencies"], *(listed for name, listed in extras.items() if name not in LEFT_OUT)]
    lowest = {}
    for requirement in (one for listed in lists for one in listed if not one.startswith("polyroc[")):
        found = re.fullmatch(r"([\w.-]+)>=(\d+(?:\.\d+)*)(?:,<[\d.]+)?", requirement)
        if found is None:
            msg = f"{requirement!r} has no lower bound of the form name>=version"
            raise ValueError(msg)
        name, version = found.groups()
        lowest[name] = max(lowest.get(name, "0"), version, key=lambda text: [int(part) for part in text.split(".")])
    return lowest


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print("\n".join(f"{name}=={version}" for name, version in sorted(lower_bounds(project).items())))


if __name__ == "__main__":
    main()
