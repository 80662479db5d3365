"""ROC-AUC and errors against scikit-learn, with ties and missing values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from graphmae.evaluation.metrics import by_rule, regression_errors, roc_auc


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(2, 40), targets=st.integers(1, 4), levels=st.integers(2, 30))
def test_roc_auc_is_scikit_learns(seed: int, rows: int, targets: int, levels: int) -> None:
    drawn = np.random.default_rng(seed)
    scores = drawn.integers(0, levels, (rows, targets)) / levels  # with ties
    y = drawn.choice([0.0, 1.0, np.nan], (rows, targets))
    found = roc_auc(torch.from_numpy(scores), torch.from_numpy(y))
    for column in range(targets):
        known = ~np.isnan(y[:, column])
        if len(set(y[known, column])) < 2:
            assert bool(found[column].isnan())
        else:
            expected = 100 * roc_auc_score(y[known, column], scores[known, column])
            assert float(found[column]) == pytest.approx(expected, abs=1e-9)


def test_errors_leave_missing_values_out() -> None:
    guess = torch.tensor([[1.0, 0.0], [3.0, 5.0], [0.0, 0.0]])
    y = torch.tensor([[0.0, float("nan")], [0.0, 2.0], [float("nan"), float("nan")]])
    squared, absolute = regression_errors(guess, y)
    assert float(squared) == pytest.approx((5**0.5 + 3) / 2)
    assert float(absolute) == pytest.approx((2 + 3) / 2)


def test_the_best_epoch_of_an_error_is_the_lowest() -> None:
    validation, test = [torch.tensor(v) for v in (3.0, 1.0, 2.0)], [torch.tensor(v) for v in (30.0, 10.0, 20.0)]
    assert by_rule(validation, test, lower_is_better=True)["best-validation"] == 10
    assert by_rule(validation, test)["best-validation"] == 30
