"""Scores of targets against scikit-learn, scipy and counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn import metrics

from graphmae.evaluation.targets import calibration_error, enrichment, mean_scores, target_scores


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(2, 60), levels=st.integers(2, 40))
def test_scores_of_classes_are_those_of_scikit_learn(seed: int, rows: int, levels: int) -> None:
    drawn = np.random.default_rng(seed)
    p = drawn.integers(0, levels, (rows, 2)) / (levels - 1)
    y = drawn.choice([0.0, 1.0, np.nan], (rows, 2))
    found = target_scores(y, p, ["a", "b"], "classification")
    for column, name in enumerate("ab"):
        known = ~np.isnan(y[:, column])
        truth, guess = y[known, column], p[known, column]
        assert found[name]["count"] == known.sum()
        if not known.any():
            assert set(found[name]) == {"count"}
            continue
        assert found[name]["brier"] == pytest.approx(metrics.brier_score_loss(truth, guess, pos_label=1))
        if len(set(truth)) < 2:
            assert "roc-auc" not in found[name] and "mcc" not in found[name]
            continue
        expected = {
            "roc-auc": 100 * metrics.roc_auc_score(truth, guess),
            "pr-auc": 100 * metrics.average_precision_score(truth, guess),
            "balanced-accuracy": 100 * metrics.balanced_accuracy_score(truth, guess >= 0.5),
            "mcc": metrics.matthews_corrcoef(truth, guess >= 0.5),
        }
        assert {key: found[name][key] for key in expected} == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(3, 60))
def test_scores_of_numbers_are_those_of_scikit_learn_and_scipy(seed: int, rows: int) -> None:
    drawn = np.random.default_rng(seed)
    y, p = drawn.normal(size=(rows, 1)).round(1), drawn.normal(size=(rows, 1)).round(1)
    y[0, 0], y[1, 0], p[0, 0], p[1, 0] = 0, 1, 0, 2
    found = target_scores(y, p, ["x"], "regression")["x"]
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, p))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y, p))
    assert found["r2"] == pytest.approx(metrics.r2_score(y, p))
    assert found["spearman"] == pytest.approx(spearmanr(y[:, 0], p[:, 0]).statistic)


def test_calibration_error_counted_by_hand() -> None:
    y, p = np.array([0, 0, 1, 1, 1.0]), np.array([0.05, 0.15, 0.15, 0.95, 1.0])
    # bins of a tenth: {.05}, {.15, .15}, {.95, 1.0}; the last bin has its right end
    assert calibration_error(y, p) == pytest.approx((0.05 + abs(0.3 - 1) + abs(1.95 - 2)) / 5)


def test_enrichment_counted_by_hand_with_ties() -> None:
    y, p = np.zeros(200), np.linspace(1, 0, 200)
    y[[0, 1, 150, 160]] = 1  # 2 % are active
    assert enrichment(y, p, 0.01) == pytest.approx(50)  # both of the best two
    assert enrichment(y, p, 0.05) == pytest.approx(10)
    assert enrichment(y, np.full(200, 0.5), 0.05) == pytest.approx(1)  # no order is no enrichment


def test_means_are_over_targets_that_have_the_score() -> None:
    found = {"a": {"roc-auc": 80.0, "brier": 0.1, "count": 5.0}, "b": {"brier": 0.3, "count": 3.0}}
    assert mean_scores(found) == pytest.approx({"roc-auc": 80, "brier": 0.2, "count": 8})
