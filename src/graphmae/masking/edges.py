"""Edge dropping: the encoder sees fewer edges, the decoder always all of them."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels import Adjacency


def drop_edges(edge_index: Tensor, rate: float) -> Tensor:
    """Drop every edge with probability `rate`; self-loops stay, each once.

    >>> loops = torch.tensor([[0, 1], [0, 1]])
    >>> drop_edges(loops, 0.99).tolist()
    [[0, 1], [0, 1]]
    """
    if rate == 0.0:
        return edge_index
    keep = torch.rand(edge_index.size(1), device=edge_index.device) >= rate
    return edge_index[:, keep | (edge_index[0] == edge_index[1])]


def thinned(adj: Adjacency, rate: float) -> Adjacency:
    """The same draw on sorted edges, without sorting again."""
    if rate == 0.0:
        return adj
    return adj.kept((torch.rand(adj.col.numel(), device=adj.col.device) >= rate) | (adj.row == adj.col))
