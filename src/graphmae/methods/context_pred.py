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

    @property
    def takes_padding(self) -> bool:
        return all(getattr(part, "records_steps", False) for part in (self.encoder, self.context))

    def loss(self, batch: Batch) -> Tensor:
        graphs = Graphs.of(batch)
        root = graphs.some(torch.ones_like(graphs.sizes))
        away = _distance(batch, root, self.outer)
        near, ring = away <= self.hops, (away > self.inner) & (away <= self.outer)
        anchors = (near & ring).to(batch.x.dtype)
        joint = _sums(anchors, graphs)
        (around, _), (apart, rows) = restricted(batch, near), restricted(batch, ring)
        place = _sums(torch.where(root, near.cumsum(0) - 1, 0), graphs)  # of every graph's root in what is near it
        code = self.encode(around)[place]
        if not len(rows):  # no graph is large enough
            return code.sum() * 0
        far = kernels.encode(self.context, apart.x, apart.edges(self.context)) * anchors[rows].unsqueeze(1)
        context = far.new_zeros(len(joint) + 1, far.size(1)).index_add(0, graphs.owner[rows], far)[:-1]
        return _told_apart(code, context / joint.clamp(min=1).unsqueeze(1), joint > 0)


def _sums(values: Tensor, graphs: Graphs) -> Tensor:
    """[G] the sums of `values` [N] over the nodes of each graph."""
    return values.new_zeros(len(graphs.sizes) + 1).index_add(0, graphs.owner, values)[:-1]


def _told_apart(code: Tensor, context: Tensor, there: Tensor) -> Tensor:
    """The loss over the graphs that are `there` [G]; each has the context of the one before it as a wrong one.

    Shapes do not depend on how many there are, so that this can be recorded.
    """
    count = there.sum()
    order = (~there).to(torch.uint8).argsort(stable=True)
    before = order[torch.remainder(there.cumsum(0) - 2, count.clamp(min=1))]
    right, wrong = F.softplus(-(code * context).sum(1)), F.softplus((code * context[before]).sum(1))
    return torch.where(there, right + wrong * (count > 1), 0.0).sum() / count.clamp(min=1)


def _distance(batch: Batch, root: Tensor, most: int) -> Tensor:
    """[N] edges between each node and the root of its graph; `most` + 1 where it is farther away."""
    adj = kernels.adjacency(batch.graph, len(batch.x))
    row, col = adj.row.long(), adj.col.long()
    away = torch.where(root, 0, most + 1)
    for _ in range(most):
        away = away.scatter_reduce(0, row, away[col] + 1, "amin")
    return away
