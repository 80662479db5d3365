"""The support vector machine of the graph protocol is scikit-learn's grid search, only faster."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from graphmae.evaluation import svm as module
from graphmae.evaluation import svm_scores
from graphmae.evaluation.smo import accuracies
from graphmae.evaluation.svm import Pooled, Reading, kernel_folds, summary, svm_folds
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
    # Both solvers stop at a tolerance: of 120 rows one at the boundary may fall either way.
    assert found["folds"] == pytest.approx(np.mean(accuracy), abs=100 / 120 + 1e-6)
    assert found["over-folds"] == pytest.approx(np.std(accuracy, ddof=1), abs=1.5)


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
    assert found["folds"] == pytest.approx(np.mean(accuracy), abs=100 / 120 + 1e-6)
    assert found["folds"] > svm_scores(x, y, 1)["folds"]


def test_the_seed_moves_the_folds_and_nothing_else() -> None:
    x, y = blobs(seed=1)
    assert svm_scores(x, y, 0) == svm_scores(x, y, 0)
    assert svm_scores(x, y, 0) != svm_scores(x, y, 1)


def test_sets_that_cannot_be_evaluated_are_refused() -> None:
    x, _ = blobs()
    with pytest.raises(DataError, match="same class"):
        svm_scores(x, np.zeros(len(x), dtype=int), 0)
    few = np.zeros(len(x), dtype=int)
    few[:4] = 1
    with pytest.raises(DataError, match="smallest class has 4"):
        svm_scores(x, few, 0)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_solver_classifies_as_libsvm_does(classes: int) -> None:
    x, y = blobs(150, classes, seed=5)
    distances = ((x[:, None] - x[None]) ** 2).sum(2)
    fit, held, strengths = np.arange(100), np.arange(100, 150), np.array([1e-3, 1e-2, 1e-1, 1.0, 10.0])
    for gamma in (0.001, 0.01, 1.0):
        kernel = np.exp(-gamma * distances)
        expected = [
            SVC(C=c, kernel="precomputed").fit(kernel[:100, :100], y[:100]).score(kernel[100:, :100], y[100:])
            for c in strengths
        ]
        assert accuracies(distances, gamma, y, fit, held, strengths, classes) == pytest.approx(expected)
        assert accuracies(kernel, -1.0, y, fit, held, strengths, classes) == pytest.approx(expected)


def layered(seed: int = 0) -> tuple[Pooled, np.ndarray]:
    """Two layers of which the first alone, and only under "max", knows the classes."""
    random = np.random.default_rng(seed)
    y = np.arange(120) % 2
    blocks = {way: random.normal(size=(2, 120, 4)) for way in ("mean", "max", "sum")}
    blocks["max"][0] += 2.0 * y[:, None]
    return Pooled(blocks), y


def test_every_fold_chooses_the_reading_that_tells_most() -> None:
    pooled, y = layered()
    held = Reading("last", "sum", False)
    folds = svm_folds(pooled, y, 0, pooled.readings(), held)
    assert len(pooled.readings()) == 16
    assert all(fold.chosen.layers == "all" and "max" in fold.chosen.readout for fold in folds)
    assert summary(folds)["folds"] > 85 > 65 > summary(folds, held)["folds"]


def test_distances_of_a_reading_are_those_of_its_columns() -> None:
    """Blocks that are summed, the width of the kernel included, must be the concatenated columns."""
    pooled, y = layered(3)
    for reading in pooled.readings():
        columns = np.concatenate([pooled.blocks[way][layer] for way, layer in pooled.parts(reading)], axis=1)
        alone = svm_scores(columns, y, 4, standardize=reading.standardize)
        assert summary(svm_folds(pooled, y, 4, [reading]), reading) == pytest.approx(alone)


@pytest.mark.parametrize("many", [10**6, 10])
def test_a_folds_test_labels_do_not_take_part_in_its_choice(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MANY", many)  # one inner fold decides, or all five
    pooled, y = layered(1)
    test = next(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))[1]
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    def watched(matrix, gamma, labels, fit, held, strengths, classes):  # type: ignore[no-untyped-def]
        seen.append((fit, held))
        return accuracies(matrix, gamma, labels, fit, held, strengths, classes)

    monkeypatch.setattr(module, "accuracies", watched)
    monkeypatch.setattr(module, "cpu_count", lambda: 1)
    module.svm_folds(pooled, y, 0, pooled.readings()[:4])
    scored = [i for i, (_, held) in enumerate(seen) if set(held) == set(test)]
    before = seen[: scored[-1] + 1]  # everything that can have taken part in the first fold's choice
    assert len(scored) == (4 if many > 10 else 1)  # with few graphs each reading's test accuracy is found at once
    inner = [(fit, held) for i, (fit, held) in enumerate(before) if i not in scored]
    assert len(inner) >= 4
    assert not any(set(test) & (set(fit) | set(held)) for fit, held in inner)
    assert not any(set(test) & set(before[i][0]) for i in scored)


def test_kernels_choose_their_steps() -> None:
    pooled, y = layered()
    good = pooled.blocks["max"][0] @ pooled.blocks["max"][0].T
    noise = np.eye(len(y))
    names = Reading("-", "0 steps"), Reading("-", "1 steps")
    folds = kernel_folds(dict(zip(names, (noise, good), strict=True)), y, 0, held=names[0])
    assert all(fold.chosen == names[1] for fold in folds)
    assert summary(folds)["folds"] > summary(folds, names[0])["folds"]
