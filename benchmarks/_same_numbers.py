"""The numbers of two versions of polyroc: python -m benchmarks._same_numbers BEFORE [AFTER]

Checks out both commits, computes D, M, the points of the curve and of the mean curve and DeLong's interval of M in each
with both engines, and prints the largest difference of each quantity. The problems are the embedded example, those of
the solver's studies and three larger ones. Only public names are used, so modules may have moved in between. Ends with
1 if a difference is larger than allowed.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from benchmarks import _table
from benchmarks._measure import ROOT, python, say
from benchmarks._versions import check_out, environment_of, git

QUANTITIES = ("D", "M", "curve", "mean curve", "DeLong interval of M")
ENGINES = ("numpy", "numba")
SEEDS = (0, 1, 2)

# Newton's steps leave rounding. A fit that converges only linearly ends where the last bits of its start lead it: where
# a pair's effect falls to a tenth with each step, towards 0 (docs/method.md, the cut), or the fit did not converge.
ALLOWED, ALLOWED_LINEAR = 1e-12, 1e-9
AT_BORDER = 1e-3


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks._same_numbers", description=__doc__)
    parser.add_argument("before", help="commit")
    parser.add_argument("after", nargs="?", default="HEAD", help="commit (default: HEAD)")
    parser.add_argument("--problems", type=int, default=1000, help="problems of the studies (default: 1000)")
    parser.add_argument("--dump", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.dump:
        np.savez(given.dump, **numbers(given.problems))
        return
    with tempfile.TemporaryDirectory(prefix="polyroc-versions-") as folder:
        before, after = (computed(commit, given.problems, Path(folder)) for commit in (given.before, given.after))
    sys.exit(int(report(before, after)))


def computed(commit, n_problems, folder):
    """The numbers of a commit, by a process of its own."""
    say(commit)
    tree = check_out(commit, folder)
    try:
        file = folder / "numbers.npz"
        asked = ("-m", "benchmarks._same_numbers", commit, "--problems", str(n_problems), "--dump", str(file))
        python(*asked, environment=environment_of(tree))
        with np.load(file) as found:
            return dict(found)
    finally:
        git("worktree", "remove", "--force", str(tree))


def numbers(n_problems):
    """All quantities of all problems, by "problem/engine/quantity"."""
    import polyroc

    found = {}
    for name, y_true, y_score, options in problems(n_problems):
        for engine in ENGINES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                evaluation = polyroc.evaluate(y_true, y_score, engine=engine, n_jobs=1, **options)
                values = (evaluation.auc, evaluation.hand_till, points(evaluation.curve))
                values = (*values, points(evaluation.mean_curve), delong(evaluation))
            found.update({f"{name}/{engine}/{what}": value for what, value in zip(QUANTITIES, values, strict=True)})
            found[f"{name}/{engine}/linear"] = is_linear(evaluation)
    return found


def problems(n_problems):
    """Name, labels, scores and options of each."""
    # The generator is that of the tests, and the same for both versions.
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    from problems import gaussian_problem, random_problem

    from polyroc import load_example

    example = load_example()
    for model, scores in example.scores.items():
        yield f"example {model}", example.y_true, scores, {"labels": example.labels}
    for seed in range(n_problems):
        problem = random_problem(seed)
        yield f"study {seed}", problem.y_true, problem.y_score, problem.arguments
    for seed in SEEDS:
        problem = gaussian_problem(seed, 5000, 20)
        weight = np.random.default_rng(seed).exponential(size=5000)
        yield f"seed {seed}", problem.y_true, problem.y_score, problem.arguments
        yield f"seed {seed} weighted", problem.y_true, problem.y_score, {**problem.arguments, "sample_weight": weight}


def points(curve):
    return np.array([curve.fpr, curve.tpr])


def delong(evaluation):
    """Its ends; NaN where it refuses to say."""
    try:
        interval = evaluation.confidence_interval(statistic="hand_till", method="delong")
    except ValueError:
        return np.full(2, np.nan)
    return np.array([interval.low, interval.high])


def is_linear(evaluation):
    fit = evaluation.factorization
    return fit is not None and (not fit.converged or bool(np.min(fit.pair_effects, initial=1.0) < AT_BORDER))


def report(before, after):
    """Print the largest differences; True where one is larger than allowed."""
    worst, refused = {}, []
    for key in before:
        problem, engine, what = key.split("/")
        if what == "linear":
            continue
        linear = bool(before[f"{problem}/{engine}/linear"] or after[f"{problem}/{engine}/linear"])
        apart = difference(before[key], after[key])
        place = (what, engine, linear)
        worst.setdefault(place, []).append((apart, problem))
        if not apart <= (ALLOWED_LINEAR if linear else ALLOWED):
            refused.append([problem, engine, what, "linear" if linear else "", f"{apart:.2g}"])
    cells = [["quantity", "engine", "fits", "problems", "largest difference", "of"]]
    for what, engine, linear in sorted(worst, key=lambda place: (QUANTITIES.index(place[0]), *place[1:])):
        found = worst[what, engine, linear]
        apart, problem = max(found)
        cells.append(
            [what, engine, "linear" if linear else "", str(len(found)), f"{apart:.2g}", problem if apart else ""]
        )
    print(_table.plain(cells))
    if refused:
        refused.sort(key=lambda cell: -float(cell[-1]))
        print(f"\n{len(refused)} differences are larger than {ALLOWED:g}, or {ALLOWED_LINEAR:g} in fits that converge")
        print("linearly. The largest:\n")
        print(_table.plain([["problem", "engine", "quantity", "fits", "difference"], *refused[:20]]))
    return bool(refused)


def difference(x, y):
    """The largest, where both have numbers; infinite where only one has."""
    if x.shape != y.shape or (np.isnan(x) != np.isnan(y)).any():
        return np.inf
    return float(np.max(np.abs(x - y), initial=0.0, where=~np.isnan(x)))


if __name__ == "__main__":
    main()
