"""Check that every file says the same version, and that a tag is that: python scripts/version.py --tag v0.1.0"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The first says it; the others repeat it, because their readers run no Python.
SAID = {
    "src/polyroc/_version.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "CHANGELOG.md": r"^## \[(.+?)\]",
}


def versions(root):
    """The version in each file; that of the changelog is its first heading."""
    texts = {name: (root / name).read_text(encoding="utf-8") for name in SAID}
    found = {name: re.search(pattern, texts[name], flags=re.MULTILINE) for name, pattern in SAID.items()}
    return {name: match[1] if match else None for name, match in found.items()}


def problems(root, tag=None):
    """What is wrong, a sentence each. A release also needs a date in the changelog."""
    found = versions(root)
    version = found["src/polyroc/_version.py"]
    wrong = [f"{name} says {other}, not {version}." for name, other in found.items() if other != version]
    if tag is not None:
        if tag != f"v{version}":
            wrong.append(f"The tag is {tag}, and the version {version}.")
        heading = rf"^## \[{re.escape(str(version))}\] - \d{{4}}-\d\d-\d\d$"
        if not re.search(heading, (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE):
            wrong.append(f"CHANGELOG.md has no date for {version}.")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="of the release, v and the version")
    wrong = problems(ROOT, parser.parse_args().tag)
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
