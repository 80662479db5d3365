"""A pre-trained encoder with a head: what fine-tuning trains and `predict` uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import kernels
from ..batching import Batch
from ..encoders import StackedEncoder
from ..runtime.errors import ConfigError

Kind = Literal["classification", "regression"]


class Predictor(nn.Module):
    """encoder → readout → one linear map; several targets at once, of which any may be missing.

    Args:
        names: the targets.
        kind: classes 0 and 1 by cross-entropy, or numbers by squared error, scaled to what was trained on.
        dropout: after every layer of the encoder, in training.

    >>> from graphmae import encoders
    >>> Predictor(encoders.GIN(8, hidden_channels=16), ["toxic"]).head.out_features
    1
    """

    center: Tensor
    scale: Tensor
    balance: Tensor

    def __init__(
        self,
        encoder: nn.Module,
        names: Sequence[str],
        kind: Kind = "classification",
        readout: str = "mean",
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ConfigError(f"finetune.dropout must be in [0, 1), not {dropout}")
        self.encoder, self.names, self.kind, self.readout, self.dropout = encoder, tuple(names), kind, readout, dropout
        self.inputs: dict[str, object] = {}  # how features and self-loops were treated; stored with the weights
        if isinstance(encoder, StackedEncoder):
            for block in encoder.blocks[1:]:  # the input of a layer is the output of the one before
                block.dropout = dropout  # type: ignore[assignment]
        width = int(encoder.out_channels) * len(readout.split("+"))  # type: ignore[arg-type]
        self.head = nn.Linear(width, len(self.names))
        for name, value in (("center", 0.0), ("scale", 1.0)):
            self.register_buffer(name, torch.full((len(self.names),), value))
        self.register_buffer("balance", torch.ones(len(self.names)), persistent=False)

    def forward(self, batch: Batch) -> Tensor:
        """G graphs side by side, taken from a store → [G, targets], unscaled."""
        return self.head(self.embed(batch))

    def embed(self, batch: Batch) -> Tensor:
        """What the head sees: [G, width]."""
        code = kernels.encode(self.encoder, batch.x, batch.edges(self.encoder))
        nodes = kernels.dropout(code, self.dropout, self.head.training)
        return torch.cat([kernels.pool(nodes, batch.pointer, way) for way in self.readout.split("+")], dim=1)

    def fit_scale(self, targets: Tensor, balance: bool = False) -> None:
        """From the training targets [G, T], NaN where missing: the scale of numbers, or how rare the class 1 is."""
        known = ~targets.isnan()
        count = known.sum(0).clamp(min=1)
        if self.kind == "regression":
            self.center.copy_(targets.nan_to_num().sum(0) / count)
            spread = ((targets - self.center).nan_to_num().square().sum(0) / count).sqrt()
            self.scale.copy_(torch.where(spread > 0, spread, 1.0))
        elif balance:
            ones = (targets == 1).sum(0)
            self.balance.copy_((count - ones).clamp(min=1) / ones.clamp(min=1))

    @torch.no_grad()
    def undo_balance(self) -> None:
        """Probabilities of the classes as frequent as they are: weighing class 1 by w adds log w to every logit."""
        self.head.bias.sub_(self.balance.log())
        self.balance.fill_(1.0)

    def loss(self, out: Tensor, targets: Tensor) -> Tensor:
        """Over the targets that are known: `targets` [G, T], NaN where missing."""
        known = ~targets.isnan()
        if self.kind == "regression":
            error = (out - (targets.nan_to_num() - self.center) / self.scale).square()
        else:
            error = F.binary_cross_entropy_with_logits(
                out, targets.nan_to_num(), reduction="none", pos_weight=self.balance
            )
        return torch.where(known, error, 0.0).sum() / known.sum().clamp(min=1)

    def answer(self, out: Tensor) -> Tensor:
        """Probabilities of class 1, or numbers in the targets' own units."""
        return out.sigmoid() if self.kind == "classification" else out * self.scale + self.center
