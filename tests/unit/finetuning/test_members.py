"""Members of an automatic predictor beside the fine-tuned encoder."""

from __future__ import annotations

import numpy as np

from graphmae.finetuning import members
from graphmae.finetuning.kernel import Radial, fit_ridge


def test_a_shared_forest_of_many_targets_counts_what_was_measured_in_its_leaves() -> None:
    random = np.random.default_rng(0)
    x = (random.random((300, 40)) < 0.3).astype(np.float32)
    y = (x @ random.normal(size=(40, 50)) > 0).astype(np.float64)
    y[random.random(y.shape) < 0.4] = np.nan
    trees = members._shared_forest(x, y, "classification", 0)
    assert trees.values.shape[1] == 50 > members.MOST_GROWN_ON
    leaves, known = trees.leaves(x), ~np.isnan(y)
    for leaf in np.unique(leaves[:, 0])[:20]:
        own = leaves[:, 0] == leaf
        prior = np.array([(np.nansum(column) + 0.5) / (np.isfinite(column).sum() + 1) for column in y.T])
        wanted = (np.nansum(y[own], axis=0) + prior) / (known[own].sum(axis=0) + 1) / len(trees.roots)
        assert np.allclose(trees.values[leaf], wanted, atol=1e-6)
    test = (random.random((200, 40)) < 0.3).astype(np.float32)
    assert trees.sums(test).std() > 0.02  # it says different things of different molecules


def test_a_kernel_of_fingerprints_and_descriptors_learns_what_neither_tells_alone() -> None:
    random = np.random.default_rng(0)
    ecfp = (random.random((400, 64)) < 0.2).astype(np.uint8)
    descriptors = random.normal(size=(400, 6)).astype(np.float32)
    y = (ecfp[:, :8].sum(1) + np.sin(2 * descriptors[:, 0])).astype(float)[:, None]
    y[::9] = np.nan
    blocks = {"ecfp": ecfp, "descriptors": descriptors}
    rest, own = ({name: block[part] for name, block in blocks.items()} for part in (slice(300), slice(300, None)))
    known, errors = np.isfinite(y[300:, 0]), {}
    for name in ("ecfp-kernel", "ecfp-descriptors-kernel"):
        found = members.fit(name, 0.1, rest, y[:300], "regression", 0).predict(own)
        errors[name] = float(np.sqrt(np.mean((found - y[300:])[known] ** 2)))
    assert errors["ecfp-descriptors-kernel"] < 0.9 * errors["ecfp-kernel"] < 0.9 * np.nanstd(y)


def test_ridge_with_a_kernel_solves_its_equations_for_every_pattern_of_missing_values() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(30, 4))
    gram = Radial.of(rows).similarities(rows)
    y = random.normal(size=(30, 3))
    y[:5, 1] = np.nan
    prior = np.nanmean(y, axis=0)
    dual = fit_ridge(gram, y, prior, 0.2)
    for target, first in ((0, 0), (1, 5), (2, 0)):
        part = gram[first:, first:] + 0.2 * np.eye(30 - first)
        assert np.allclose(part @ dual[first:, target], y[first:, target] - prior[target], atol=1e-6)
    assert (dual[:5, 1] == 0).all()
