"""Encoders on graphs whose edges have weights and features, beside what the formulas say."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from graphmae import encoders, kernels, masking
from graphmae.batching.partition import pieces
from graphmae.data.edge_data import with_loops
from graphmae.layers import GATConv, GCNConv
from graphmae.runtime.errors import DataError

NODES, WIDTH = 12, 5


def graph(seed: int = 0, features: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(NODES, NODES, generator=generator).triu(1)
    ends = (drawn > 0.6).nonzero().T
    data = Data(x=torch.randn(NODES, WIDTH, generator=generator), edge_index=torch.cat([ends, ends.flip(0)], dim=1))
    data.edge_weight = (torch.rand(ends.size(1), generator=generator) * 9 + 0.1).repeat(2)
    if features:
        data.edge_attr = torch.randn(ends.size(1), features, generator=generator).repeat(2, 1)
    return with_loops(data)


def dense(data: Data) -> torch.Tensor:
    """[receivers, senders]"""
    out = torch.zeros(NODES, NODES)
    out[data.edge_index[1], data.edge_index[0]] = data.edge_weight
    return out


def test_gcn_normalises_the_weights_symmetrically() -> None:
    data, conv = graph(), GCNConv(WIDTH, 3)
    matrix = dense(data)
    half = matrix.sum(1).rsqrt()
    expected = half[:, None] * matrix * half @ data.x @ conv.weight.T + conv.bias
    found = conv(data.x, kernels.View(kernels.edges_of(data)))  # type: ignore[arg-type]
    assert torch.allclose(found, expected, atol=1e-5)
    assert not torch.allclose(found, conv(data.x, data.edge_index), atol=1e-2)


def test_gat_multiplies_its_attention_by_the_weights() -> None:
    data, conv = graph(1), GATConv(WIDTH, 4, heads=2)
    h = torch.einsum("ni,hci->nhc", data.x, conv.weight)
    sent, heard = torch.einsum("nhc,shc->snh", h, conv.attention)
    score = torch.nn.functional.leaky_relu(heard[:, None] + sent[None], 0.2).exp() * dense(data).unsqueeze(2)
    expected = torch.einsum("ijh,jhc->ihc", score / score.sum(1, keepdim=True), h).flatten(1)
    assert torch.allclose(conv(data.x, kernels.View(kernels.edges_of(data))), expected, atol=1e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["gat", "gcn"])
@pytest.mark.parametrize("scale", [1e-6, 7.0, 1e6])
def test_what_weights_are_measured_in_does_not_matter(kind: str, scale: float) -> None:
    data = graph(2)
    encoder = encoders.build(kind, in_channels=WIDTH, hidden_channels=8).eval()
    before = encoder(data.x, kernels.edges_of(data))
    bare = Data(x=data.x, edge_index=data.edge_index, edge_weight=data.edge_weight * scale)
    assert torch.allclose(encoder(data.x, kernels.edges_of(bare)), before, atol=1e-4)
    assert torch.allclose(encoder(data.x, kernels.edges_of(with_loops(bare))), before, atol=1e-4)


@pytest.mark.parametrize("kind", ["gat", "gcn"])
def test_equal_weights_are_as_none(kind: str) -> None:
    data = graph(3)
    encoder = encoders.build(kind, in_channels=WIDTH, hidden_channels=8).eval()
    same = Data(x=data.x, edge_index=data.edge_index, edge_weight=torch.full_like(data.edge_weight, 3.0))
    assert torch.allclose(encoder(data.x, kernels.edges_of(same)), encoder(data.x, data.edge_index), atol=1e-5)


@pytest.mark.parametrize("kind", ["gat", "gcn", "gin"])
def test_edge_features_are_heard_and_learned_from(kind: str) -> None:
    data = graph(4, features=3)
    encoder = encoders.build(kind, in_channels=WIDTH, hidden_channels=8, edge_channels=3).eval()
    edges = kernels.edges_of(data)
    out = encoder(data.x, edges)
    out.sum().backward()
    tables = [block.conv.edge_table for block in encoder.blocks]  # type: ignore[union-attr]
    assert all(table.grad is not None and table.grad.abs().sum() > 0 for table in tables)
    other = Data(x=data.x, edge_index=data.edge_index, edge_weight=data.edge_weight, edge_attr=data.edge_attr + 1)
    assert not torch.allclose(out, encoder(data.x, kernels.edges_of(other)), atol=1e-3)
    assert torch.allclose(encoder(data.x, edges, rows=torch.tensor([7, 2])), out[[7, 2]], atol=1e-5) or kind == "gin"
    with pytest.raises(DataError, match="takes edge features, but the graph has none"):
        encoder(data.x, data.edge_index)


def test_mean_features_of_a_row_count_its_self_loop() -> None:
    data = graph(5, features=2)
    adj = kernels.edges_of(data)
    assert isinstance(adj, kernels.Adjacency) and adj.edge_means is not None
    mine = data.edge_index[1] == 3
    assert torch.allclose(adj.edge_means[3], data.edge_attr[mine].sum(0) / mine.sum())


def test_edges_that_are_dropped_take_their_weights_and_features_along() -> None:
    data = graph(6, features=2)
    adj = kernels.edges_of(data)
    assert isinstance(adj, kernels.Adjacency)
    keep = torch.rand(len(adj.col), generator=torch.Generator().manual_seed(0)) > 0.5
    left = masking.with_edges(adj, keep)
    table = {(int(a), int(b)): i for i, (a, b) in enumerate(data.edge_index.T)}
    places = torch.tensor([table[int(a), int(b)] for a, b in left.edge_index.T])
    assert torch.equal(left.weight, data.edge_weight[places])
    fresh = kernels.Adjacency.from_edges(left.edge_index, NODES, data.edge_weight[places], data.edge_attr[places])
    assert torch.allclose(left.edge_sums, fresh.edge_sums, atol=1e-6)  # type: ignore[arg-type]
    assert torch.allclose(left.symmetric_weight, fresh.symmetric_weight)


def test_parts_of_a_graph_keep_what_is_known_of_their_edges() -> None:
    data = graph(7, features=2)
    known = {(float(w), *row) for w, row in zip(data.edge_weight, data.edge_attr.tolist(), strict=True)}
    parts = pieces(data, 3)
    assert sum(len(part.x) for part in parts) == NODES
    for part in parts:
        assert part.edge_index.size(1) == len(part.edge_weight) == len(part.edge_attr)
        assert {(float(w), *row) for w, row in zip(part.edge_weight, part.edge_attr.tolist(), strict=True)} <= known
        apart = part.edge_index[0] == part.edge_index[1]
        assert not part.edge_attr[apart].any() and int(apart.sum()) == len(part.x)


def test_a_graph_is_sorted_once_and_again_when_its_weights_change() -> None:
    data = graph(8)
    first = kernels.edges_of(data)
    assert kernels.edges_of(data) is first
    data.edge_weight = data.edge_weight * 2
    assert kernels.edges_of(data) is not first
