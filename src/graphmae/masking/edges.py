"""Edge dropping: the encoder sees fewer edges, the decoder always all of them."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from .. import kernels
from ..kernels import Adjacency
from ..runtime.errors import ConfigError


def drop_edges(edge_index: Tensor | Adjacency, rate: float) -> Tensor | Adjacency:
    """Drop every edge with probability `rate`; self-loops stay, each once.

    >>> loops = torch.tensor([[0, 1], [0, 1]])
    >>> drop_edges(loops, 0.99).tolist()
    [[0, 1], [0, 1]]
    """
    if isinstance(edge_index, Adjacency):
        return thinned(edge_index, rate)
    if rate == 0.0:
        return edge_index
    keep = torch.rand(edge_index.size(1), device=edge_index.device) >= rate
    return edge_index[:, keep | (edge_index[0] == edge_index[1])]


def thinned(adj: Adjacency, rate: float) -> Adjacency:
    """The same draw on sorted edges, without sorting again."""
    if rate == 0.0:
        return adj
    return with_edges(adj, (torch.rand(adj.col.numel(), device=adj.col.device) >= rate) | (adj.row == adj.col))


def with_edges(adj: Adjacency, keep: Tensor) -> Adjacency:
    """The graph with the edges `keep` [E] and their features alone."""
    if adj.edge_sums is not None and adj.edge_codes is None:
        raise ConfigError("edges with features can be hidden only where the features of single edges are kept")
    out = adj.kept(keep)
    return summed(out) if adj.edge_codes is not None else out


def masked_edges(adj: Adjacency, masked: Tensor) -> Adjacency:
    """The same graph, with features of edges from or to a `masked` node ([N] bool) hidden; self-loops keep theirs."""
    if adj.edge_codes is None or adj.edge_table is None:
        raise ConfigError("mask.mask_edges needs edges with features, as molecules have")
    row, col = adj.row.long(), adj.col.long()
    hidden = (masked[row] | masked[col]) & (row != col)
    out = copy.copy(adj)
    out.edge_codes = torch.where(hidden, len(adj.edge_table) - 1, adj.edge_codes.long())
    return summed(out)


def summed(adj: Adjacency) -> Adjacency:
    """With the sums of its edges' features as they are now."""
    assert adj.edge_codes is not None and adj.edge_table is not None
    adj.edge_sums = kernels.pool(adj.edge_table[adj.edge_codes.long()], adj.crow.long(), "sum")
    return adj
