"""`make intervals`: how honest intervals, bands and the test of two models are.

python -m studies run --out results.json      the simulation: minutes on a card, most of a day on two cores
python -m studies influence --out results.json  intervals and tests by influences on the same samples, on all cores
python -m studies page results.json           its tables, into docs/coverage.md
python -m studies populations FILE.npz        the real predictions, for a machine without scikit-learn
python -m studies plans --out plans.json      what comes of plans by pilots of 300 samples: an hour on two cores
python -m studies plans-page plans.json       their table, into docs/planning.md
python -m studies looks --out looks.json      what looking after every batch costs: half an hour on two cores
python -m studies looks-page looks.json       its table, into docs/comparing.md
python -m studies bands --out bands.json      how often bands by influences cover; printed
python -m studies hard --out hard.json        intervals where few samples decide: an hour on one core
python -m studies hard-page hard.json         their tables, into docs/coverage.md
python -m studies measures --out measures.json  how often intervals of measures cover: minutes on 16 cores
python -m studies measures-page measures.json  their table, into docs/coverage.md
python -m studies decision-predictions FILE.npz  classifiers on six data sets, for a machine without scikit-learn
python -m studies decisions --predictions FILE.npz --out decisions.json  held-out costs, and coverage of their intervals
python -m studies decisions-page decisions.json  its tables, into docs/decisions.md
python -m studies verdict-predictions FILE.npz  classifiers on three data sets, for a machine without scikit-learn
python -m studies verdicts --predictions FILE.npz --out verdicts.json  decisions that hold; needs NumPy, SciPy, narwhals
python -m studies verdicts-page verdicts.json  its tables, into docs/decisions.md
"""

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEED = 20261116
SEED_HARD = 20261118


