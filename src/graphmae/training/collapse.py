"""Notices a training that learns nothing: embeddings that become alike or of one direction, a loss that stays."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from ..runtime.errors import GraphMAEError

logger = logging.getLogger("graphmae")
MOST_ROWS = 1024
CONSTANT = 1e-10  # share of the embeddings' squares that is not their mean, below which they are all alike
FEW_DIRECTIONS = 1.2  # how many directions, counted by their share of the variance, are too few
ENOUGH_DIRECTIONS = 3.0  # ... if there were this many before training
SAME = 1e-6  # share by which a loss must move
MIN_STEPS = 20  # before a loss that has not moved is worth a word


def spread_and_directions(rows: Tensor) -> tuple[float, float]:
    """The share of squares that is not the mean, and (Σλ)² / Σλ² of the covariance's eigenvalues λ.

    >>> import torch
    >>> spread_and_directions(torch.tensor([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]]))
    (0.5, 1.0)
    """
    rows = rows[:: -(-len(rows) // MOST_ROWS)].detach().double().cpu()
    centred = rows - rows.mean(0)
    total, around = float(rows.square().sum()), float(centred.square().sum())
    if not total or not around:
        return 0.0, 0.0
    gram = centred @ centred.T if len(centred) < centred.size(1) else centred.T @ centred
    return around / total, around**2 / float(gram.square().sum())


class Collapse:
    """A hook that looks at embeddings before training and three times in it. It draws no random numbers.

    `embed` gives rows of the encoder in evaluation mode, `epochs` is how many there will be.
    """

    def __init__(self, embed: Callable[[], Tensor], epochs: int, label: str = "train") -> None:
        self.embed, self.label = embed, label
        self.looks = {-(-epochs // 4), -(-epochs // 2), epochs}
        self.before: tuple[float, float] | None = None
        self.losses: list[Tensor] = []
        self.is_warned = False

    def start(self) -> None:
        """Look at the embeddings of the untrained encoder."""
        self.before = spread_and_directions(self.embed())

    def note(self, step: int, loss: Tensor) -> None:
        """After every step: the first loss and the last one are kept, without waiting for the device."""
        self.losses = [*self.losses[:1], loss]

    def state_dict(self) -> dict[str, Any]:
        return {"before": self.before, "is_warned": self.is_warned, **({"loss": self.losses[0]} if self.losses else {})}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.before = (float(state["before"][0]), float(state["before"][1])) if state["before"] else None
        self.is_warned = bool(state["is_warned"])
        self.losses = [state["loss"]] if "loss" in state else []

    def __call__(self, epoch: int) -> None:
        if epoch not in self.looks or self.before is None:
            return
        spread, directions = spread_and_directions(self.embed())
        if not math.isfinite(spread):
            return  # the loss says so, too, and names the step
        if spread < CONSTANT <= self.before[0]:
            raise GraphMAEError(
                f"{self.label}: the embeddings have collapsed: in epoch {epoch} all nodes get the same one; try a "
                "smaller learning rate, less weight decay, or another norm (--set encoder.norm=batch)"
            )
        if directions < FEW_DIRECTIONS and self.before[1] >= ENOUGH_DIRECTIONS and not self.is_warned:
            self.is_warned = True
            logger.warning(
                "%s: the embeddings are collapsing: in epoch %d they vary in %.1f directions, before training in %.1f; "
                "try a smaller learning rate or less weight decay",
                self.label, epoch, directions, self.before[1],
            )  # fmt: skip

    def finish(self, steps: int) -> None:
        """After training: a word on a loss that has stayed where it was."""
        if steps < MIN_STEPS or len(self.losses) < 2:
            return
        first, last = (float(loss) for loss in self.losses)
        if abs(last - first) <= SAME * abs(first):
            logger.warning(
                "%s: the loss is %.6g after %d steps, as it was after the first: nothing was learned; try a larger "
                "learning rate, and check that features differ from node to node", self.label, last, steps,
            )  # fmt: skip
