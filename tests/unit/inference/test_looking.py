"""What maps are made of: projections, neighbours, purity, errors of graphs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.data import GraphSet
from graphmae.evaluation.label_free import measures, spectrum
from graphmae.evaluation.purity import neighbour_purity
from graphmae.inference import projection
from graphmae.inference.projection import principal, projections
from graphmae.inference.reconstruction import graph_errors
from graphmae.inference.similarity import nearest


def test_projections_keep_what_is_apart_and_leave_out_what_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(30, 8)) + 20 * np.eye(8)[i] for i in range(2)])
    monkeypatch.setattr(projection, "MOST_TSNE", 40)
    found = projections(rows)
    assert np.isfinite(found["PCA"]).all() and np.isfinite(found["t-SNE"]).all(axis=1).sum() == 40
    for places in found.values():
        first, second = places[:30], places[30:]
        gap = np.linalg.norm(np.nanmean(first, 0) - np.nanmean(second, 0))
        assert gap > 3 * max(np.nanstd(first, 0).min(), np.nanstd(second, 0).min())
    again = projections(rows)
    assert all(np.array_equal(found[name], again[name], equal_nan=True) for name in found)


@pytest.mark.parametrize("rows", [np.ones((3, 2)), np.zeros((6, 4)), np.ones((1, 3)), np.arange(6.0).reshape(6, 1)])
def test_projections_of_next_to_nothing(rows: np.ndarray) -> None:
    assert projections(rows)["PCA"].shape == (len(rows), 2)


def test_principal_directions_are_those_of_most_variance() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3)) * [1, 5, 0.1]
    found = principal(rows, 2)
    assert np.allclose(np.abs(np.corrcoef(found[:, 0], rows[:, 1])[0, 1]), 1, atol=1e-3)
    assert found[np.abs(found[:, 0]).argmax(), 0] > 0


def test_nearest_is_exact_also_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr("graphmae.inference.similarity.CHUNK", 7)
    places, cosines = nearest(rows, 4)
    unit = torch.nn.functional.normalize(rows)
    alike = unit @ unit.T - 9 * torch.eye(50)
    assert torch.equal(places, alike.topk(4, dim=1).indices) and torch.allclose(cosines, alike.topk(4, dim=1).values)
    assert nearest(rows[:2], 4)[0].tolist() == [[1], [0]]


def test_purity_counts_only_what_is_known() -> None:
    near = np.array([[1, 2], [0, 2], [3, 4], [2, 4], [2, 3]])
    mean, chance, levels = neighbour_purity(near, ["a", "a", "b", "b", None])
    assert mean == pytest.approx((0.5 + 0.5 + 1 + 1) / 4)
    assert levels == [("a", 2, 0.5, pytest.approx(1 / 3)), ("b", 2, 1.0, pytest.approx(1 / 3))]
    assert chance == pytest.approx(1 / 3)
    assert neighbour_purity(near, [None] * 5)[2] == []


def test_the_effective_rank_is_that_of_the_measures() -> None:
    rows = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    ring = torch.stack([torch.arange(60), torch.arange(60).roll(1)])
    graph = Data(x=torch.rand(60, 3), edge_index=ring)
    rank, shares = spectrum(rows)
    assert rank == pytest.approx(measures(rows, graph)["effective rank"], rel=1e-3)
    assert float(shares.sum()) == pytest.approx(1) and (shares.diff() <= 1e-12).all()


def test_errors_of_graphs_are_means_over_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [Data(x=torch.eye(3)[[0, 1, 2]], edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])) for _ in range(3)]
    found = GraphSet.from_list("paths", graphs)
    model = gm.GraphMAE(gm.encoders.GIN(3, hidden_channels=8), gm.decoders.GIN(8, out_channels=3))
    # A model that is right about the first graph and says the opposite of the others.
    monkeypatch.setattr(
        type(model), "reconstruct",
        lambda self, x, graph, hidden: torch.where((hidden < 3).unsqueeze(1), x[hidden], -x[hidden]),
    )  # fmt: skip
    assert graph_errors(model, found).tolist() == pytest.approx([0, 2, 2])
