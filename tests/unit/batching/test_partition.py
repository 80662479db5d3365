"""A graph in pieces: every node once, only edges between pieces lost."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphmae.batching.partition import pieces


@given(st.integers(2, 60), st.integers(1, 8), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_pieces_hold_every_node_once(nodes: int, count: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    parts = pieces(Data(x=torch.arange(nodes).float().unsqueeze(1), edge_index=edges), min(count, nodes))
    seen = torch.cat([part.x for part in parts]).flatten().long()
    assert sorted(seen.tolist()) == list(range(nodes))
    original = {tuple(pair) for pair in edges.T.tolist()}
    kept = 0
    for part in parts:
        back = part.x.flatten().long()[part.edge_index]
        assert {tuple(pair) for pair in back.T.tolist()} <= original
        kept += part.edge_index.size(1)
    assert kept == edges.size(1) if len(parts) == 1 else kept <= edges.size(1)


def test_neighbours_stay_together_on_a_path() -> None:
    path = torch.stack([torch.arange(999), torch.arange(1, 1000)])
    shuffled = torch.randperm(1000, generator=torch.Generator().manual_seed(0))[path]
    parts = pieces(Data(x=torch.zeros(1000, 1), edge_index=shuffled), 10)
    assert sum(part.edge_index.size(1) for part in parts) == 999 - 9
