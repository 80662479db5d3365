"""Hidden edges are hidden: no pair asked of a decoder is visible to the encoder, in either direction."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmae import decoders, encoders, kernels, methods
from graphmae.methods.pairs import hidden_edges, other_pairs, undirected


def graph(nodes: int, seed: int) -> kernels.Adjacency:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    both = torch.cat([edges, edges.flip(0), torch.arange(nodes).expand(2, -1)], dim=1)
    return kernels.adjacency(torch.unique(both, dim=1), nodes)


@given(st.integers(2, 30), st.integers(0, 50), st.sampled_from(["edge", "path"]), st.floats(0.1, 0.9))
@settings(max_examples=40, deadline=None)
def test_nothing_that_is_asked_for_is_visible(nodes: int, seed: int, kind: str, rate: float) -> None:
    adj = graph(nodes, seed)
    torch.manual_seed(seed)
    seen, asked = hidden_edges(adj, rate, kind, walk=3, leaky=False)  # type: ignore[arg-type]
    visible = {tuple(pair) for pair in adj.edge_index[:, seen].T.tolist()}
    first, second = (end[asked > 0].tolist() for end in undirected(adj).ends)
    for pair in zip(first, second, strict=True):
        assert pair not in visible and pair[::-1] not in visible
    assert {(i, i) for i in range(nodes)} <= visible  # self-loops are never taken away
    every = {tuple(sorted(pair)) for pair in adj.edge_index.T.tolist() if pair[0] != pair[1]}
    assert set(zip(first, second, strict=True)) | {tuple(sorted(p)) for p in visible if p[0] != p[1]} == every


def test_the_published_draw_leaks() -> None:
    adj = graph(200, 0)
    torch.manual_seed(0)
    seen, asked = hidden_edges(adj, 0.7, "edge", walk=3, leaky=True)
    visible = {tuple(pair) for pair in adj.edge_index[:, seen].T.tolist()}
    pairs = list(zip(*(end[asked > 0].tolist() for end in undirected(adj).ends), strict=True))
    share = sum(pair in visible for pair in pairs) / len(pairs)
    assert share == pytest.approx(2 * 0.7 * 0.3 / (1 - 0.3**2), abs=0.06)  # asked once, and kept once


def test_walks_do_not_stand_still_on_self_loops() -> None:
    line = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    adj = kernels.adjacency(torch.cat([line, torch.arange(3).repeat(50).expand(2, -1)], dim=1), 3)
    torch.manual_seed(0)
    for _ in range(20):  # a walk of one step from one of three nodes goes over an edge
        _, asked = hidden_edges(adj, 0.4, "path", walk=1, leaky=False)
        assert int(asked.sum()) == 1


def test_hidden_edges_take_their_features_with_them() -> None:
    from graphmae import masking
    from graphmae.runtime.errors import ConfigError

    adj = graph(10, 0)
    adj.edge_sums = torch.ones(10, 1)
    with pytest.raises(ConfigError, match="features of single edges"):
        masking.with_edges(adj, torch.ones(len(adj.col), dtype=torch.bool))
    adj.edge_table, adj.edge_codes = torch.tensor([[1.0], [7.0]]), torch.ones(len(adj.col), dtype=torch.uint8)
    seen, _ = hidden_edges(adj, 0.5, "edge", walk=3, leaky=False)
    left = masking.with_edges(adj, seen)
    assert torch.equal(left.edge_sums.squeeze(1), 7.0 * left.crow.diff())  # type: ignore[union-attr]
    for name in ("bgrl", "grace", "cca-ssg", "maskgae", "joint", "graphcl", "context-pred"):
        made = {"encoder": encoders.MoleculeGIN(9, hidden_channels=8, edge_channels=3)}
        if name == "joint":
            made["decoder"] = decoders.build("molecule-gin", in_channels=8, out_channels=9, edge_channels=3)
        assert methods.REGISTRY.build(name, **made).uses_edge_codes, name


def test_other_pairs_are_no_edges_and_stay_within_their_graph() -> None:
    adj = graph(40, 1)
    torch.manual_seed(1)
    first, second, counts = other_pairs(adj, 500, None)
    edges = {tuple(pair) for pair in adj.edge_index.T.tolist()}
    for a, b, counted in zip(first.tolist(), second.tolist(), counts.tolist(), strict=True):
        assert counted == ((a, b) not in edges)
    owner = torch.arange(40) // 10
    first, second, _ = other_pairs(adj, 500, owner)
    assert torch.equal(owner[first], owner[second])
