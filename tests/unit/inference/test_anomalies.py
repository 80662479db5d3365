"""Unusual nodes: found where they were planted, whatever the degree and the number of words."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from torch_geometric.data import Data

import graphmae as gm
from graphmae.inference.anomalies import corrected, neighbour_mean
from graphmae.inference.reconstruction import reconstruction_error


@pytest.fixture(scope="module")
def planted() -> tuple[gm.GraphMAE, Data, np.ndarray]:
    """A synthetic citation graph in which 40 nodes have the words of others; some nodes have few words."""
    data = gm.data.load("synthetic", num_nodes=1200, num_words=200, topic_share=0.7, homophily=0.95).graphs[0]
    rng = np.random.default_rng(0)
    x = data.x.clone()
    keep = torch.from_numpy(rng.random(x.shape) < rng.uniform(0.3, 1, size=(len(x), 1)))
    x = x * keep
    odd = rng.permutation(1200)[:40]
    x[odd] = x[(odd + 601) % 1200]
    made = Data(x=x, edge_index=data.edge_index)
    torch.manual_seed(0)
    model = gm.GraphMAE(gm.encoders.GAT(200, hidden_channels=16, heads=2), gm.decoders.GAT(16, 200))
    return gm.pretrain(model, made, epochs=5, progress=False, device="cpu"), made, odd


def test_planted_nodes_are_found_and_little_content_is_not_strange(planted: tuple) -> None:
    model, data, odd = planted
    scores = gm.anomaly_scores(model, data, rounds=2).numpy()
    there = np.isfinite(scores)
    is_odd = np.isin(np.arange(len(scores)), odd)
    assert roc_auc_score(is_odd[there], scores[there]) > 0.8
    usual = there & ~is_odd
    content = (data.x != 0).sum(1).numpy()
    degree = np.diff(neighbour_mean(data.edge_index.numpy(), len(scores)).indptr)
    assert abs(spearmanr(scores[usual], content[usual])[0]) < 0.1
    assert abs(spearmanr(scores[usual], degree[usual])[0]) < 0.1


def test_nodes_without_features_have_no_score(planted: tuple) -> None:
    model, data, _ = planted
    bare = Data(x=data.x.clone(), edge_index=data.edge_index)
    bare.x[3] = 0
    scores = gm.anomaly_scores(model, bare, rounds=1)
    assert scores[3].isnan() and scores[4].isfinite()
    assert 0 < reconstruction_error(model, bare, rounds=1) < 2


def test_what_is_usual_is_taken_away() -> None:
    rng = np.random.default_rng(0)
    known = rng.integers(1, 100, size=(3000, 2))
    scores = np.sqrt(known[:, 0]) - known[:, 1] / 20 + rng.standard_normal(3000) * known[:, 1] / 20
    rest = corrected(scores, known)
    for column in known.T:
        assert abs(spearmanr(rest, column)[0]) < 0.05
        low, high = (rest[column < 30], rest[column > 70])
        assert 0.8 < low.std() / high.std() < 1.25
    assert np.isfinite(corrected(np.ones(10), np.ones((10, 2)))).all()


def test_a_neighbour_counts_once() -> None:
    mean = neighbour_mean(np.array([[0, 1, 0, 2, 0], [1, 0, 2, 2, 2]]), 4).toarray()
    assert mean.tolist() == [[0, 0.5, 0.5, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
