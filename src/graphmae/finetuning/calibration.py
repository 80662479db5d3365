"""Probabilities that mean what they say, and intervals that hold what they promise: both from predictions for
molecules the models had not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST = 12.0  # a logit beyond it is certainty nobody has
# So many members more, as it were, have the typical spread. On folds inside the training parts of BACE and the ChEMBL
# series as many molecules are then held where members agree as where they do not (without it 84 and 96 %).
TYPICAL = 10.0


def logit(share: np.ndarray) -> np.ndarray:
    """log(p / (1 − p)), within ±12."""
    p = np.clip(share, 1e-6, 1 - 1e-6)
    return np.clip(np.log(p / (1 - p)), -MOST, MOST)


def logistic(value: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(value, -50, 50)))


@dataclass(frozen=True)
class Platt:
    """p = logistic(slope · logit + shift), one pair for every target (Platt 1999).

    Attributes:
        slope, shift: [T].
    """

    slope: np.ndarray
    shift: np.ndarray

    @classmethod
    def fit(cls, logits: np.ndarray, y: np.ndarray, strength: float = 1.0) -> Platt:
        """To `y` [n, T] (NaN: unknown); `strength` holds slope and shift near those that change nothing.

        >>> found = Platt.fit(np.full((1000, 1), 4.0), np.repeat([[1.0], [0.0]], 500, axis=0))
        >>> round(float(found(np.array([[4.0]]))[0, 0]), 1)
        0.5
        """
        slope, shift = np.ones(y.shape[1]), np.zeros(y.shape[1])
        for target in range(y.shape[1]):
            known = ~np.isnan(y[:, target])
            x, truth = logits[known, target], y[known, target]
            pair = _newton(np.stack([x, np.ones_like(x)]), truth, strength)
            slope[target], shift[target] = max(pair[0], 0.05), pair[1]  # never the other way round
        return cls(slope, shift)

    def logits(self, logits: np.ndarray) -> np.ndarray:
        return np.clip(self.slope * logits + self.shift, -MOST, MOST)

    def __call__(self, logits: np.ndarray) -> np.ndarray:
        """Probabilities [n, T]."""
        return logistic(self.logits(logits))


def _newton(design: np.ndarray, truth: np.ndarray, strength: float) -> np.ndarray:
    """[2] what minimises the log loss of logistic(pair · design) + strength/2 · |pair − (1, 0)|²."""
    start = np.array([1.0, 0.0])

    def loss(pair: np.ndarray) -> float:
        z = pair @ design
        return float((np.logaddexp(0.0, z) - truth * z).sum() + strength / 2 * ((pair - start) ** 2).sum())

    pair, now = start, loss(start)
    for _ in range(50):
        p = logistic(pair @ design)
        gradient = design @ (p - truth) + strength * (pair - start)
        curvature = (design * (p * (1 - p))) @ design.T + strength * np.eye(2)
        step, length = np.linalg.solve(curvature, gradient), 1.0
        while loss(pair - length * step) > now and length > 1e-6:  # a whole step can overshoot where p is near 0 or 1
            length /= 2
        pair = pair - length * step
        before, now = now, loss(pair)
        if before - now < 1e-9:
            break
    return pair


def expected_calibration_error(share: np.ndarray, y: np.ndarray, bins: int = 10) -> float:
    """In percent: how far the probabilities of a bin are from the share of class 1 in it, on average over molecules.

    `share` and `y` [n, T], NaN in `y` where unknown; bins of equal width, targets together.

    >>> expected_calibration_error(np.array([[0.9], [0.9]]), np.array([[1.0], [0.0]]))
    40.0
    """
    known = ~np.isnan(y)
    p, truth = share[known], y[known]
    if not len(p):
        return float("nan")
    place = np.minimum((p * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    gap = np.abs(np.bincount(place, p, bins) - np.bincount(place, truth, bins))
    return float(round(100 * gap[counts > 0].sum() / len(p), 6))


@dataclass(frozen=True)
class Conformal:
    """Intervals ŷ ± q · √(τ² + spread²), one q and τ for every target (cross-conformal, Papadopoulos 2008, Vovk 2015).

    Attributes:
        factor, floor: [T] q and τ.
        level: the share of molecules the intervals are made to hold.
    """

    factor: np.ndarray
    floor: np.ndarray
    level: float

    @classmethod
    def fit(cls, guess: np.ndarray, spread: np.ndarray, y: np.ndarray, members: float, level: float = 0.9) -> Conformal:
        """From predictions and their spread [n, T] for molecules that were not trained on; NaN in `y`: unknown.

        `members` is how many models the spread is of: the fewer, the less it says of a single molecule, and the more
        the typical spread counts.
        """
        trust = (TYPICAL / max(members - 1, 0.1)) ** 0.5
        factor, floor = np.ones(y.shape[1]), np.ones(y.shape[1])
        for target in range(y.shape[1]):
            known = ~np.isnan(y[:, target])
            width = spread[known, target]
            typical = float(np.median(width)) if known.any() else 0.0
            floor[target] = trust * typical if typical > 0 else 1.0
            error = np.abs(guess[known, target] - y[known, target]) / np.hypot(floor[target], width)
            if len(error):
                rank = min(np.ceil(level * (len(error) + 1)) / len(error), 1.0)
                factor[target] = np.quantile(error, rank, method="higher")
        return cls(factor, floor, level)

    def half_width(self, spread: np.ndarray) -> np.ndarray:
        """[n, T] half the width of the interval."""
        return self.factor * np.hypot(self.floor, spread)


def coverage(low: np.ndarray, high: np.ndarray, y: np.ndarray) -> float:
    """In percent: how many of the known values are within their interval."""
    known = ~np.isnan(y)
    inside = (y >= low) & (y <= high)
    return float(100 * inside[known].mean()) if known.any() else float("nan")
