"""Trees as arrays say what scikit-learn says, and refuse to lead anywhere else."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from graphmae.finetuning.trees import FIELDS, Trees, of_boosting, of_forest
from graphmae.runtime.errors import InputError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 6)).astype(np.float32)
X[:, 2] = RANDOM.integers(0, 3, 300)  # many equal values: thresholds between them must be compared exactly
Y = (X[:, 0] + X[:, 2] + 0.3 * RANDOM.normal(size=300)).astype(np.float64)
NEW = RANDOM.normal(size=(200, 6)).astype(np.float32)
NEW[:, 2] = RANDOM.integers(0, 3, 200)


def test_forests_are_those_of_scikit_learn() -> None:
    numbers = RandomForestRegressor(20, random_state=0).fit(X, Y)
    assert np.allclose(of_forest(numbers).sums(NEW)[:, 0], numbers.predict(NEW), atol=1e-5)
    classes = RandomForestClassifier(20, random_state=0).fit(X, Y > 1)
    assert np.allclose(of_forest(classes).sums(NEW)[:, 0], classes.predict_proba(NEW)[:, 1], atol=1e-6)
    both = RandomForestRegressor(5, random_state=0).fit(X, np.stack([Y, -Y], axis=1))
    assert np.allclose(of_forest(both).sums(NEW), both.predict(NEW), atol=1e-5)


def test_boosting_is_that_of_scikit_learn_also_where_values_are_missing() -> None:
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    holes = NEW.copy()
    holes[::5, 0] = np.nan
    numbers = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(gaps, Y)
    trees, base = of_boosting(numbers)
    assert np.allclose(trees.sums(holes)[:, 0] + base, numbers.predict(holes), atol=1e-4)
    classes = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(gaps, Y > 1)
    trees, base = of_boosting(classes)
    assert np.allclose(trees.sums(holes)[:, 0] + base, classes.decision_function(holes), atol=1e-4)


def test_trees_are_stored_as_tensors_and_damaged_ones_are_refused() -> None:
    grown = of_forest(RandomForestRegressor(3, random_state=0).fit(X, Y))
    tensors = grown.to_tensors()
    assert set(tensors) == set(FIELDS)
    assert np.array_equal(Trees.from_tensors(tensors, 6).sums(NEW), grown.sums(NEW))
    for name, value in (("left", 0), ("feature", 6), ("roots", 10**6), ("values", float("nan"))):
        wrong = {key: tensor.clone() for key, tensor in tensors.items()}
        wrong[name].view(-1)[0] = value  # a node that leads to itself would never end
        with pytest.raises(InputError, match="damaged"):
            Trees.from_tensors(wrong, 6)
    with pytest.raises(InputError, match="lack"):
        Trees.from_tensors({key: value for key, value in tensors.items() if key != "left"}, 6)
