"""polyroc.dask on a cluster of processes, one of which is killed in the middle: `dying_worker.py FOLDER PASS`.

FOLDER has 2,000 samples (samples.npz). Prints D and its standard error, to the last bit, and how many workers died.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np

import polyroc


def load(folder, number, killed_in):
    """A batch of 100 samples; in one pass the process that loads the seventh is killed, once."""
    calls = Path(folder, f"calls-{number}")
    with calls.open("a") as file:
        file.write(".")
    if number == 6 and len(calls.read_text()) == killed_in:
        Path(folder, f"killed-{os.getpid()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    stored, rows = np.load(Path(folder, "samples.npz")), slice(100 * number, 100 * (number + 1))
    return stored["y_true"][rows], stored["y_score"][rows]


def on_a_cluster(folder, killed_in):
    from dask import delayed
    from dask.distributed import Client, LocalCluster

    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as cluster, Client(cluster):
        batches = [delayed(load, nout=2)(folder, number, killed_in) for number in range(20)]
        found = polyroc.dask.evaluate([one[0] for one in batches], [one[1] for one in batches], labels=range(4))
        n_deaths = len(list(Path(folder).glob("killed-*")))
        sys.stdout.write(f"{found.auc.hex()} {found.standard_error.hex()} {n_deaths}\n")


if __name__ == "__main__":
    on_a_cluster(sys.argv[1], int(sys.argv[2]))
