"""Every command that help and docs show runs as it is written there, and the page of first steps is true."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli_files import example_files, help_of

from polyroc.cli import main

ROOT = Path(__file__).resolve().parents[2]


def of_page(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line.startswith("polyroc ")]


def of_help(*command):
    lines = help_of(*command).splitlines()
    return [line.strip() for line in lines if line.strip().startswith("polyroc ")]


PAGES = [command for page in ("README.md", "docs/cli.md") for command in of_page(page)]
HELP = [command for of in ((), ("evaluate",), ("compare",), ("decide",)) for command in of_help(*of)]
COMMANDS = list(dict.fromkeys(PAGES + HELP))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    example_files(folder)
    # `polyroc` as the shell finds it.
    script = folder / "bin" / "polyroc"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m polyroc "$@"\n')
    script.chmod(0o755)
    return folder


def test_help_and_docs_have_examples():
    assert len(HELP) >= 10
    assert len([command for command in PAGES if " compare " in command]) >= 4
    assert all(len(command) < 79 for command in HELP)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run_as_written(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    if re.search(r"[<>|]", command):
        environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        written = re.search(r"> (\S+)", command)
        assert Path(written[1]).stat().st_size > 0 if written else done.stdout
        return
    assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


def test_the_page_of_first_steps_is_true():
    spec = importlib.util.spec_from_file_location("first_steps", ROOT / "scripts" / "first_steps.py")
    script = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up.
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    page = (ROOT / "docs" / "first-steps.md").read_text(encoding="utf-8")
    assert len(script.STEPS) >= 12
    assert script.page(page, script.table()) == page
