"""How long a GPU takes, from scores on the device to the number: `python -m benchmarks._gpu --out gpu.json`.

Medians after a warm-up, each with the time that the fewest bytes would take at the bandwidth of a copy on the same
card, and with how far D is from that of the compiled engine on the host. `--rows` names some of the rows; `--profile`
shows what the time of a row is made of; `--page gpu.json` writes the table of docs/gpu.md.
"""

import argparse
import gc
import json
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import polyroc
from polyroc._lib.grid import grid

PAGE = Path(__file__).parents[1] / "docs" / "gpu.md"
# Sweeps over the rates of very many pairs: to begin, three steps, the last step in two, and the deviance.
SWEEPS = 7


@dataclass(frozen=True)
class Row:
    name: str
    n: int
    k: int
    task: str
    target: float
    repeats: int
    is_compared: bool = True

    @property
    def title(self) -> str:
        size = f"n = {self.n:,}, k = {self.k:,}"
        return {"evaluate": size, "error": f"standard error, {size}"}.get(self.task, f"999 resamples, {size}")

    @property
    def floor_bytes(self) -> float:
        """Scores read, sorted ones written and read; rates written once and read in each sweep; for each resample."""
        scores, rates = 4 * self.n * self.k, 4 * len(grid(99)) * self.k * (self.k - 1)
        once = 3 * scores + (1 + SWEEPS) * rates
        return {"evaluate": once, "error": 2 * scores + 3 * rates}.get(
            self.task, 999 * (3 * scores + (1 + SWEEPS) * rates)
        )


ROWS = (
    Row("k1000", 50_000, 1_000, "evaluate", 0.05, 9),
    Row("k10000", 200_000, 10_000, "evaluate", 5.0, 3, is_compared=False),
    Row("n10m", 10_000_000, 10, "evaluate", 0.05, 9),
    Row("error", 50_000, 1_000, "error", 0.05, 7),
    Row("boot100", 50_000, 100, "resample", 3.0, 3),
    Row("boot1000", 50_000, 1_000, "resample", 60.0, 1, is_compared=False),
    Row("training", 1_000, 10, "evaluate", 0.005, 51),
)


def problem(n: int, k: int) -> tuple[Any, Any]:
    """Labels and float32 scores on the device; each class is called a different amount."""
    import torch

    generator = torch.Generator(device="cuda").manual_seed(0)
    y_true = torch.randint(0, k, (n,), generator=generator, device="cuda")
    y_score = torch.empty((n, k), device="cuda").normal_(generator=generator)
    strength = torch.linspace(0.5, 2.5, k, device="cuda")
    y_score[torch.arange(n, device="cuda"), y_true] += strength[y_true]
    return y_true, y_score


def seconds(call: Callable[[], Any], repeats: int) -> list[float]:
    import torch

    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return times


def measured(row: Row) -> dict[str, Any]:
    import torch

    y_true, y_score = problem(row.n, row.k)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()

    def evaluate() -> polyroc.Evaluation:
        return polyroc.evaluate(y_true, y_score)

    evaluation = evaluate()
    value = evaluation.auc
    if row.task == "evaluate":
        calls: Callable[[], Any] = lambda: evaluate().auc  # noqa: E731
        calls()
        times = seconds(calls, row.repeats)
    elif row.task == "error":
        value = evaluate().standard_error
        times = []
        for _ in range(row.repeats):
            fresh = evaluate()
            times += seconds(lambda fresh=fresh: fresh.standard_error, 1)
    else:
        evaluation.bootstrap(16, rng=0)
        times = seconds(lambda: evaluation.bootstrap(999, rng=0).standard_error(), row.repeats)
        value = evaluation.bootstrap(99, rng=0).standard_error() if row.is_compared else value
    found = {
        **asdict(row),
        "title": row.title,
        "seconds": statistics.median(times),
        "spread": [min(times), max(times)],
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
        "value": value,
        "floor_bytes": row.floor_bytes,
        "status": str(evaluation.factorization.status),
    }
    if row.is_compared:
        host = polyroc.evaluate(y_true.cpu().numpy(), y_score.cpu().numpy(), engine="numba")
        expected = {"evaluate": lambda: host.auc, "error": lambda: host.standard_error}.get(
            row.task, lambda: host.bootstrap(99, rng=0).standard_error()
        )()
        found["difference"] = abs(value - expected) / (1 if row.task == "evaluate" else expected)
    return found


