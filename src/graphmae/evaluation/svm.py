"""The published protocol for whole graphs: an RBF support vector machine, C chosen inside each of ten folds.

Squared distances are computed once for all folds (or once a fold, where rows are standardised on its training part);
every C of a fold shares its kernel matrix. Folds run in threads: the solver lets go of the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from ..runtime.environment import cpu_count
from ..runtime.errors import DataError

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
FOLDS, INNER_FOLDS = 10, 5


def svm_scores(
    x: np.ndarray,
    y: np.ndarray,
    seed: int,
    *,
    standardize: bool = False,
    precomputed: bool = False,
    strengths: Sequence[float] = STRENGTHS,
) -> dict[str, float]:
    """Mean accuracy in percent over ten stratified folds shuffled by `seed`, and its deviation over them.

    `x` [N, d] are rows for an RBF kernel, or `precomputed`, a kernel [N, N].

    Also `inner`, the mean accuracy of the chosen C on the inner folds.
    """
    found = svm_folds(x, y, seed, standardize=standardize, precomputed=precomputed, strengths=strengths)
    accuracy, inner = 100 * found.T
    return {"accuracy": float(accuracy.mean()), "over-folds": float(accuracy.std()), "inner": float(inner.mean())}


def svm_folds(
    x: np.ndarray,
    y: np.ndarray,
    seed: int,
    *,
    standardize: bool = False,
    precomputed: bool = False,
    strengths: Sequence[float] = STRENGTHS,
) -> np.ndarray:
    """[10, 2]: for each fold the accuracy on its test part, and that of the chosen C on its inner folds.

    The second sees nothing of the first, so within one fold it is what other settings may be chosen on.
    """
    check_folds(y)
    x = np.ascontiguousarray(x, dtype=np.float64)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(x, y))
    shared = None if standardize or precomputed else squared_distances(x)

    def judged(fold: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
        train = fold[0]
        if precomputed:
            return _fold(lambda a, b: (x[np.ix_(a, a)], x[np.ix_(b, a)]), y, *fold, strengths)
        rows, distances = x, shared
        if distances is None:
            scale = x[train].std(0)
            rows = (x - x[train].mean(0)) / np.where(scale > 0, scale, 1.0)
            distances = squared_distances(rows)
        return _fold(lambda a, b: _kernels(rows, distances, a, b), y, *fold, strengths)

    with ThreadPoolExecutor(max_workers=cpu_count()) as threads:
        return np.array(list(threads.map(judged, folds)))


def check_folds(y: np.ndarray) -> None:
    """Refuse labels that cannot be judged in ten folds."""
    counts = np.bincount(y)
    counts = counts[counts > 0]
    if len(counts) < 2:
        raise DataError("all graphs have the same class, so there is nothing to evaluate")
    if counts.min() < FOLDS:
        raise DataError(f"the smallest class has {counts.min()} of the graphs; ten folds need at least {FOLDS} of each")


def _fold(
    kernels: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    strengths: Sequence[float],
) -> tuple[float, float]:
    """(test accuracy with the C that did best on the inner folds, its accuracy there).

    `kernels` gives those of a training part with itself and of another part with it.
    """
    hits = np.zeros(len(strengths))
    for a, b in StratifiedKFold(INNER_FOLDS).split(train, y[train]):
        fit, held = train[a], train[b]
        kernel, across = kernels(fit, held)
        for k, strength in enumerate(strengths):
            model = SVC(C=strength, kernel="precomputed").fit(kernel, y[fit])
            hits[k] += (model.predict(across) == y[held]).mean() / INNER_FOLDS
    best = int(hits.argmax())  # the smallest C among equals, as a grid search takes the first
    kernel, across = kernels(train, test)
    model = SVC(C=strengths[best], kernel="precomputed").fit(kernel, y[train])
    return float((model.predict(across) == y[test]).mean()), float(hits[best])


def _kernels(
    x: np.ndarray, distances: np.ndarray, train: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """RBF kernels train × train and other × train, the width from the training rows as scikit-learn's gamma="scale"."""
    spread = x[train].var()
    gamma = 1.0 / (x.shape[1] * spread) if spread > 0 else 1.0
    return np.exp(-gamma * distances[np.ix_(train, train)]), np.exp(-gamma * distances[np.ix_(other, train)])


def squared_distances(x: np.ndarray) -> np.ndarray:
    """[N, N]; centred first, so that little is lost to cancellation."""
    x = x - x.mean(0)
    lengths = np.einsum("nd,nd->n", x, x)
    distances = lengths[:, None] + lengths[None] - 2 * (x @ x.T)
    np.maximum(distances, 0, out=distances)
    np.fill_diagonal(distances, 0)
    return distances
