"""Folds inside the training part: every molecule is predicted once by models that have not seen its scaffold."""

from __future__ import annotations

import numpy as np

from ..runtime.errors import DataError


def grouped_folds(groups: np.ndarray, count: int, seed: int, y: np.ndarray | None = None) -> np.ndarray:
    """[n] the fold of every molecule, 0 to count − 1; molecules of one group share a fold.

    Groups go, the largest first and those of one size in random order, to the fold that has the fewest molecules. With
    `y` [n, T] (NaN: unknown) of classes, ties are broken so that every fold gets some of the rarer class.

    >>> grouped_folds(np.array([0, 0, 1, 2, 2, 2]), 3, seed=0).tolist()
    [1, 1, 2, 0, 0, 0]
    """
    _, member, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < count:
        raise DataError(
            f"the training molecules have only {len(sizes)} different scaffolds, too few for {count} folds; "
            "take --split random"
        )
    order = np.lexsort((np.random.default_rng(seed).permutation(len(sizes)), -sizes))
    ones = np.zeros(len(sizes)) if y is None else np.bincount(member, np.nansum(y == 1, axis=1), len(sizes))
    loads, positives, fold = np.zeros(count), np.zeros(count), np.empty(len(sizes), dtype=np.int64)
    share = max(ones.sum() / max(len(groups), 1), 1e-9)
    for group in order:
        # What is short of molecules counts as much as what is short of positives of the same share.
        load = loads + (positives / share if ones[group] else 0.0)
        fold[group] = chosen = int(np.argmin(load))
        loads[chosen] += sizes[group]
        positives[chosen] += ones[group]
    return fold[member]


def random_folds(rows: int, count: int, seed: int) -> np.ndarray:
    """[n] the fold of every molecule, by chance and of equal sizes."""
    fold = np.arange(rows) % count
    np.random.default_rng(seed).shuffle(fold)
    return fold
