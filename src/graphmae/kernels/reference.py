"""The kernels in plain torch: what the others are compared with."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .adjacency import Adjacency


def row_softmax(adj: Adjacency, logits: Tensor) -> Tensor:
    index = adj.row.unsqueeze(1).expand_as(logits)
    highest = logits.new_zeros(adj.num_rows, logits.size(1))
    highest = highest.scatter_reduce(0, index, logits.detach(), "amax", include_self=False)
    weight = (logits - highest.index_select(0, adj.row)).exp()
    total = torch.zeros_like(highest).index_add(0, adj.row, weight)
    return weight / total.index_select(0, adj.row)


def aggregate(adj: Adjacency, x: Tensor, weight: Tensor | None) -> Tensor:
    message = x.index_select(0, adj.col)
    if weight is not None:
        message = message * weight.unsqueeze(-1)
    heads = message.size(1)
    return x.new_zeros(adj.num_rows, heads, x.size(2)).index_add(0, adj.row, message)


def dropout(x: Tensor, p: float) -> Tensor:
    return F.dropout(x, p, training=True)
