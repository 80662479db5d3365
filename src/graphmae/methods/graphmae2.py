"""GraphMAE2 (Hou et al., WWW 2023): several re-maskings, and a teacher's codes as a second target."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from .. import kernels, masking
from ..batching import Batch
from ..layers import MLP
from ..losses import ScaledCosineError
from ..masking.nodes import MaskedNodes, NodeMask
from ..runtime.errors import ConfigError
from . import graphmae_fast
from .base import REGISTRY
from .graphmae import GraphMAE
from .teacher import Teacher


@REGISTRY.register("graphmae2")
class GraphMAE2(GraphMAE):
    """L = Σₖ SCE_γ of the masked nodes' features under re-masking k + λ (1 − cos(p(π(h)), π̄(h̄))), mean over all nodes.

    h̄ is a teacher's code of the graph without a mask, π a projector (π̄ the teacher's), p a predictor.

    >>> from graphmae import decoders, encoders
    >>> model = GraphMAE2(encoders.GAT(64, hidden_channels=256, heads=4), decoders.GAT(256, out_channels=64))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        remasking: "fixed" re-masks the masked nodes once, as GraphMAE does; "random" a share of all nodes, with a
            learned token, several times.
        remask_rate, remask_draws: that share, and how often.
        latent: λ.
        momentum: of the teacher; 0: it is the encoder of the step before, 1: it stays as it began.
        projector_channels: width of π's hidden layer.
    """

    fixed_shapes = True
    tries = ("mask.rate=0.5,0.75", "method.latent=0.15,1.0", "method.momentum=0.0,0.99")
    of_seeds = "nodes all over a batch are masked; the seeds alone are scored, against features and against the teacher"
    training_only = ("teacher",)
    loss_is_criterion = False
    is_sum_of_parts = False  # a sum of means over different nodes

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        mask: NodeMask | None = None,
        loss: nn.Module | None = None,
        remask: masking.RemaskKind = "zero",
        drop_edge: float = 0.0,
        mask_edges: bool = False,
        remasking: Literal["fixed", "random"] = "fixed",
        remask_rate: float = 0.5,
        remask_draws: int = 3,
        latent: float = 0.15,
        momentum: float = 0.0,
        projector_channels: int = 256,
    ) -> None:
        super().__init__(encoder, decoder, mask, loss, remask, drop_edge, mask_edges)
        if remasking not in ("fixed", "random") or not 0 < remask_rate < 1 or remask_draws < 1:
            raise ConfigError(
                f"remasking must be 'fixed' or 'random', not {remasking!r}; remask_rate in (0, 1), not {remask_rate}; "
                f"remask_draws at least 1, not {remask_draws}"
            )
        if latent < 0 or not 0 <= momentum <= 1:
            raise ConfigError(f"latent must be at least 0, not {latent}; momentum in [0, 1], not {momentum}")
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.projector = MLP(width, projector_channels, width)
        self.predictor = nn.Sequential(nn.PReLU(), nn.Linear(width, width))
        self.teacher = Teacher(nn.ModuleList([encoder, self.projector]), momentum)
        self.remasking, self.remask_rate, self.remask_draws = remasking, remask_rate, remask_draws
        self.latent, self.agreement = latent, ScaledCosineError(gamma=1.0)
        self.token = nn.Parameter(torch.zeros(1, self.bridge.out_features)) if remasking == "random" else None

    @property
    def records_steps(self) -> bool:
        parts = self.mask, self.encoder, self.decoder, self.criterion
        return self.fixed_shapes and all(getattr(part, "records_steps", False) for part in parts)

    @property
    def takes_padding(self) -> bool:
        return False

    def plain_loss(self, batch: Batch) -> Tensor:
        hidden = self.mask.draw_in(batch)
        graph = kernels.adjacency(batch.graph_for(self.encoder, self.decoder), len(batch.x))
        if self.mask_edges:
            graph = masking.masked_edges(graph, hidden.flags)
        code = self._code(batch.x, graph, hidden)
        counts = slice(None) if batch.seeds is None else torch.isin(hidden.masked, batch.seeds)
        target = self.target(batch.x)[hidden.masked][counts]
        inner, total = self.to_decoder(code), code.new_zeros(())
        for erased in self._erased(inner, hidden):
            total = total + self.criterion(self.decode(erased, graph, hidden.masked)[counts], target)
        if self.latent:
            guessed, said = self.predictor(self.projector(code)), self._said(batch)
            total = total + self.latent * self.agreement(batch.counted(guessed), batch.counted(said))
            if self.training:  # as published before the optimiser moves: the teacher is a step behind
                self.teacher.follow(nn.ModuleList([self.encoder, self.projector]))
        return total

    def _code(self, x: Tensor, graph: kernels.Adjacency, hidden: MaskedNodes) -> Tensor:
        if getattr(self.encoder, "takes_rows", False):
            return graphmae_fast.encode(self, x, graph, hidden, None)
        return self.encode(Batch(hidden.apply(x, self.mask_token), masking.thinned(graph, self.drop_edge)))

    def _erased(self, code: Tensor, hidden: MaskedNodes) -> list[Tensor]:
        """What the decoder gets, once for every re-masking."""
        if self.token is None:
            return [self.erase(code, hidden.flags)]
        draws = [torch.rand(len(code), 1, device=code.device) < self.remask_rate for _ in range(self.remask_draws)]
        return [torch.where(draw, self.token, code) for draw in draws]

    @torch.no_grad()
    def _said(self, batch: Batch) -> Tensor:
        assert isinstance(self.teacher.network, nn.ModuleList)
        student, projector = self.teacher.network
        out: Tensor = projector(kernels.encode(student, batch.x, batch.edges(student)))
        return out
