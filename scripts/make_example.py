"""Make the embedded example, src/polyroc/_data/digits.npz.

Three classifiers learn from one half of scikit-learn's digits; the file holds
the probabilities that they give for the other half. Run from anywhere:

    python scripts/make_example.py [--out FILE]
"""

import argparse
import io
import zipfile
from pathlib import Path

import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

TARGET = Path(__file__).resolve().parents[1] / "src" / "polyroc" / "_data" / "digits.npz"


def classifiers():
    """Three models held back so that their curves differ."""
    return {
        # Newton's method ends close enough to the optimum for six decimals to be the same everywhere.
        "logistic": make_pipeline(
            PCA(4, svd_solver="full"), StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-10)
        ),
        "knn": make_pipeline(PCA(2, svd_solver="full"), KNeighborsClassifier(15)),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    }


def make_arrays():
    x, y = load_digits(return_X_y=True)
    x_fit, x_held, y_fit, y_held = train_test_split(x, y, test_size=0.5, stratify=y, random_state=0)
    arrays = {"y_true": y_held.astype(np.uint8), "sklearn_version": np.array(sklearn.__version__)}
    for name, model in classifiers().items():
        probability = model.fit(x_fit, y_fit).predict_proba(x_held)
        arrays[name] = probability.round(6).astype("<f4")
    return arrays


def write_npz(path, arrays):
    """Like `np.savez_compressed`, but the same arrays always give the same bytes.

    NumPy stamps each member with the time of writing; here it is the epoch of zip files.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = 0o644 << 16
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=False)
            archive.writestr(member, buffer.getvalue(), compresslevel=9)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TARGET)
    path = parser.parse_args().out
    path.parent.mkdir(parents=True, exist_ok=True)
    write_npz(path, make_arrays())
    print(f"{path.stat().st_size / 1000:.0f} kB written to {path}")


if __name__ == "__main__":
    main()
