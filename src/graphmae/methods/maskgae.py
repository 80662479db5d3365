"""MaskGAE (Li et al., KDD 2023): hide edges, and predict from the codes of what is left where they were."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from .. import kernels, masking
from ..batching import Batch
from ..layers import MLP
from ..runtime.errors import ConfigError
from .base import REGISTRY, Method
from .pairs import EdgeMaskKind, hidden_edges, of_seeds, other_pairs, undirected
from .views import check_rates


class HiddenEdges(nn.Module):
    """The loss of hidden edges: an MLP on z_u ⊙ z_v tells them from as many pairs that are no edges, and another
    one on z_u, where `degree` is above 0, says how many edges of a node are hidden."""

    def __init__(
        self,
        channels: int,
        hidden_channels: int,
        rate: float,
        kind: EdgeMaskKind = "edge",
        walk: int = 3,
        degree: float = 0.0,
        dropout: float = 0.2,
        leaky: bool = False,
    ) -> None:
        super().__init__()
        if not 0 < rate < 1 or walk < 1 or degree < 0:
            raise ConfigError(
                f"the share of edges must be in (0, 1), not {rate}; walk at least 1, not {walk}; "
                f"degree at least 0, not {degree}"
            )
        if kind not in ("edge", "path"):
            raise ConfigError(f"edges are hidden one by one ('edge') or along walks ('path'), not {kind!r}")
        check_rates(decoder_dropout=dropout)
        self.rate, self.kind, self.walk, self.degree = rate, kind, walk, degree
        self.dropout, self.leaky = dropout, leaky
        self.joined = MLP(channels, hidden_channels, 1, activation="relu", dropout=dropout)
        self.count = MLP(channels, hidden_channels, 1, activation="relu", dropout=dropout) if degree else None

    def forward(self, encoder: nn.Module, batch: Batch) -> Tensor:
        graph = kernels.adjacency(batch.graph, len(batch.x))
        seen, asked = hidden_edges(graph, self.rate, self.kind, self.walk, self.leaky)
        rest = Batch(batch.x, masking.with_edges(graph, seen), batch.batch, ids=batch.ids)
        code, known = kernels.encode(encoder, batch.x, rest.edges(encoder)), undirected(graph)
        ends = known.ends
        if (near := of_seeds(ends, batch.seeds, len(batch.x))) is not None:
            asked = asked * near
        if not asked.is_cuda:  # a recorded step computes all edges and counts some; elsewhere some are computed
            some = asked.nonzero().squeeze(1)
            ends, asked = (ends[0][some], ends[1][some]), asked[some]
        a, b, counts = other_pairs(graph, max(len(asked), 1), batch.batch, batch.seeds)
        loss = _mean(F.softplus(self.score(code, a, b)), counts.to(code.dtype))
        loss = loss + _mean(F.softplus(-self.score(code, *ends)), asked.to(code.dtype))
        if self.count is not None:
            hidden = (~seen).to(code.dtype)
            if graph.share is not None:  # sampled edges stand for others
                hidden = hidden * graph.share
            degree = code.new_zeros(len(code)).index_add(0, graph.row.long(), hidden[: len(graph.row)])
            guessed = F.relu(self.count(code)).squeeze(1)
            loss = loss + self.degree * F.mse_loss(batch.counted(guessed), batch.counted(degree))
        return loss

    def score(self, code: Tensor, first: Tensor, second: Tensor) -> Tensor:
        pairs = kernels.dropout(code[first] * code[second], self.dropout, self.training)
        return self.joined(pairs).squeeze(1)


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    return (values * weights).sum() / weights.sum().clamp(min=1)


@REGISTRY.register("maskgae")
class MaskGAE(Method):
    """L = BCE of hidden edges against 1, of as many pairs that are no edges against 0, + α (hidden edges of a node)².

    >>> import torch
    >>> from graphmae import encoders
    >>> model = MaskGAE(encoders.GCN(64, hidden_channels=32, norm="batch"))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        rate: share of the edges that are hidden, or of the nodes walks begin at.
        kind: hide edges one by one ("edge") or along walks ("path").
        walk: steps of a walk.
        degree: α, what predicting the number of hidden edges counts.
        decoder_channels, decoder_dropout: of the MLPs.
        leaky: as in the published code, where many edges that are asked for stay visible in one direction.
    """

    changes_edges = True
    of_seeds = "hidden edges of seeds are scored, against pairs of seeds"
    fixed_shapes = True
    tries = ("method.kind=edge,path", "method.rate=0.7,0.5", "method.degree=0.0,0.01")

    def __init__(
        self,
        encoder: nn.Module,
        rate: float = 0.7,
        kind: EdgeMaskKind = "edge",
        walk: int = 3,
        degree: float = 0.0,
        decoder_channels: int = 32,
        decoder_dropout: float = 0.2,
        leaky: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.edges = HiddenEdges(width, decoder_channels, rate, kind, walk, degree, decoder_dropout, leaky)

    @property
    def reach(self) -> int:
        return 1  # the other end of a seed's edge

    def loss(self, batch: Batch) -> Tensor:
        loss: Tensor = self.edges(self.encoder, batch)
        return loss

    def pair_scores(self, code: Tensor, first: Tensor, second: Tensor) -> Tensor:
        return self.edges.score(code, first, second)