def bandwidth() -> float:
    """Bytes per second of a copy on the device, those read and those written."""
    import torch

    source = torch.empty(2**30, dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)
    target.copy_(source)
    return 2 * 2**30 / statistics.median(seconds(lambda: target.copy_(source), 15))


def profiled(row: Row) -> str:
    from torch.profiler import ProfilerActivity, profile

    y_true, y_score = problem(row.n, row.k)
    polyroc.evaluate(y_true, y_score)
    call: Callable[[], Any] = lambda: polyroc.evaluate(y_true, y_score)  # noqa: E731
    if row.task == "error":
        evaluation = polyroc.evaluate(y_true, y_score)
        polyroc.evaluate(y_true, y_score).standard_error  # noqa: B018
        call = lambda: evaluation.standard_error  # noqa: E731
    if row.task == "resample":
        evaluation = polyroc.evaluate(y_true, y_score)
        evaluation.bootstrap(64, rng=0)
        call = lambda: evaluation.bootstrap(64, rng=0)  # noqa: E731
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        call()
    averages = found.key_averages()
    on_device = averages.table(sort_by="self_cuda_time_total", row_limit=14, max_name_column_width=48)
    on_host = averages.table(sort_by="self_cpu_time_total", row_limit=10, max_name_column_width=48)
    keep = [line[:48] + line[-150:] if len(line) > 200 else line for line in on_device.splitlines()[:22]]
    return "\n".join([row.name, *keep, *(line[:130] for line in on_host.splitlines()[:16])])


def table(report: dict[str, Any]) -> str:
    lines = [
        "| problem | seconds | target | seconds of fewest bytes | ratio | peak memory | difference |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in report["rows"]:
        floor = row["floor_bytes"] / report["bandwidth"]
        difference = row.get("difference")
        differs = "" if difference is None else "0" if difference == 0 else f"{difference:.1e}"
        lines.append(
            f"| {row['title']} | {row['seconds']:.3g} | {row['target']:g} | {floor:.2g} | "
            f"{row['seconds'] / floor:,.0f} | {row['peak_gib']:.1f} GiB | {differs} |"
        )
    return "\n".join(lines)


def write_page(report: dict[str, Any]) -> None:
    begin, end = "<!-- table: python -m benchmarks._gpu -->", "<!-- end of table -->"
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n\n{table(report)}\n\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", choices=[row.name for row in ROWS], default=[row.name for row in ROWS])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--profile", nargs="*", choices=[row.name for row in ROWS], default=[])
    parser.add_argument("--page", type=Path, help="write the table of a report into docs/gpu.md, and measure nothing")
    asked = parser.parse_args()
    if asked.page is not None:
        write_page(json.loads(asked.page.read_text(encoding="utf-8")))
        return
    import torch

    warnings.simplefilter("ignore")
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "bandwidth": bandwidth(),
        "rows": [],
    }
    print(f"{report['device']}, torch {report['torch']}, {report['bandwidth'] / 1e12:.2f} TB/s", flush=True)
    for row in ROWS:
        if row.name in asked.rows:
            found = measured(row)
            report["rows"].append(found)
            print(
                {key: found[key] for key in ("title", "seconds", "spread", "peak_gib", "value", "status")}, flush=True
            )
            if "difference" in found:
                print("  difference", found["difference"], flush=True)
            gc.collect()
            torch.cuda.empty_cache()
            if asked.out is not None:
                asked.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for row in ROWS:
        if row.name in asked.profile:
            print(profiled(row), flush=True)
    print(table(report))


if __name__ == "__main__":
    main()
