"""What people report of models of molecules: scores of every target, and their mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    matthews_corrcoef,
    r2_score,
    roc_auc_score,
)

from ..data.molecules import Assay

BINS = 10  # of the expected calibration error
EARLY = (0.01, 0.05)  # shares of a library that is screened
Scores = dict[str, float]


def target_scores(truth: np.ndarray, answers: np.ndarray, names: Sequence[str], kind: str) -> dict[str, Scores]:
    """Target → {metric: score} for `truth` and `answers` [N, T], NaN in `truth` where nothing was measured.

    A score that is not defined, such as ROC-AUC of one class, is not there. ROC-AUC, PR-AUC and balanced accuracy are
    percentages; `count` is how many molecules were scored, `positives` how many of them are of class 1.

    >>> target_scores(np.array([[0.0], [1.0]]), np.array([[0.2], [0.9]]), ["toxic"], "classification")["toxic"]["mcc"]
    1.0
    """
    one = class_scores if kind == "classification" else number_scores
    found = {}
    for name, y, p in zip(names, truth.T, answers.T, strict=True):
        known = ~np.isnan(y) & ~np.isnan(p)
        found[name] = one(y[known].astype(np.float64), p[known].astype(np.float64)) if known.any() else {"count": 0.0}
    return found


def part_scores(assay: Assay, answers: np.ndarray) -> dict[str, dict[str, Scores]]:
    """Part → target → {metric: score}, for the validation and the test part; `answers` [M, T] as `predict` gives them.

    What `scored` leaves out is left out: bounds, and targets that have no value to train on.
    """
    return {
        part: target_scores(assay.scored[assay.split[part]], answers[assay.split[part]], assay.names, assay.kind)
        for part in ("val", "test")
    }


def mean_scores(found: Mapping[str, Scores]) -> Scores:
    """The mean of every score over the targets that have it; `count` and `positives` are sums.

    >>> mean_scores({"a": {"mae": 1.0, "count": 2.0}, "b": {"mae": 3.0, "count": 2.0}})
    {'mae': 2.0, 'count': 4.0}
    """
    metrics = dict.fromkeys(metric for scores in found.values() for metric in scores)
    of = {metric: [scores[metric] for scores in found.values() if metric in scores] for metric in metrics}
    return {
        metric: float(np.sum(values) if metric in ("count", "positives") else np.mean(values))
        for metric, values in of.items()
    }


def class_scores(y: np.ndarray, p: np.ndarray) -> Scores:
    """Of probabilities `p` [N] of class 1, where `y` [N] is 0 or 1."""
    guess, positives = p >= 0.5, float(y.sum())
    scores: Scores = {}
    if 0 < positives < len(y):
        scores |= {
            "roc-auc": 100 * float(roc_auc_score(y, p)),
            "pr-auc": 100 * float(average_precision_score(y, p)),
            "balanced-accuracy": 100 * float(balanced_accuracy_score(y, guess)),
            "mcc": float(matthews_corrcoef(y, guess)),
        }
    scores |= {"brier": float(np.mean((p - y) ** 2)), "ece": calibration_error(y, p)}
    if positives:
        scores |= {f"ef-{share:.0%}": enrichment(y, p, share) for share in EARLY}
    return {**scores, "count": float(len(y)), "positives": positives}


def number_scores(y: np.ndarray, p: np.ndarray) -> Scores:
    """Of predicted numbers `p` [N], in the units of `y` [N]."""
    scores = {"rmse": float(np.sqrt(np.mean((p - y) ** 2))), "mae": float(np.mean(np.abs(p - y)))}
    if len(y) > 1 and np.ptp(y) > 0:
        scores["r2"] = float(r2_score(y, p))
        if np.ptp(p) > 0:
            scores["spearman"] = float(np.corrcoef(rankdata(y), rankdata(p))[0, 1])
    return {**scores, "count": float(len(y))}


def calibration_error(y: np.ndarray, p: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: how far the mean probability is from the share of class 1, over equally wide bins.

    >>> calibration_error(np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.75, 0.75, 0.75, 0.75]))
    0.0
    """
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    gap = np.bincount(place, weights=p - y, minlength=bins)
    return float(np.abs(gap).sum() / len(y))


def enrichment(y: np.ndarray, p: np.ndarray, share: float) -> float:
    """How many times as many of class 1 are in the best `share` of the molecules as in all of them.

    The best are those with the highest `p`, at least one; among equal ones at the border, as many as are expected.

    >>> enrichment(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.9, 0.5, 0.4, 0.1]), 0.25)
    4.0
    """
    count = max(1, math.ceil(share * len(y) - 1e-9))
    border = np.sort(p)[::-1][count - 1]
    above, equal = p > border, p == border
    hits = y[above].sum() + y[equal].mean() * (count - above.sum())
    return float(hits / count / y.mean())
