"""InfoGraph (Sun et al., ICLR 2020): every node is recognised as part of its own graph, and of no other."""

from __future__ import annotations

from torch import Tensor, nn

from ..batching import Batch
from .agreement import Head, jensen_shannon
from .base import REGISTRY, Method


@REGISTRY.register("infograph")
class InfoGraph(Method):
    """r_ug = φ(h_u)ᵀ ψ(Σ h of graph g); L = mean softplus(r) over other graphs' nodes + mean softplus(−r) over its own.

    That is the Jensen–Shannon estimate of mutual information, with the sign turned and without constants. Take an
    encoder with output = "all", and the sum as readout, as published. Of a batch of one graph only the second term
    is left.

    >>> import torch
    >>> from graphmae import encoders
    >>> model = InfoGraph(encoders.GIN(7, hidden_channels=32, num_layers=3, output="all"))
    >>> ring = torch.stack([torch.arange(6), torch.arange(6).roll(1)])
    >>> model(torch.rand(6, 7), ring, torch.tensor([0, 0, 0, 1, 1, 1])).shape
    torch.Size([])
    """

    tasks = ("graph", "molecule")

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.of_nodes, self.of_graphs = Head(width, width), Head(width, width)

    def loss(self, batch: Batch) -> Tensor:
        code = self.encode(batch)
        return jensen_shannon(batch, self.of_nodes(code), self.of_graphs(batch.sum(code)))