def main():
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, what in (
        ("run", "intervals and bands"),
        ("contests", "tests of two models"),
        ("influence", "intervals and tests of two models by influences"),
    ):
        asked = commands.add_parser(command, help=f"simulate {what}")
        asked.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
        asked.add_argument("--replications", type=int, default=2000)
        asked.add_argument("--resamples", type=int, default=399)
        asked.add_argument("--only", nargs="*", help="names; all by default")
        asked.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after this time")
    page = commands.add_parser("page", help="write docs/coverage.md")
    page.add_argument("results", type=Path)
    page.add_argument("--to", type=Path, default=ROOT / "docs" / "coverage.md")
    made = commands.add_parser("populations", help="write the real predictions into one file")
    made.add_argument("file", type=Path)
    plans = commands.add_parser("plans", help="simulate studies that were planned by a pilot")
    plans.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
    plans.add_argument("--replications", type=int, default=1000)
    plans.add_argument("--jobs", type=int, help="number of processes; all cores by default")
    plans.add_argument("--only", nargs="*", help="names; all by default")
    looks = commands.add_parser("looks", help="simulate comparisons that are looked at after every batch")
    looks.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
    looks.add_argument("--replications", type=int, default=500)
    looks.add_argument("--only", nargs="*", help="names; all by default")
    bands = commands.add_parser("bands", help="simulate bands by influences")
    bands.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
    bands.add_argument("--replications", type=int, default=300)
    bands.add_argument("--only", nargs="*", help="names; all by default")
    hard = commands.add_parser("hard", help="simulate intervals where few samples decide")
    hard.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
    hard.add_argument("--replications", type=int, default=600)
    hard.add_argument("--only", nargs="*", help="names; all by default")
    few = commands.add_parser("hard-page", help="write the tables of docs/coverage.md on them")
    few.add_argument("results", type=Path)
    few.add_argument("--to", type=Path, default=ROOT / "docs" / "coverage.md")
    measures = commands.add_parser("measures", help="simulate intervals of all measures")
    measures.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
    measures.add_argument("--replications", type=int, default=2000)
    measures.add_argument("--jobs", type=int, help="number of processes; all cores by default")
    measures.add_argument("--only", nargs="*", help="names; all by default")
    written = commands.add_parser("measures-page", help="write the table of measures of docs/coverage.md")
    written.add_argument("results", type=Path)
    written.add_argument("--to", type=Path, default=ROOT / "docs" / "coverage.md")
    shown = commands.add_parser("looks-page", help="write the table of docs/comparing.md")
    shown.add_argument("results", type=Path)
    shown.add_argument("--to", type=Path, default=ROOT / "docs" / "comparing.md")
    table = commands.add_parser("plans-page", help="write the table of docs/planning.md")
    table.add_argument("results", type=Path)
    table.add_argument("--to", type=Path, default=ROOT / "docs" / "planning.md")
    fits = commands.add_parser("decision-predictions", help="write classifiers' scores on six data sets into one file")
    fits.add_argument("file", type=Path)
    decisions = commands.add_parser("decisions", help="judge decisions on held-out samples, and their intervals")
    decisions.add_argument("--predictions", type=Path, help="of `decision-predictions`; without it, coverage alone")
    decisions.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
    decisions.add_argument("--replications", type=int, default=2000)
    decisions.add_argument("--costs", type=int, default=5, help="random cost matrices of each kind for each split")
    told = commands.add_parser("decisions-page", help="write the tables of docs/decisions.md")
    told.add_argument("results", type=Path)
    told.add_argument("--to", type=Path, default=ROOT / "docs" / "decisions.md")
    halves = commands.add_parser("verdict-predictions", help="write classifiers' scores on three data sets into a file")
    halves.add_argument("file", type=Path)
    verdicts = commands.add_parser("verdicts", help="judge the intervals of costs, verdicts, and deployed rules")
    verdicts.add_argument("--predictions", type=Path, help="of `verdict-predictions`; without it, simulated ones alone")
    verdicts.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
    verdicts.add_argument("--sizes", type=int, nargs="+", default=[200, 1000, 5000], help="samples; all by default")
    verdicts.add_argument("--kinds", nargs="+", help="kinds of costs; all by default")
    verdicts.add_argument("--replications", type=int, default=600, help="samples for rules that are tuned")
    verdicts.add_argument("--jobs", type=int, help="number of processes; all cores by default")
    verdicts.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after this time")
    judged = commands.add_parser("verdicts-page", help="write the tables of docs/decisions.md")
    judged.add_argument("results", type=Path)
    judged.add_argument("--to", type=Path, default=ROOT / "docs" / "decisions.md")
    asked = parser.parse_args()
    does = {"run": _run, "contests": _contests, "influence": _influence, "page": _page, "populations": _populations}
    does |= {"plans": _plans, "plans-page": _plans_page, "looks": _looks, "looks-page": _looks_page, "bands": _bands}
    does |= {"measures": _measures, "measures-page": _measures_page, "hard": _hard, "hard-page": _hard_page}
    does |= {"decision-predictions": _decision_predictions, "decisions": _decisions, "decisions-page": _decisions_page}
    does |= {"verdict-predictions": _verdict_predictions, "verdicts": _verdicts, "verdicts-page": _verdicts_page}
    asked.start = time.perf_counter()
    does[asked.command](asked)


def _run(asked):
    import torch

    from studies._run import run_setting
    from studies._settings import GROUPED, HELD_OUT, TUNED

    works = dict(enumerate(TUNED + GROUPED + HELD_OUT))
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no card"
    _collect(asked, "settings", works, run_setting, lambda truth: [truth.auc, truth.hand_till], device)


def _contests(asked):
    import torch

    from studies._contests import run_contest
    from studies._settings import CONTESTS

    works = {500 + number: contest for number, contest in enumerate(CONTESTS)}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no card"
    _collect(asked, "contests", works, run_contest, list, device)


