from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from graphmae.evaluation.many_targets import fit_linear, logistic, ridge


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(120, 5))
    y = (x @ random.normal(size=(5, 3)) + random.normal(size=(120, 3)) > 0).astype(float)
    y[random.random(size=y.shape) < 0.3] = np.nan
    return x, y


@pytest.mark.parametrize("strength", [1e-3, 0.1, 10.0])
def test_all_targets_at_once_are_scikit_learns_models_one_by_one(strength: float) -> None:
    x, y = rows()
    weight, bias = logistic(torch.from_numpy(x), torch.from_numpy(y), strength, 200)
    found = x @ weight.numpy().T + bias.numpy()
    for column, target in enumerate(y.T):
        known = ~np.isnan(target)
        model = LogisticRegression(C=strength, tol=1e-10, max_iter=5000).fit(x[known], target[known])
        assert found[:, column] == pytest.approx(model.decision_function(x), abs=1e-3)


def test_numbers_are_ridge_regressions_of_what_is_known() -> None:
    x, _ = rows()
    y = np.stack([x @ np.arange(5.0) + 3, x @ np.ones(5)], axis=1)
    y[:40, 1] = np.nan
    weight, bias = (part.numpy() for part in ridge(torch.from_numpy(x), torch.from_numpy(y), 2.0))
    for column, target in enumerate(y.T):
        known = ~np.isnan(target)
        model = Ridge(alpha=0.5).fit(x[known], target[known])
        assert x @ weight[column] + bias[column] == pytest.approx(model.predict(x))


def test_weights_are_those_of_the_columns_as_they_are() -> None:
    x, y = rows()
    scaled = x * np.array([1.0, 10, 100, 1e3, 1e4]) + 7
    plain, wide = (fit_linear(part.astype(np.float32), y, 1.0, "classification") for part in (x, scaled))
    assert x @ plain[0].T + plain[1] == pytest.approx(scaled @ wide[0].T + wide[1], abs=0.02)
