from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from graphmae.evaluation.frozen import _logistic, _ridge


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(120, 5))
    y = (x @ random.normal(size=(5, 3)) + random.normal(size=(120, 3)) > 0).astype(float)
    y[random.random(size=y.shape) < 0.3] = np.nan
    return x, y


@pytest.mark.parametrize("strength", [1e-3, 0.1, 10.0])
def test_all_targets_at_once_are_scikit_learns_models_one_by_one(strength: float) -> None:
    x, y = rows()
    found = _logistic(torch.from_numpy(x), torch.from_numpy(y), strength, torch.from_numpy(x)).numpy()
    for column, target in enumerate(y.T):
        known = ~np.isnan(target)
        model = LogisticRegression(C=strength, tol=1e-10, max_iter=5000).fit(x[known], target[known])
        assert found[:, column] == pytest.approx(model.decision_function(x), abs=1e-3)


def test_numbers_are_ridge_regressions() -> None:
    x, _ = rows()
    x = x - x.mean(0)
    y = (x @ np.arange(5.0) + 3)[:, None]
    found = _ridge(torch.from_numpy(x), torch.from_numpy(y), 2.0, torch.from_numpy(x)).numpy()
    assert found[:, 0] == pytest.approx(Ridge(alpha=0.5).fit(x, y[:, 0]).predict(x))
