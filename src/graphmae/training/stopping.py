"""When to stop, without labels: when masked nodes are reconstructed no better than a while ago."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

EVERY = 5  # epochs between two looks
MIN_IMPROVEMENT = 0.005  # a smaller share of improvement over `patience` epochs is none


class Plateau:
    """Called after every epoch: measures now and then, and says when to stop.

    >>> values = iter([1.0, 0.5, 0.4, 0.4, 0.4])
    >>> plateau = Plateau(lambda: next(values), patience=10)
    >>> [bool((plateau(epoch) or {}).get("stop")) for epoch in (5, 10, 15, 20, 25)]
    [False, False, False, False, True]
    """

    def __init__(self, measure: Callable[[], float], patience: int) -> None:
        self.measure, self.patience = measure, patience
        self.seen: dict[int, float] = {}

    def state_dict(self) -> dict[str, Any]:
        """What was measured so far, for a training that is resumed."""
        return {"seen": list(self.seen.items())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen = {int(epoch): float(value) for epoch, value in state["seen"]}

    def reason(self) -> str:
        """Why training was stopped, for people."""
        return f"the loss of hidden nodes has not improved by {MIN_IMPROVEMENT:.1%} in {self.patience} epochs"

    def __call__(self, epoch: int) -> dict[str, Any] | None:
        if epoch % EVERY:
            return None
        self.seen[epoch] = now = self.measure()
        before = [value for when, value in self.seen.items() if when <= epoch - self.patience]
        after = [value for when, value in self.seen.items() if epoch - self.patience < when <= epoch]
        if before and min(after) > min(before) - MIN_IMPROVEMENT * abs(min(before)):
            return {"criterion": now, "stop": True}
        return {"criterion": now}
