"""Repeat the tests that start threads or send signals, beside busy processes: none of them may depend on load.

`make stress` runs them 50 times beside two busy processes, `make stress STRESS_ARGS='--repeat 3'` three times.
"""

import argparse
import os
import re
import subprocess
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=50, help="rounds of the tests (default: %(default)s)")
    parser.add_argument("--busy", type=int, default=2, help="processes that keep cores busy (default: %(default)s)")
    parser.add_argument("tests", nargs="*", default=["tests"], help="files of tests, or folders (default: tests)")
    arguments = parser.parse_args()
    # They end with this process, however it ends.
    loop = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    busy = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(arguments.busy)]
    try:
        rounds = [round_of(number, arguments) for number in range(1, arguments.repeat + 1)]
    finally:
        for process in busy:
            process.kill()
            process.wait()
    n_failed, n_bad = sum(failed for failed, _ in rounds), sum(is_bad for _, is_bad in rounds)
    print(f"{len(rounds)} rounds beside {arguments.busy} busy processes: {n_failed} failures in {n_bad} rounds")
    return 1 if n_bad else 0


def round_of(number: int, arguments: argparse.Namespace) -> tuple[int, bool]:
    """Run the tests once: how many failed, and whether anything did."""
    start = time.monotonic()
    # Two workers: most of these tests wait. Slow ones too, but none that watches a clock.
    command = [sys.executable, "-m", "pytest", "-q", "-m", "threads and not clock", "--numprocesses", "2"]
    done = subprocess.run([*command, *arguments.tests], capture_output=True, text=True, check=False)
    last = done.stdout.rstrip().rpartition("\n")[2]
    counts = {what: int(n) for n, what in re.findall(r"(\d+) (passed|failed|error)", last)}
    n_failed = counts.get("failed", 0) + counts.get("error", 0)
    took = time.monotonic() - start
    print(f"round {number}: {counts.get('passed', 0)} passed, {n_failed} failed in {took:.0f} s", flush=True)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", flush=True)
    return n_failed, done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
