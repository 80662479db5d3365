"""Ridge regression with a kernel: a molecule is compared with every molecule of the training part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

WIDTH = 0.5  # what half the mean squared distance of descriptors is multiplied with
LARGEST = 5.0  # deviations from the mean that a descriptor counts, so that one alone cannot make two molecules unlike
AT_ONCE = 1024  # molecules that are compared with all others together


@dataclass(frozen=True)
class Radial:
    """Similarity by descriptors: exp(−WIDTH · mean over the columns of (a − b)²), columns standardised.

    Attributes:
        middle, scale: [width] of the columns, over the training molecules.
        rows: [M, width] float32 the training molecules, standardised.

    >>> two = Radial.of(np.array([[0.0, 1.0], [2.0, 1.0]]))
    >>> [f"{value:.3f}" for value in two.similarities(np.array([[0.0, np.nan]]))[0]]
    ['1.000', '0.368']
    """

    middle: np.ndarray
    scale: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, descriptors: np.ndarray) -> Radial:
        """Of training molecules [M, width]; NaN where a descriptor is not known."""
        known = np.isfinite(descriptors)
        count = np.maximum(known.sum(axis=0), 1)
        filled = np.where(known, descriptors, 0.0).astype(np.float64)
        middle = filled.sum(axis=0) / count
        scale = np.sqrt((np.where(known, filled - middle, 0.0) ** 2).sum(axis=0) / count)
        scale = np.where(scale > 0, scale, 1.0)
        return cls(middle, scale, _standardised(descriptors, middle, scale))

    def similarities(self, descriptors: np.ndarray) -> np.ndarray:
        """[n, M] float32 of molecules [n, width] with those of the training part."""
        asked = _standardised(descriptors, self.middle, self.scale)
        squares = (asked**2).sum(axis=1)[:, None] + (self.rows**2).sum(axis=1)
        return np.exp((asked @ self.rows.T * 2 - squares) * np.float32(WIDTH / asked.shape[1]))

    def sums(self, descriptors: np.ndarray, dual: np.ndarray) -> np.ndarray:
        """[n, T]: similarities times `dual` [M, T], some rows at a time."""
        parts = [self.similarities(descriptors[first : first + AT_ONCE]) @ dual.astype(np.float32)
                 for first in range(0, len(descriptors), AT_ONCE)]  # fmt: skip
        return np.concatenate([np.zeros((0, dual.shape[1])), *parts])


def _standardised(descriptors: np.ndarray, middle: np.ndarray, scale: np.ndarray) -> np.ndarray:
    found = np.clip((descriptors - middle) / scale, -LARGEST, LARGEST)
    return np.nan_to_num(found, nan=0.0).astype(np.float32)  # what is not known is as in the mean molecule


def standardised_tensor(descriptors: Tensor, middle: Tensor, scale: Tensor) -> Tensor:
    """The same of tensors."""
    return ((descriptors - middle) / scale).clamp(-LARGEST, LARGEST).nan_to_num(nan=0.0).float()


def fit_ridge(gram: np.ndarray, y: np.ndarray, prior: np.ndarray, ridge: float) -> np.ndarray:
    """[M, T]: what similarities to the M molecules are multiplied with, for `y` [M, T] less the `prior` [T].

    Molecules of which a target is not known do not count for it.
    """
    from scipy.linalg import cho_factor, cho_solve

    dual = np.zeros(y.shape)
    patterns: dict[bytes, list[int]] = {}
    for target, column in enumerate(y.T):  # targets that were measured for the same molecules share a factorisation
        patterns.setdefault(np.isnan(column).tobytes(), []).append(target)
    for targets in patterns.values():
        known = np.flatnonzero(~np.isnan(y[:, targets[0]]))
        if len(known):
            part = gram[np.ix_(known, known)].astype(np.float64)
            part[np.diag_indices_from(part)] += ridge
            factor = cho_factor(part, lower=True, overwrite_a=True, check_finite=False)
            wanted = y[known[:, None], targets] - prior[targets]
            dual[known[:, None], targets] = cho_solve(factor, wanted, check_finite=False)
    return dual
