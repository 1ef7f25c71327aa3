"""Pages of the documentation, run as somebody would paste them.

A block of `text` right below one of `python` or `sh` is what that one prints. `python tests/helpers/pages.py PAGE ...`
writes what is printed now into the pages.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(
    r"^```(?P<language>python|sh)\n(?P<code>.*?)^```\n(?:\n*^```text\n(?P<shown>.*?)^```\n)?", re.M | re.S
)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e-\d+)?")
_END = "<end of the block>"
# A last line of a shown output that stands for all that follows.
_REST = "...\n"


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    shown: str | None
    printed: str | None = None

    @property
    def runs(self) -> bool:
        """Python, and commands whose output is shown; others install something, or need files that are not there."""
        return self.language == "python" or self.shown is not None


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page: str) -> list[Block]:
    return [Block(found["language"], found["code"], found["shown"]) for found in _BLOCK.finditer(text_of(page))]


def python_of(page: str) -> str:
    """All Python blocks of a page, as somebody would paste them one after the other."""
    return "\n".join(block.code for block in blocks_of(page) if block.language == "python")


def run(page: str, folder: Path) -> list[Block]:
    """The blocks that run, with what they print: Python first, in one process, then the commands, in one folder."""
    blocks = [block for block in blocks_of(page) if block.runs]
    python = [block for block in blocks if block.language == "python"]
    script = "\n".join(f"{block.code}\nprint({_END!r}, flush=True)" for block in python)
    # A process of its own, away from the repository: nothing but the installed package helps.
    printed = iter(_stdout([sys.executable, "-W", "error", "-c", script], folder).split(f"{_END}\n"))
    done = []
    for block in sorted(blocks, key=lambda block: block.language):
        out = next(printed) if block.language == "python" else _shell(block.code, folder)
        done.append(replace(block, printed=out))
    return done


def _shell(commands: str, folder: Path) -> str:
    # `polyroc` as a shell would find it.
    polyroc = f'polyroc() {{ {shlex.quote(sys.executable)} -m polyroc "$@"; }}'
    return _stdout(["sh", "-e", "-c", f"{polyroc}\n{commands}"], folder)


def _stdout(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=3600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def differences(shown: str, printed: str) -> list[str]:
    """What is wrong about a shown output; space does not count, and the last digit may be rounded otherwise."""
    if shown.endswith(_REST):
        shown = shown.removesuffix(_REST)
        printed = "".join(printed.splitlines(keepends=True)[: len(shown.splitlines())])
    if _without_numbers(shown) != _without_numbers(printed):
        return [f"shown:\n{shown}\nprinted:\n{printed}"]
    numbers = zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=True)
    return [f"shown {one}, printed {other}" for one, other in numbers if not _same_number(one, other)]


def _without_numbers(text: str) -> str:
    return re.sub(r"\s+", "", _NUMBER.sub("0", text))


def _same_number(one: str, other: str) -> bool:
    if not set(".e") & set(one + other):
        return one == other
    last = 10.0 ** -len(one.partition("e")[0].partition(".")[2])
    # Tiny p values have two digits, and the second is no promise.
    allowed = 0.1 * abs(float(one)) if "e" in one + other else 1.01 * last
    return abs(float(one) - float(other)) <= allowed


def write(page: str, folder: Path) -> None:
    """Put what is printed now where the page shows an output."""
    printed = {block.code: block.printed for block in run(page, folder)}

    def shown_anew(found: re.Match[str]) -> str:
        shown, now = found["shown"], printed.get(found["code"])
        if shown is None or now is None or (shown.endswith(_REST) and not differences(shown, now)):
            return found[0]
        return found[0].replace(f"```text\n{shown}```", f"```text\n{now}```")

    (ROOT / page).write_text(_BLOCK.sub(shown_anew, text_of(page)), encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as made:
            write(name, Path(made))
