"""Ridge regression of many targets at once, several regularisations, on cells held out: a few matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

FOLDS = 5
STRENGTHS = (0.003, 0.03, 0.3)  # of the penalty, as a share of the number of rows


@dataclass(frozen=True)
class Tried:
    """Predictions of targets [rows, targets], for every strength of the penalty.

    Attributes:
        plain: of rows held out, the mean of the other rows.
        guesses: of rows held out, by the model of the other rows; one array for every strength.
        answers: of the rows asked for, by the model of all rows; one array for every strength.
    """

    plain: np.ndarray
    guesses: list[np.ndarray]
    answers: list[np.ndarray]


def cross_validated(x: np.ndarray, y: np.ndarray, ask: np.ndarray) -> Tried:
    """Learn `y` [rows, targets] from `x` [rows, d] in five folds (rows must be in random order), and predict `ask`."""
    mean, spread = x.mean(0), x.std(0)
    spread = np.where(spread > 1e-6 * max(float(spread.max()), 1e-12), spread, np.inf)  # constant columns say nothing
    x, ask = (x - mean) / spread, (ask - mean) / spread
    parts = np.array_split(np.arange(len(x)), FOLDS)
    grams = [x[part].T @ x[part] for part in parts]
    crosses = [x[part].T @ y[part] for part in parts]
    sums = [x[part].sum(0) for part in parts]
    gram, cross, total = sum(grams), sum(crosses), y.sum(0)
    plain = np.empty_like(y)
    guesses = [np.empty_like(y) for _ in STRENGTHS]
    for part, own, own_cross, own_sum in zip(parts, grams, crosses, sums, strict=True):
        rows = len(x) - len(part)
        plain[part] = (total - y[part].sum(0)) / rows
        centre = plain[part][:1]
        moments = cross - own_cross + np.outer(own_sum, centre)  # Σ x over the others is −Σ x over this part
        for guess, strength in zip(guesses, STRENGTHS, strict=True):
            guess[part] = centre + x[part] @ _solved(gram - own, moments, strength * rows)
    centre = total / len(y)
    answers = [centre + ask @ _solved(gram, cross, strength * len(x)) for strength in STRENGTHS]
    return Tried(plain, guesses, answers)


def _solved(gram: np.ndarray, moments: np.ndarray, penalty: float) -> np.ndarray:
    return np.asarray(cho_solve(cho_factor(gram + penalty * np.eye(len(gram), dtype=gram.dtype)), moments))


def principal(x: np.ndarray, width: int) -> np.ndarray:
    """The rows on their main axes, [rows, k], k at most `width`; the rows centred first."""
    from sklearn.utils.extmath import randomized_svd

    k = min(width, *x.shape)
    if not k:
        return np.empty((len(x), 0), dtype=x.dtype)
    centred = x - x.mean(0)
    left, values, _ = randomized_svd(centred, k, n_iter=2, random_state=0)
    return np.asarray(left * values)
