"""The scikit-learn front."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch_geometric.data import Data

import graphmae as gm
from graphmae.runtime.errors import DataError

QUICK = ("encoder.hidden_channels=16", "encoder.heads=2")


@pytest.fixture(scope="module")
def graph() -> Data:
    return gm.data.load("synthetic", num_nodes=200).graphs[0]


def test_it_works_in_a_pipeline_and_clones(graph: Data) -> None:
    model = make_pipeline(gm.GraphMAEEmbedder(epochs=30, overrides=QUICK), LogisticRegression(C=1e4, max_iter=2000))
    assert model.fit(graph, graph.y.numpy()).score(graph, graph.y.numpy()) > 0.6  # a constant answer: 0.17
    other = clone(model[0])
    assert other.get_params() == model[0].get_params() and not hasattr(other, "model_")
    assert np.array_equal(other.fit_transform(graph), model[0].transform(graph))


def test_it_takes_graphs_of_every_kind(graph: Data) -> None:
    pair = (graph.x.numpy(), sp.coo_matrix((np.ones(graph.num_edges), graph.edge_index.numpy()), shape=(200, 200)))
    one = gm.GraphMAEEmbedder(epochs=1, overrides=QUICK).fit(pair)
    assert one.transform(pair).shape == (200, 16)
    assert np.allclose(one.transform((pair[0], graph.edge_index.numpy())), one.transform(pair))
    club = gm.GraphMAEEmbedder(epochs=1, overrides=QUICK[:1]).fit(nx.karate_club_graph())
    assert club.transform(nx.karate_club_graph()).shape == (34, 48)  # all of three layers
    several = [Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))] * 6
    rows = gm.GraphMAEEmbedder(epochs=1, readout="mean+max", overrides=QUICK[:1]).fit_transform(several)
    assert rows.shape == (6, 32)
    with pytest.raises(DataError, match="a graph must be"):
        one.fit(3)


def test_saved_and_loaded_it_gives_the_same(graph: Data, tmp_path: Path) -> None:
    one = gm.GraphMAEEmbedder(epochs=2, overrides=QUICK).fit(graph)
    one.save(tmp_path / "model")
    other = gm.GraphMAEEmbedder.load(tmp_path / "model")
    assert np.array_equal(one.transform(graph), other.transform(graph))
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors", ".md"}