def _influence(asked):
    # One thread for each process; read when NumPy is loaded.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from studies import _influence as influence
    from studies._settings import CONTESTS, GROUPED, HELD_OUT, MORE_CONTESTS, TUNED, VARIANTS

    truths = _truths(asked)

    def run_setting(one, seed, n_replications, _):
        if one.name not in truths:
            truths[one.name] = influence.find_truth(one, seed)
        return truths[one.name], influence.run(one, seed, n_replications, influence.judge_sample)

    def run_contest(one, seed, n_replications, _):
        if one.name not in truths:
            truths[one.name] = influence.find_truths(one, seed)
        return truths[one.name], influence.run(one, seed, n_replications, influence.judge_contest)

    # The seeds, so the samples, of `run` and `contests`.
    works = dict(enumerate(TUNED + GROUPED + HELD_OUT)) | {900 + n: one for n, one in enumerate(VARIANTS)}
    contests = {500 + number: contest for number, contest in enumerate(CONTESTS + MORE_CONTESTS)}
    device = f"{influence.ENGINE} engine"
    _collect(asked, "influence", works, run_setting, list, device)
    _collect(asked, "influence contests", contests, run_contest, list, device)


def _truths(asked):
    """What the other studies found in the same file: a million samples need not be drawn again."""
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    both = [results.get(kind, {}) for kind in ("settings", "contests")]
    return {name: one["truth"] for of_kind in both for name, one in of_kind.items()}


def _collect(asked, kind, works, work, truth_of, device):
    """Do what is not there yet, the small problems first, and keep what was found after each."""
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {"settings": {}, "contests": {}, "runs": []}
    results.setdefault(kind, {})
    start = time.perf_counter()
    for number, one in sorted(works.items(), key=lambda item: getattr(item[1], "setting", item[1]).n_classes):
        skipped = one.name in results[kind] or (asked.only is not None and one.name not in asked.only)
        if skipped or time.perf_counter() - asked.start > 60 * asked.minutes:
            continue
        truth, found = work(one, SEED + number, asked.replications, asked.resamples)
        results[kind][one.name] = {
            "truth": truth_of(truth),
            "resamples": 0 if "influence" in kind else asked.resamples,
            "found": {name: [round(x, 10) for x in values] for name, values in found.items()},
            "asked": asdict(one),
        }
        asked.out.write_text(json.dumps(results))
    minutes = (time.perf_counter() - start) / 60
    results["runs"].append({"device": device, "cores": os.cpu_count(), "minutes": minutes, "of": kind})
    asked.out.write_text(json.dumps(results))


def _page(asked):
    from studies._page import page, write

    text = page(json.loads(asked.results.read_text()))
    print(text)
    write(asked.to, text)


def _plans(asked):
    from studies._plans import PILOTS, run_plans

    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for number, pilot in enumerate(PILOTS):
        if pilot.name in results or (asked.only is not None and pilot.name not in asked.only):
            continue
        difference, found = run_plans(pilot, SEED + 700 + number, asked.replications, asked.jobs)
        results[pilot.name] = {"difference": difference, "found": found, "asked": asdict(pilot)}
        asked.out.write_text(json.dumps(results))


def _plans_page(asked):
    from studies._page import write
    from studies._plans import BEGIN, END, page

    text = page(json.loads(asked.results.read_text()))
    print(text)
    write(asked.to, text, BEGIN, END)


def _looks(asked):
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from studies._looks import STREAMS, run_stream

    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for number, contest in enumerate(STREAMS):
        if contest.name in results or (asked.only is not None and contest.name not in asked.only):
            continue
        results[contest.name] = run_stream(contest, SEED + 800 + number, asked.replications)
        asked.out.write_text(json.dumps(results))


