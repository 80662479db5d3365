"""GraphMAE with the neighbourhood of a masked node as its target (SimSGT's idea, Liu et al., NeurIPS 2023)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .. import kernels, masking
from ..batching import Batch
from ..masking.nodes import NodeMask
from ..runtime.errors import ConfigError
from . import graphmae_fast
from .base import REGISTRY
from .graphmae import GraphMAE


@REGISTRY.register("graphmae-neighbourhood")
class NeighbourhoodMAE(GraphMAE):
    """Predicts, for masked nodes, tᵢ = norm(Σⱼ eⱼ + ε eᵢ) over neighbours j, not the features xᵢ.

    e is the encoder's own embedding of the features, where it has one (`embed`), without a gradient; the norm gives
    every column mean 0 and deviation 1 over the batch. The paper's loss is MSE.

    >>> from graphmae import decoders, encoders
    >>> model = NeighbourhoodMAE(encoders.GAT(64, hidden_channels=256, heads=4), decoders.GAT(256, out_channels=64))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        own: ε, what a node's own features count.
    """

    fixed_shapes = True
    is_sum_of_parts = False  # targets are scaled over the batch
    of_seeds = "nodes all over a batch are masked; masked seeds are scored, on a scale that is that of a batch's seeds"

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        mask: NodeMask | None = None,
        loss: nn.Module | None = None,
        remask: masking.RemaskKind = "zero",
        drop_edge: float = 0.0,
        mask_edges: bool = False,
        own: float = 0.5,
    ) -> None:
        super().__init__(encoder, decoder, mask, loss, remask, drop_edge, mask_edges)
        if own < 0:
            raise ConfigError(f"own must be at least 0, not {own}")
        self.own = own
        if int(decoder.out_channels) != self.decoded_channels(encoder, int(encoder.in_channels)):  # type: ignore[arg-type]
            raise ConfigError(f"the decoder gives {decoder.out_channels} features, the targets have another width")

    @classmethod
    def decoded_channels(cls, encoder: nn.Module, features: int) -> int:
        embed = getattr(encoder, "embed", None)
        return int(encoder.in_channels if embed is None else embed.out_features)  # type: ignore[arg-type]

    @property
    def takes_padding(self) -> bool:
        return False

    def plain_loss(self, batch: Batch) -> Tensor:
        hidden = self.mask.draw_in(batch)
        graph = kernels.adjacency(batch.graph_for(self.encoder, self.decoder), len(batch.x))
        prediction = graphmae_fast.rebuild(self, batch.x, graph, hidden)
        counts = slice(None) if batch.seeds is None else torch.isin(hidden.masked, batch.seeds)
        tokens = self.tokens(batch.x, graph, batch.seeds)
        return self.criterion(prediction[counts], tokens[hidden.masked][counts])

    @torch.no_grad()
    def tokens(self, x: Tensor, graph: kernels.Adjacency, seeds: Tensor | None = None) -> Tensor:
        """[N, width] the targets of all nodes; of the `seeds` [S] mean and deviation are taken."""
        embed = getattr(self.encoder, "embed", None)
        e = x if embed is None else embed(x)
        others = (graph.row != graph.col).to(e.dtype).unsqueeze(1)
        if graph.share is not None:  # sampled edges stand for others
            others = others * graph.share.unsqueeze(1)
        summed = kernels.aggregate(kernels.View(graph), e.unsqueeze(1), others).squeeze(1) + self.own * e
        spread, middle = torch.std_mean(summed if seeds is None else summed[seeds], dim=0, correction=0)
        return (summed - middle) / (spread + 1e-5)
