"""The published protocol for whole graphs: an RBF support vector machine, C chosen inside each of ten folds.

An embedding can be read in several ways (which layers, which readout, scaled or not). Where a row of a table may
choose, it does so inside each fold too, on the inner folds of its training part. Squared distances add up over
columns, so those of every reading are sums of a few blocks. Folds run in threads: the solver releases the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from threading import Lock
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from ..runtime.environment import cpu_count
from ..runtime.errors import DataError
from ..runtime.turns import unattended
from .smo import accuracies

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
FOLDS, INNER_FOLDS = 10, 5
MANY = 2_000  # with more graphs than this, readings are compared on one inner fold; C is always chosen on all five
READOUTS = ("mean", "max", "sum", "mean+max+sum")
_one_at_a_time = Lock()  # limits of threads are those of the whole process


@dataclass(frozen=True)
class Reading:
    """One way to read an embedding: `layers` "last" or "all", `readout` such as "mean+max", columns scaled or not."""

    layers: str = "last"
    readout: str = "mean"
    standardize: bool = False

    def __str__(self) -> str:
        return f"{self.layers} · {self.readout} · {'standardized' if self.standardize else 'unscaled'}"


@dataclass(frozen=True)
class Pooled:
    """Embeddings of graphs, apart by layer and readout: {"mean": [layers, graphs, channels], …}."""

    blocks: Mapping[str, np.ndarray]

    @property
    def num_layers(self) -> int:
        return len(next(iter(self.blocks.values())))

    def parts(self, reading: Reading) -> list[tuple[str, int]]:
        """The blocks a reading is made of."""
        layers = range(self.num_layers) if reading.layers == "all" else [self.num_layers - 1]
        return [(way, layer) for way in reading.readout.split("+") for layer in layers]

    def readings(self) -> list[Reading]:
        """Everything a row may choose from."""
        layers = ("last", "all") if self.num_layers > 1 else ("last",)
        readouts = [name for name in READOUTS if set(name.split("+")) <= set(self.blocks)]
        return [Reading(*values) for values in product(layers, readouts, (False, True))]


@dataclass(frozen=True)
class FoldScores:
    """What one fold found: for every reading its inner accuracy, and the test accuracy of those that were asked for."""

    inner: dict[Reading, float]
    test: dict[Reading, float]
    chosen: Reading


def svm_scores(x: np.ndarray, y: np.ndarray, seed: int, *, standardize: bool = False) -> dict[str, float]:
    """Mean accuracy in percent over ten stratified folds shuffled by `seed`, and its deviation over them.

    `x` [N, d] are rows for an RBF kernel. Also `inner`, the mean accuracy of the chosen C on the inner folds.
    """
    reading = Reading(standardize=standardize)
    pooled = Pooled({"mean": np.asarray(x)[None]})
    return summary(svm_folds(pooled, y, seed, [reading]), reading)


def kernel_folds(kernels: Mapping[Reading, np.ndarray], y: np.ndarray, seed: int, held: Reading) -> list[FoldScores]:
    """The same for kernels [N, N] that are given, one of which each fold chooses; `held` is one of them."""
    labels, folds = _folds(y, seed)

    def evaluated(fold: _Fold) -> FoldScores:
        def fitted(name: Reading, quick: bool) -> tuple[float, float]:
            return _fitted(kernels[name], lambda rows: -1.0, labels, fold, quick)

        return _chosen(fitted, list(kernels), held, len(labels) > MANY)

    return _in_threads(evaluated, folds)


def summary(folds: Sequence[FoldScores], reading: Reading | None = None) -> dict[str, float]:
    """Percentages over the folds: of one reading, or (None) of what each fold chose."""
    taken = [reading or fold.chosen for fold in folds]
    test = 100 * np.array([fold.test[which] for fold, which in zip(folds, taken, strict=True)])
    inner = 100 * np.array([fold.inner[which] for fold, which in zip(folds, taken, strict=True)])
    return {"folds": float(test.mean()), "over-folds": float(test.std(ddof=1)), "inner": float(inner.mean())}


def svm_folds(
    pooled: Pooled, y: np.ndarray, seed: int, readings: Sequence[Reading], held: Reading | None = None
) -> list[FoldScores]:
    """For each fold, the inner accuracy of every reading, the one that is best there, and that one's test accuracy.

    The test accuracy of the reading `held` is found as well. Nothing of a fold's test part takes part in its choice.
    """
    labels, folds = _folds(y, seed)
    wanted = list(dict.fromkeys([*readings, *([] if held is None else [held])]))
    unscaled = _Blocks(pooled, [reading for reading in wanted if not reading.standardize])

    def evaluated(fold: _Fold) -> FoldScores:
        scaled = _Blocks(pooled, [reading for reading in wanted if reading.standardize], fold.train)

        def fitted(reading: Reading, quick: bool) -> tuple[float, float]:
            blocks = scaled if reading.standardize else unscaled
            return _fitted(blocks.distances(reading), partial(blocks.width, reading), labels, fold, quick)

        return _chosen(fitted, readings, held, len(readings) > 1 and len(labels) > MANY)

    return _in_threads(evaluated, folds)


def _chosen(
    fitted: Callable[[Reading, bool], tuple[float, float]],
    readings: Sequence[Reading],
    held: Reading | None,
    one_fold: bool,
) -> FoldScores:
    """The reading that is best on the inner folds, or first on one of them where that must do."""
    looks = {reading: fitted(reading, one_fold) for reading in readings}
    chosen = max(readings, key=lambda reading: looks[reading][0])
    kept = dict.fromkeys([chosen, *([] if held is None else [held])])
    full = {
        reading: looks[reading] if reading in looks and not one_fold else fitted(reading, False) for reading in kept
    }
    inner = {reading: scores[0] for reading, scores in {**looks, **full}.items()}
    return FoldScores(inner, {reading: scores[1] for reading, scores in full.items()}, chosen)


def check_folds(y: np.ndarray) -> None:
    """Refuse labels that ten folds cannot be made of."""
    counts = np.bincount(y)
    counts = counts[counts > 0]
    if len(counts) < 2:
        raise DataError("all graphs have the same class, so there is nothing to evaluate")
    if counts.min() < FOLDS:
        raise DataError(f"the smallest class has {counts.min()} of the graphs; ten folds need at least {FOLDS} of each")


class _Fold(NamedTuple):
    """A training and a test part, and how the training part is divided again: (to fit on, held out)."""

    train: np.ndarray
    test: np.ndarray
    inner: list[tuple[np.ndarray, np.ndarray]]


def _folds(y: np.ndarray, seed: int) -> tuple[np.ndarray, list[_Fold]]:
    """Classes counted from 0, and the ten folds."""
    check_folds(y)
    labels = np.unique(y, return_inverse=True)[1]
    outer = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return labels, [
        _Fold(train, test, [(train[a], train[b]) for a, b in StratifiedKFold(INNER_FOLDS).split(train, labels[train])])
        for train, test in outer.split(labels, labels)
    ]


def _in_threads(evaluated: Callable[[_Fold], FoldScores], folds: list[_Fold]) -> list[FoldScores]:
    workers = min(cpu_count(), len(folds))
    with (
        unattended(),
        _one_at_a_time,
        threadpool_limits(max(1, cpu_count() // workers)),
        ThreadPoolExecutor(workers) as threads,
    ):
        return list(threads.map(evaluated, folds))


def _fitted(
    matrix: np.ndarray,
    width: Callable[[np.ndarray], float],
    labels: np.ndarray,
    fold: _Fold,
    quick: bool = False,
) -> tuple[float, float]:
    """(accuracy of the best C on the inner folds, test accuracy with that C). `quick`: on one inner fold, no test."""
    strengths, classes = np.array(STRENGTHS), int(labels.max()) + 1
    inner = [
        accuracies(matrix, width(fit), labels, fit, held, strengths, classes)
        for fit, held in (fold.inner[:1] if quick else fold.inner)
    ]
    hits = np.mean(inner, axis=0)
    best = int(hits.argmax())  # the smallest C among equals, as a grid search takes the first
    if quick:
        return float(hits[best]), float("nan")
    train, test, strength = fold.train, fold.test, strengths[best : best + 1]
    return float(hits[best]), float(accuracies(matrix, width(train), labels, train, test, strength, classes)[0])


class _Blocks:
    """The columns some readings are made of, their columns standardised on the rows `train` where those are given."""

    def __init__(self, pooled: Pooled, readings: Sequence[Reading], train: np.ndarray | None = None) -> None:
        self.pooled = pooled
        self.square: dict[tuple[str, int], np.ndarray] = {}
        self.moments: dict[tuple[str, int], tuple[int, np.ndarray, np.ndarray]] = {}
        for way, layer in dict.fromkeys(part for reading in readings for part in pooled.parts(reading)):
            x = np.asarray(pooled.blocks[way][layer], dtype=np.float64)
            if train is not None:
                scale = x[train].std(0)
                x = (x - x[train].mean(0)) / np.where(scale > 0, scale, 1.0)
            # Large sets: half the memory, and kernels that agree to six digits.
            kept = np.float64 if len(x) <= MANY else np.float32
            self.square[way, layer] = squared_distances(x.astype(kept))
            self.moments[way, layer] = x.shape[1], x.sum(1), np.square(x).sum(1)

    def distances(self, reading: Reading) -> np.ndarray:
        """[N, N] squared distances: sums over the blocks."""
        first, *others = self.pooled.parts(reading)
        total = self.square[first]
        for part in others:
            total = total + self.square[part]
        return total

    def width(self, reading: Reading, rows: np.ndarray) -> float:
        """scikit-learn's gamma="scale", over the columns of a reading and some rows."""
        moments = [self.moments[part] for part in self.pooled.parts(reading)]
        columns = sum(count for count, _, _ in moments)
        mean = sum(float(total[rows].sum()) for _, total, _ in moments) / (columns * len(rows))
        square = sum(float(squares[rows].sum()) for _, _, squares in moments) / (columns * len(rows))
        spread = square - mean**2
        return 1.0 / (columns * spread) if spread > 0 else 1.0


def squared_distances(x: np.ndarray) -> np.ndarray:
    """[N, N]; centred first, so that little is lost to cancellation."""
    x = x - x.mean(0)
    lengths = np.einsum("nd,nd->n", x, x)
    distances = lengths[:, None] + lengths[None] - 2 * (x @ x.T)
    np.maximum(distances, 0, out=distances)
    np.fill_diagonal(distances, 0)
    return distances
