"""What the CUDA kernels share."""

from __future__ import annotations

import triton
from torch import Tensor

from ..adjacency import View


def channel_block(channels: int, most: int) -> int:
    """How many channels one program handles: a power of two."""
    return min(triton.next_power_of_2(channels), most)


def warps(block: int) -> int:
    return 4 if block >= 256 else 2 if block >= 128 else 1


def keep_of(view: View) -> tuple[Tensor, bool]:
    """(pointer, whether it means anything): a kernel takes no None."""
    return (view.adj.col, False) if view.keep is None else (view.keep, True)
