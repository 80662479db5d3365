"""The support vector machine of the graph protocol is scikit-learn's grid search, only faster."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from graphmae.evaluation import svm_scores
from graphmae.runtime.errors import DataError


def blobs(count: int = 120, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = np.arange(count) % classes
    return random.normal(size=(count, 6)) * [1, 1, 1, 5, 20, 0.1] + 1.2 * y[:, None], y


@pytest.mark.parametrize("seed", [0, 3])
def test_it_is_the_grid_search_of_the_protocol(seed: int) -> None:
    x, y = blobs()
    accuracy = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(x, y):
        search = GridSearchCV(SVC(), {"C": [1e-3, 1e-2, 1e-1, 1, 10]}, cv=5).fit(x[train], y[train])
        accuracy.append(100 * search.score(x[test], y[test]))
    found = svm_scores(x, y, seed)
    assert found["accuracy"] == pytest.approx(np.mean(accuracy))
    assert found["over-folds"] == pytest.approx(np.std(accuracy))


def test_standardising_looks_at_training_folds_only() -> None:
    x, y = blobs()
    accuracy = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=1).split(x, y):
        scaler = StandardScaler().fit(x[train])
        search = GridSearchCV(make_pipeline(SVC()), {"svc__C": [1e-3, 1e-2, 1e-1, 1, 10]}, cv=5)
        accuracy.append(
            100 * search.fit(scaler.transform(x[train]), y[train]).score(scaler.transform(x[test]), y[test])
        )
    found = svm_scores(x, y, 1, standardize=True)
    assert found["accuracy"] == pytest.approx(np.mean(accuracy))
    assert found["accuracy"] > svm_scores(x, y, 1)["accuracy"]


def test_the_seed_moves_the_folds_and_nothing_else() -> None:
    x, y = blobs(seed=1)
    assert svm_scores(x, y, 0) == svm_scores(x, y, 0)
    assert svm_scores(x, y, 0) != svm_scores(x, y, 1)


def test_sets_that_cannot_be_judged_are_refused() -> None:
    x, _ = blobs()
    with pytest.raises(DataError, match="same class"):
        svm_scores(x, np.zeros(len(x), dtype=int), 0)
    few = np.zeros(len(x), dtype=int)
    few[:4] = 1
    with pytest.raises(DataError, match="smallest class has 4"):
        svm_scores(x, few, 0)