def _bands(asked):
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from statistics import fmean

    from studies._bands import run_bands
    from studies._coverage import find_truth
    from studies._settings import HELD_OUT, TUNED

    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for number, setting in enumerate(TUNED + HELD_OUT):
        if setting.name in results or (asked.only is not None and setting.name not in asked.only):
            continue
        truth = find_truth(setting, SEED + number)
        results[setting.name] = found = run_bands(setting, SEED + number, asked.replications, truth)
        asked.out.write_text(json.dumps(results))
        shares = ", ".join(f"{name} {fmean(values):.3f}" for name, values in found.items())
        print(f"{setting.name}: {len(next(iter(found.values())))} samples, {shares}", flush=True)


def _hard(asked):
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from studies._hard import ALL, find_truth, run

    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for number, one in enumerate(ALL):
        if one.name in results or (asked.only is not None and one.name not in asked.only):
            continue
        seed = SEED_HARD + number
        results[one.name] = {"truth": find_truth(one, seed), "found": run(one, seed, asked.replications)}
        asked.out.write_text(json.dumps(results))
        print(f"{(time.perf_counter() - asked.start) / 60:.1f} min: {one.name}", flush=True)


def _hard_page(asked):
    from studies._hard import BEGIN, END, page
    from studies._page import write

    text = page(json.loads(asked.results.read_text()))
    print(text)
    write(asked.to, text, BEGIN, END)


def _measures(asked):
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from studies._measures import SETTINGS, run_setting

    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for number, setting in enumerate(SETTINGS):
        if setting.name in results or (asked.only is not None and setting.name not in asked.only):
            continue
        results[setting.name] = found = run_setting(setting, SEED + 950 + number, asked.replications, asked.jobs)
        asked.out.write_text(json.dumps(results))
        for name, one in found.items():
            print(f"{setting.name}: {name} {one['truth']:.4f} covered {one['covers']:.3f}", flush=True)


def _measures_page(asked):
    from studies._measures import BEGIN, END, page
    from studies._page import write

    text = page(json.loads(asked.results.read_text()))
    print(text)
    write(asked.to, text, BEGIN, END)


def _looks_page(asked):
    from studies._looks import BEGIN, END, page
    from studies._page import write

    text = page(json.loads(asked.results.read_text()))
    print(text)
    write(asked.to, text, BEGIN, END)


def _decision_predictions(asked):
    from studies._decisions import write_predictions

    write_predictions(asked.file)


def _decisions(asked):
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from studies._decisions import POPULATIONS, run_coverage, run_held_out

    results = json.loads(asked.out.read_text()) if asked.out.exists() else {"held out": [], "coverage": {}}
    if asked.predictions is not None and not results["held out"]:
        results["held out"] = run_held_out(asked.predictions, asked.costs)
        asked.out.write_text(json.dumps(results))
    for number, population in enumerate(POPULATIONS):
        if population.name not in results["coverage"]:
            results["coverage"][population.name] = run_coverage(population, SEED + 950 + number, asked.replications)
            asked.out.write_text(json.dumps(results))


def _decisions_page(asked):
    from studies._decisions import BEGIN, END, page
    from studies._page import write

    text = page(json.loads(asked.results.read_text()))
    print(text)
    write(asked.to, text, BEGIN, END)


def _verdict_predictions(asked):
    from studies._verdicts import write_predictions

    write_predictions(asked.file)


def _verdicts(asked):
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from studies._verdicts import KINDS, run

    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}

    def keep(key, result):
        results[key] = result
        asked.out.write_text(json.dumps(results))
        print(f"{(time.perf_counter() - asked.start) / 60:.1f} min: {key}", flush=True)
        return time.perf_counter() - asked.start < 60 * asked.minutes

    kinds = asked.kinds or KINDS
    run(asked.predictions, kinds, asked.sizes, asked.replications, asked.jobs, set(results), keep)


def _verdicts_page(asked):
    from studies._page import write
    from studies._verdicts import BEGIN, END, page

    text = page(json.loads(asked.results.read_text()))
    print(text)
    write(asked.to, text, BEGIN, END)


def _populations(asked):
    from studies._populations import write

    write(asked.file)


if __name__ == "__main__":
    main()
