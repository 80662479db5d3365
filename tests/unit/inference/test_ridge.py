"""Ridge regression in folds: the same as scikit-learn's, fold by fold."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge

from graphmae.inference.ridge import FOLDS, STRENGTHS, cross_validated, principal


def test_rows_held_out_are_predicted_from_the_others() -> None:
    rng = np.random.default_rng(0)
    x, ask = rng.standard_normal((203, 6)), rng.standard_normal((9, 6))
    y = x @ rng.standard_normal((6, 2)) + rng.standard_normal((203, 2))
    tried = cross_validated(x, y, ask)
    scaled, asked = (x - x.mean(0)) / x.std(0), (ask - x.mean(0)) / x.std(0)
    for strength, guesses, answers in zip(STRENGTHS, tried.guesses, tried.answers, strict=True):
        assert np.allclose(Ridge(strength * 203).fit(scaled, y).predict(asked), answers)
        part = np.array_split(np.arange(203), FOLDS)[2]
        rest = np.setdiff1d(np.arange(203), part)
        own = Ridge(strength * len(rest), fit_intercept=False).fit(scaled[rest], y[rest] - y[rest].mean(0))
        assert np.allclose(y[rest].mean(0) + own.predict(scaled[part]), guesses[part])
        assert np.allclose(tried.plain[part], y[rest].mean(0))


def test_constant_columns_change_nothing() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((50, 3)), rng.standard_normal((50, 1))
    with_constant = np.hstack([x, np.full((50, 1), 7.0)])
    one, other = (cross_validated(each, y, each) for each in (x, with_constant))
    assert np.allclose(one.answers[0], other.answers[0])


def test_main_axes_keep_what_varies() -> None:
    rng = np.random.default_rng(0)
    x = np.outer(rng.standard_normal(100), rng.standard_normal(30)) + 5
    found = principal(x, 4)
    assert found.shape == (100, 4) and found[:, 0].var() > 1e6 * found[:, 1].var()
    assert principal(x[:, :0], 4).shape == (100, 0)
