"""Send work to processes of their own. This process stays small: a child's peak memory starts at its parent's."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks._data import as_json
from benchmarks._kernels import ROOT, cache_folder
from benchmarks._worker import Effort


@dataclass(frozen=True)
class Timing:
    seconds: float
    runs: int
    value: float | None
    remark: str
    peak: int
    evaluation: float | None = None
    """Seconds of the evaluation before, where only what came after it is timed."""


@dataclass(frozen=True)
class Bench:
    """Where problems are kept and how hard to measure."""

    folder: Path
    effort: Effort

    def measure(self, *jobs):
        """Do the jobs in one fresh process; their timings share its peak memory."""
        for problem in dict.fromkeys(job.problem for job in jobs):
            if not (self.folder / f"{problem.stem}_score.npy").exists():
                python("-m", "benchmarks._data", as_json(problem), str(self.folder))
        say(f"{jobs[0].call}, {jobs[0].problem}" + (f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""))
        order = {"folder": str(self.folder), "effort": asdict(self.effort), "jobs": [asdict(job) for job in jobs]}
        answer = json.loads(python("-m", "benchmarks._worker", given=json.dumps(order)))
        return [Timing(**result, peak=answer["peak"]) for result in answer["results"]]


def python(*arguments, given=None, environment=None):
    """Output of a fresh interpreter; what it has to say to people goes to the screen."""
    command = [sys.executable, *arguments]
    environment = {"NUMBA_CACHE_DIR": cache_folder()} | (environment or {})
    done = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | environment
    )
    if done.returncode:
        sys.exit(f"a measuring process ended with status {done.returncode}: {' '.join(arguments[:3])}")
    return done.stdout


def imports(module):
    """Whether a module imports, tried in another process, which it may make as large as it likes."""
    return not subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, cwd=ROOT).returncode


def say(text):
    print(f"  measuring {text}", file=sys.stderr, flush=True)
