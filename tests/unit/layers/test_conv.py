"""Our convolutions compute what PyG's do, in either order of projection and aggregation, on all rows or some."""

from __future__ import annotations

import pytest
import torch
from torch_geometric import nn as pyg

from graphmae.layers import MLP, GATConv, GCNConv, GINConv

N = 9
EDGES = torch.tensor(
    [[0, 1, 2, 3, 4, 4, 5, 6, 0, 0], [1, 0, 1, 2, 2, 3, 6, 5, 0, 1]]
)  # loops, a multi-edge, isolated nodes


@pytest.mark.parametrize(("inside", "out"), [(5, 3), (3, 5)])
def test_gat_agrees_with_pyg(inside: int, out: int) -> None:
    ours = GATConv(inside, out, heads=2)
    theirs = pyg.GATConv(inside, out, heads=2, add_self_loops=False)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.weight.flatten(0, 1))
        theirs.att_src.copy_(ours.attention[0])
        theirs.att_dst.copy_(ours.attention[1])
        theirs.bias.copy_(ours.bias.normal_())
    x = torch.randn(N, inside)
    assert torch.allclose(ours(x, EDGES), theirs(x, EDGES), atol=1e-5)


@pytest.mark.parametrize(("inside", "out"), [(5, 3), (3, 5)])
def test_gin_agrees_with_pyg(inside: int, out: int) -> None:
    mlp = MLP(inside, 4, out)
    theirs = pyg.GINConv(mlp)  # resets the perceptron's weights, so it comes first
    x = torch.randn(N, inside)
    assert torch.allclose(GINConv(mlp)(x, EDGES), theirs(x, EDGES), atol=1e-5)


@pytest.mark.parametrize(("inside", "out"), [(5, 3), (3, 5)])
def test_gcn_agrees_with_the_formula(inside: int, out: int) -> None:
    conv = GCNConv(inside, out)
    x = torch.randn(N, inside)
    dense = torch.zeros(N, N).index_put((EDGES[1], EDGES[0]), torch.ones(EDGES.size(1)), accumulate=True)
    scale = dense.sum(1).clamp(min=1).rsqrt()[:, None] * dense.sum(0).clamp(min=1).rsqrt()[None]
    expected = (dense * scale) @ x @ conv.weight.T + conv.bias
    assert torch.allclose(conv(x, EDGES), expected, atol=1e-5)


@pytest.mark.parametrize(("inside", "out"), [(5, 3), (3, 5)])
@pytest.mark.parametrize("kind", ["gat", "gat-mean", "gcn", "gin"])
def test_restricted_rows_are_rows_of_the_whole(kind: str, inside: int, out: int) -> None:
    conv = {
        "gat": lambda: GATConv(inside, out, heads=2),
        "gat-mean": lambda: GATConv(inside, out, heads=3, concat=False),
        "gcn": lambda: GCNConv(inside, out),
        "gin": lambda: GINConv(MLP(inside, 4, out)),
    }[kind]()
    x, rows = torch.randn(N, inside, requires_grad=True), torch.tensor([7, 1, 0, 6])
    whole, part = conv(x, EDGES), conv(x, EDGES, rows)
    assert torch.allclose(whole[rows], part, atol=1e-5)
    grad = torch.randn_like(part)
    a, b = torch.autograd.grad(whole[rows], x, grad)[0], torch.autograd.grad(part, x, grad)[0]
    assert torch.allclose(a, b, atol=1e-5)
