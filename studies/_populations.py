"""Out-of-sample predictions of real classifiers: finite populations from which samples are drawn.

Each row of a data set is predicted by a classifier that was fitted on the half of the data without it; the halves are
drawn again until there are 10,000 predictions. All classifiers of a data set have the same rows in the same order.
`python -m studies populations FILE` writes them for a machine that has a card but not scikit-learn.
"""

import os
from functools import cache

import numpy as np

N_ROWS = 10_000
FILE_VARIABLE = "POLYROC_POPULATIONS"


@cache
def populations():
    """Codes and scores by name; from the file that the environment names, else made here, for half a minute."""
    if named := os.environ.get(FILE_VARIABLE):
        with np.load(named) as held:
            names = [key.removesuffix("/codes") for key in held.files if key.endswith("/codes")]
            return {name: (held[f"{name}/codes"], held[f"{name}/scores"]) for name in names}
    return make()


def write(path):
    """All populations in one file."""
    made = populations()
    parts = {f"{name}/codes": codes for name, (codes, _) in made.items()}
    np.savez_compressed(path, **parts, **{f"{name}/scores": scores for name, (_, scores) in made.items()})


def make():
    from experiments._data_sets import as_data_folder, find_data_sets

    found = find_data_sets(["pen", "optical"], as_data_folder(None))
    if found.skipped:
        msg = f"The study needs pen and optical: {found.skipped}. Set POLYROC_DATA to the folder that has them."
        raise FileNotFoundError(msg)
    made = {}
    for data_set in found.data_sets:
        codes = np.unique(data_set.labels, return_inverse=True)[1]
        for name, maker in _classifiers().items():
            made[f"{data_set.name}, {name}"] = _predicted(maker, data_set.features, codes)
    return made | _simulated()


def _classifiers():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    return {
        "naive Bayes": lambda seed: GaussianNB(),
        "forest": lambda seed: RandomForestClassifier(100, random_state=seed),
        "tree": lambda seed: DecisionTreeClassifier(min_samples_leaf=5, random_state=seed),
        "neighbours": lambda seed: KNeighborsClassifier(10),
        "logistic": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200)),
    }


def _predicted(maker, features, codes):
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    rounds = -(-N_ROWS // len(codes))
    scores = [
        cross_val_predict(
            maker(seed), features, codes, cv=StratifiedKFold(2, shuffle=True, random_state=seed), method="predict_proba"
        )
        for seed in range(rounds)
    ]
    return np.tile(codes, rounds)[:N_ROWS], np.concatenate(scores)[:N_ROWS]


def _simulated():
    """Classifiers that were fitted on 600 simulated samples, and predict new ones."""
    from sklearn.datasets import make_classification

    made = {}
    for name, n_classes in (("forest", 4), ("naive Bayes", 6)):
        shape = {"n_samples": N_ROWS + 600, "n_features": 20, "n_informative": 8, "n_classes": n_classes}
        features, codes = make_classification(**shape, random_state=0)
        fitted = _classifiers()[name](0).fit(features[:600], codes[:600])
        made[f"simulated, {name}"] = codes[600:], fitted.predict_proba(features[600:])
    return made
