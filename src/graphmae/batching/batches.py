"""The batches of one epoch after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor


class Shuffled:
    """The graphs `ids` [M] in a new order every epoch, `size` at a time: their numbers, or what `take` makes of them.

    >>> batches = Shuffled(torch.arange(5), size=2)
    >>> len(batches), sorted(len(ids) for ids in batches)
    (3, [1, 2, 2])

    Args:
        pairs: leave out a batch of a single graph, for norms that need two; it has its turn in another epoch.
        device: where the numbers are put.
    """

    def __init__(
        self,
        ids: Tensor,
        size: int,
        take: Callable[[Tensor], Any] | None = None,
        pairs: bool = False,
        device: torch.device | None = None,
    ) -> None:
        self.ids, self.size, self.take, self.device = ids, size, take, device
        self.drops_last = pairs and len(ids) > 1 and (len(ids) % size == 1 or size == 1)

    def __len__(self) -> int:
        return -(-len(self.ids) // self.size) - self.drops_last

    def __iter__(self) -> Iterator[Any]:
        order = self.ids[torch.randperm(len(self.ids))].to(self.device)
        for chosen in order.split(self.size)[: len(self)]:
            yield chosen if self.take is None else self.take(chosen)
