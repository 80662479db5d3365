"""Members of an automatic predictor beside the fine-tuned encoder."""

from __future__ import annotations

import numpy as np

from graphmae.finetuning import members


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
