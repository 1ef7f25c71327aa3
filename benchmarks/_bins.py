"""How far bins move D, by kind of scores and kind of bins: the table of docs/scale.md.

python -m benchmarks._bins --samples 1000000
"""

import argparse

import numpy as np

import polyroc

K = 10
KINDS = ("calibrated", "over-confident", "rounded to 3 digits", "tiny probabilities")


def predictions(kind, n, seed=0):
    """Softmax of shifted normal scores, sharpened, rounded, or with nine classes that are hardly ever likely."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, K, n)
    z = rng.normal(size=(n, K)) + 2 * np.eye(K)[y_true]
    if kind == "over-confident":
        z *= 8
    elif kind == "tiny probabilities":
        z = 3 * z - 12 * (np.arange(K) > 0)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return y_true, np.round(p, 3) if kind == "rounded to 3 digits" else p


def by_bits(y_true, p, bits):
    accumulator = polyroc.RocAccumulator(range(K), mantissa_bits=bits)
    accumulator.update(y_true, p)
    return accumulator.compute()


def linear(p, n_bins):
    """What equal bins make of scores: their lower end."""
    return np.minimum(np.floor(p * n_bins), n_bins - 1) / n_bins


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    n = parser.parse_args().samples
    print(
        f"| scores, n = {n:,}, k = {K} | D | 6 bits | 8 bits | 8 bits, as told | M's bound | 200 equal bins | 10,000 |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        y_true, p = predictions(kind, n)
        exact = polyroc.auc_score(y_true, p)
        six, eight = (by_bits(y_true, p, bits) for bits in (6, 8))
        others = [polyroc.auc_score(y_true, linear(p, n_bins)) - exact for n_bins in (200, 10_000)]
        error = eight.binning_error
        row = [f"{six.auc - exact:.0e}", f"{eight.auc - exact:.0e}", f"{error.auc:.0e}", f"{error.hand_till:.0e}"]
        print(f"| {kind} | {exact:.4f} | {' | '.join(row)} | {others[0]:.0e} | {others[1]:.0e} |", flush=True)


if __name__ == "__main__":
    main()
