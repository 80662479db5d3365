"""A linear model trained to convergence, its regularisation chosen on validation.

The published probe takes a fixed number of steps with rates made for one embedding. Features of another scale may not
get there in time; this row does not depend on scale or steps.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor

STRENGTHS = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4)
MAX_ROWS = 20_000  # more labels than this take longer than the training
Rows = tuple[Tensor, Tensor]


def linear_model_score(train: Rows, val: Rows, test: Rows) -> float | None:
    """Test accuracy in percent of the logistic regression whose C is best on validation; None with too many labels.

    Columns are divided by the training rows' common scale, so that the same C mean the same everywhere.
    """
    (x, y), (val_x, val_y), (test_x, test_y) = (
        (features.cpu().double().numpy(), labels.cpu().numpy()) for features, labels in (train, val, test)
    )
    if len(x) > MAX_ROWS or len(np.unique(y)) < 2:
        return None
    scale = np.sqrt(np.square(x).mean()) or 1.0
    if x.shape[0] < x.shape[1]:  # weights are sums of training rows: their span is all that counts, whatever the width
        span = np.linalg.qr(x.T)[0]
        x, val_x, test_x = x @ span, val_x @ span, test_x @ span
    best, score = -1.0, 0.0
    for strength in STRENGTHS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=strength, max_iter=500).fit(x / scale, y)
        if (quality := float(model.score(val_x / scale, val_y))) > best:
            best, score = quality, float(model.score(test_x / scale, test_y))
    return 100 * score
