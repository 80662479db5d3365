from __future__ import annotations

import pytest
import torch

from graphmae.losses import MSE, CrossEntropy, ScaledCosineError
from graphmae.runtime.errors import ConfigError, DataError


def test_scaled_cosine_is_the_formula() -> None:
    z, x = torch.randn(20, 7, dtype=torch.float64), torch.rand(20, 7, dtype=torch.float64)
    expected = ((1 - torch.cosine_similarity(x, z)) ** 2.5).mean()
    assert torch.allclose(ScaledCosineError(2.5)(z, x), expected)


def test_scaled_cosine_ignores_the_length_of_the_prediction() -> None:
    z, x = torch.randn(20, 7), torch.rand(20, 7)
    assert torch.allclose(ScaledCosineError()(z, x), ScaledCosineError()(1000 * z, x), atol=1e-6)


def test_gamma_below_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="gamma"):
        ScaledCosineError(0.5)


def test_mse_and_cross_entropy() -> None:
    x = torch.eye(4)
    assert float(MSE()(x, x)) == 0
    assert float(CrossEntropy()(50 * x, x)) == pytest.approx(0, abs=1e-6)
    assert float(CrossEntropy()(torch.zeros(4, 4), x)) == pytest.approx(1.3863, abs=1e-4)


def test_cross_entropy_refuses_features_that_are_not_one_hot() -> None:
    CrossEntropy().check(torch.eye(3))
    with pytest.raises(DataError, match="one-hot"):
        CrossEntropy().check(torch.rand(5, 3))
