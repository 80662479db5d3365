"""Context prediction (Hu et al., ICLR 2020): which ring of surroundings belongs to the neighbourhood of an atom?"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import kernels
from ..batching import Batch
from ..registry import arguments_of
from ..runtime.errors import ConfigError
from .augment import Graphs, restricted
from .base import REGISTRY, Method


@REGISTRY.register("context-pred")
class ContextPred(Method):
    """L = BCE of aᵀc against 1, and of aᵀc′ against 0, c′ the context of the next graph in the batch.

    a is the code of a random node in the sub-graph of all nodes at most `hops` away. c is the mean code, by a second
    network of 3 layers, of the nodes in this sub-graph that are also in the ring more than `inner` and at most
    `outer` hops away.
    Graphs too small to have such a ring are left out.

    >>> from graphmae import encoders
    >>> model = ContextPred(encoders.GIN(7, hidden_channels=8, num_layers=5), hops=2, inner=1, outer=3)
    >>> ring = torch.stack([torch.arange(12), torch.arange(12).roll(1)])
    >>> model(torch.rand(12, 7), torch.cat([ring, ring.flip(0)], dim=1)).shape
    torch.Size([])
    """

    tasks = ("graph", "molecule")
    changes_edges = True
    training_only = ("context",)

    def __init__(
        self, encoder: nn.Module, hops: int = 5, inner: int = 4, outer: int = 7, context_layers: int = 3
    ) -> None:
        super().__init__()
        if not 0 <= inner < hops < outer or context_layers < 1:
            raise ConfigError(
                f"there must be 0 ≤ inner < hops < outer, not {inner}, {hops}, {outer}; context_layers at least 1"
            )
        self.encoder, self.hops, self.inner, self.outer = encoder, hops, inner, outer
        _, arguments = arguments_of(encoder)
        if "num_layers" not in arguments:
            raise ConfigError("context-pred needs an encoder with the option num_layers, for the second network")
        self.context = type(encoder)(**{**arguments, "num_layers": context_layers})

    def loss(self, batch: Batch) -> Tensor:
        graphs = Graphs.of(batch)
        root = graphs.some(torch.ones_like(graphs.sizes))
        away = _distance(batch, root, self.outer)
        near, ring = away <= self.hops, (away > self.inner) & (away <= self.outer)
        anchors = (near & ring).to(batch.x.dtype)
        joint = anchors.new_zeros(len(graphs.sizes)).index_add(0, graphs.owner, anchors)
        there = joint > 0
        every = torch.ones(1, dtype=torch.bool, device=batch.x.device)
        around, apart = restricted(batch, near, every), restricted(batch, ring, every)
        code = self.encode(around)[root[near]]  # one row per graph
        if not bool(there.any()):
            return code.sum() * 0
        far = self.context(apart.x, apart.edges(self.context)) * anchors[ring].unsqueeze(1)
        context = far.new_zeros(len(joint), far.size(1)).index_add(0, graphs.owner[ring], far)
        code, context = code[there], (context / joint.clamp(min=1).unsqueeze(1))[there]
        agreed = F.softplus(-(code * context).sum(1)).mean()
        if len(code) == 1:  # there is no other graph's context
            return agreed
        return agreed + F.softplus((code * context.roll(1, 0)).sum(1)).mean()


def _distance(batch: Batch, root: Tensor, most: int) -> Tensor:
    """[N] edges between each node and the root of its graph; `most` + 1 where it is farther away."""
    adj = kernels.adjacency(batch.graph, len(batch.x))
    row, col = adj.row.long(), adj.col.long()
    away = torch.where(root, 0, most + 1)
    for _ in range(most):
        away = away.scatter_reduce(0, row, away[col] + 1, "amin")
    return away
