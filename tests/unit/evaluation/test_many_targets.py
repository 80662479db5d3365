from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from graphmae.evaluation.many_targets import fit_linear, logistic, product_with, ridge


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_that_pass_over_zeros_are_the_same_with_their_gradients(dtype: torch.dtype) -> None:
    random = torch.Generator().manual_seed(0)
    x = (torch.rand(300, 50, generator=random) < 0.05).to(dtype)
    outer = torch.randn(300, 7, generator=random, dtype=dtype)
    found = []
    for matrix in (x, x + 1):  # the second has no zeros
        weight = torch.linspace(-1, 1, 350, dtype=dtype).view(7, 50).requires_grad_()
        product = product_with(matrix)(weight)
        (product * outer).sum().backward()
        found.append((product, weight.grad))
        assert product.grad_fn is not None and ("SparseProduct" in product.grad_fn.name()) == (matrix is x)
        assert torch.allclose(product, matrix @ weight.t(), atol=1e-5)
        assert torch.allclose(weight.grad, outer.t() @ matrix, atol=1e-4)
    assert found[0][0].dtype == found[0][1].dtype == dtype


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
