"""Nodes against whole graphs: the heads and the Jensen–Shannon loss that InfoGraph and MVGRL share."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch


class Head(nn.Module):
    """Three linear maps with an activation after each, and a linear shortcut."""

    def __init__(self, in_channels: int, out_channels: int, activation: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        maps = [nn.Linear(width, out_channels) for width in (in_channels, out_channels, out_channels)]
        self.deep = nn.Sequential(*(part for linear in maps for part in (linear, activation())))
        self.shortcut = nn.Linear(in_channels, out_channels)
        for linear in (*maps, self.shortcut):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.deep(x) + self.shortcut(x)
        return out


def jensen_shannon(batch: Batch, nodes: Tensor, graphs: Tensor) -> Tensor:
    """r_ug = `nodes`_u · `graphs`_g; mean softplus(r) over other graphs' nodes + mean softplus(−r) over a graph's own.

    That is the Jensen–Shannon estimate of mutual information with the sign turned, and 0 where all r are 0. Of a batch
    of one graph only the second term is left.
    """
    owner = batch.batch if batch.batch is not None else torch.zeros(len(nodes), dtype=torch.long, device=nodes.device)
    owner, nodes = batch.counted(owner), batch.counted(nodes)
    scores = nodes @ graphs.t()  # [N, graphs]
    own = scores.gather(1, owner.unsqueeze(1)).squeeze(1)
    agreed = F.softplus(-own).mean() - math.log(2)
    if len(graphs) == 1:
        return agreed
    others = (F.softplus(scores).sum() - F.softplus(own).sum()) / (len(nodes) * (len(graphs) - 1))
    return agreed + others - math.log(2)
