"""A linear model trained to convergence, its regularisation chosen on validation.

The published probe takes a fixed number of steps with rates made for one embedding. Features of another scale may not
get there in time; this row does not depend on scale or steps.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor

STRENGTHS = tuple(10.0**power for power in range(-2, 7))
MAX_ROWS = 20_000  # more labels than this take longer than the training
Rows = tuple[Tensor, Tensor]


class Logistic(LogisticRegression):
    """scikit-learn's, without its warning where `max_iter` ends it: that is how long it is meant to take at most."""

    def fit(self, x: Any, y: Any, sample_weight: Any = None) -> Logistic:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            super().fit(x, y, sample_weight)
        return self


def linear_model_score(train: Rows, val: Rows, test: Rows) -> dict[str, float] | None:
    """Test accuracy ("converged") of the logistic regression whose C is best on validation, both in percent.

    None with too many labels. Rows are divided by the training rows' mean length, so that the same C mean the same
    everywhere; each C starts where the one before ended. They rise, and end with the second in a row that is clearly
    worse on validation: the largest ones take most of the time.
    """
    (x, y), (val_x, val_y), (test_x, test_y) = (
        (features.cpu().float().numpy(), labels.cpu().numpy()) for features, labels in (train, val, test)
    )
    if len(x) > MAX_ROWS or len(np.unique(y)) < 2:
        return None
    scale = np.float32(np.sqrt(np.square(x, dtype=np.float64).sum(1).mean()) or 1.0)
    if x.shape[0] < x.shape[1]:  # weights are sums of training rows: their span is all that counts, whatever the width
        span = np.linalg.qr(x.T)[0]
        x, val_x, test_x = x @ span, val_x @ span, test_x @ span
    best, score, worse = -1.0, 0.0, 0
    clearly = len(val_y) ** -0.5  # two standard errors of an accuracy, at most
    model = Logistic(max_iter=300, warm_start=True)
    for strength in STRENGTHS:
        model.set_params(C=strength).fit(x / scale, y)
        if (quality := float(model.score(val_x / scale, val_y))) > best:
            best, score = quality, float(model.score(test_x / scale, test_y))
        worse = worse + 1 if quality < best - clearly else 0
        if worse == 2:
            break
    return {"converged": 100 * score, "validation-converged": 100 * best}
