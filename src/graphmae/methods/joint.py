"""Features and edges: GraphMAE's loss and that of hidden edges on one encoder, because they fail on opposite tasks."""

from __future__ import annotations

from torch import Tensor, nn

from .. import masking
from ..batching import Batch
from ..masking.nodes import NodeMask
from ..runtime.errors import ConfigError
from .base import REGISTRY
from .graphmae import GraphMAE
from .maskgae import HiddenEdges
from .pairs import EdgeMaskKind


@REGISTRY.register("joint")
class Joint(GraphMAE):
    """L = GraphMAE's + `weight` · MaskGAE's, each with a draw and a pass of its own.

    >>> import torch
    >>> from graphmae import decoders, encoders
    >>> model = Joint(encoders.GAT(64, hidden_channels=256, heads=4), decoders.GAT(256, out_channels=64))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        weight: of the edges' loss.
        rate, kind, walk, degree, decoder_channels, decoder_dropout: as in MaskGAE.
    """

    fixed_shapes = True
    loss_is_criterion = False
    is_sum_of_parts = False  # pairs are drawn within a batch
    of_seeds = (
        "nodes all over a batch are masked; masked seeds and hidden edges of seeds are scored, against pairs of seeds"
    )
    tries = ("method.weight=1.0,0.1,0.01", "method.kind=edge,path", "mask.rate=0.5,0.75")

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        mask: NodeMask | None = None,
        loss: nn.Module | None = None,
        remask: masking.RemaskKind = "zero",
        drop_edge: float = 0.0,
        mask_edges: bool = False,
        weight: float = 1.0,
        rate: float = 0.7,
        kind: EdgeMaskKind = "edge",
        walk: int = 3,
        degree: float = 0.0,
        decoder_channels: int = 64,
        decoder_dropout: float = 0.2,
    ) -> None:
        super().__init__(encoder, decoder, mask, loss, remask, drop_edge, mask_edges)
        if weight < 0:
            raise ConfigError(f"weight must be at least 0, not {weight}")
        self.weight = weight
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.edges = HiddenEdges(width, decoder_channels, rate, kind, walk, degree, decoder_dropout)

    @property
    def uses_edge_codes(self) -> bool:
        return bool(getattr(self.encoder, "edge_channels", 0))

    @property
    def takes_padding(self) -> bool:
        return False

    @property
    def reach(self) -> int:
        return 1

    def pair_scores(self, code: Tensor, first: Tensor, second: Tensor) -> Tensor:
        return self.edges.score(code, first, second)

    def loss(self, batch: Batch) -> Tensor:
        total: Tensor = super().loss(batch) + self.weight * self.edges(self.encoder, batch)
        return total
