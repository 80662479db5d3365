"""Curves of predictions beside what was measured: ROC, calibration, errors of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BINS = 10
MOST_STEPS = 200  # of a ROC curve


@dataclass(frozen=True)
class Calibration:
    """Predictions in bins of equal width.

    Attributes:
        predicted, observed, counts: of every bin that has any, the mean prediction, the share of class 1, how many.
        error: mean |observed − predicted|, each prediction counting once (the expected calibration error).
    """

    predicted: np.ndarray
    observed: np.ndarray
    counts: np.ndarray
    error: float


def roc_curve(measured: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """(false positive rates, true positive rates, the area below), of classes 0 and 1, both of which must be there.

    >>> roc_curve(np.array([0, 1, 0, 1]), np.array([0.1, 0.9, 0.8, 0.7]))[2]
    0.75
    """
    order = np.argsort(-predicted, kind="stable")
    score, truth = predicted[order], measured[order] == 1
    last = np.r_[np.diff(score) != 0, True]  # equal predictions are one step
    hits, misses = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    true = np.r_[0.0, hits / truth.sum()]
    false = np.r_[0.0, misses / (~truth).sum()]
    area = float(((true[1:] + true[:-1]) / 2 * np.diff(false)).sum())
    some = np.unique(np.linspace(0, len(true) - 1, min(len(true), MOST_STEPS)).astype(int))
    return false[some], true[some], area


def calibration(measured: np.ndarray, predicted: np.ndarray, bins: int = BINS) -> Calibration:
    """Whether 70 % means that 70 of 100 are of class 1.

    >>> calibration(np.array([0, 0, 1, 1]), np.array([0.05, 0.05, 0.95, 0.95])).error
    0.05
    """
    which = np.clip((predicted * bins).astype(int), 0, bins - 1)
    counts = np.bincount(which, minlength=bins)
    there = counts > 0
    mean = np.bincount(which, predicted, bins)[there] / counts[there]
    share = np.bincount(which, measured == 1, bins)[there] / counts[there]
    error = float((counts[there] * np.abs(share - mean)).sum() / counts.sum())
    return Calibration(mean, share, counts[there], round(error, 12))


def number_errors(measured: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """RMSE, MAE and R² of numbers.

    >>> number_errors(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    {'RMSE': 0.0, 'MAE': 0.0, 'R²': 1.0}
    """
    rest = predicted - measured
    spread = float(((measured - measured.mean()) ** 2).sum())
    explained = 1 - float((rest**2).sum()) / spread if spread else float("nan")
    return {"RMSE": float(np.sqrt((rest**2).mean())), "MAE": float(np.abs(rest).mean()), "R²": explained}
