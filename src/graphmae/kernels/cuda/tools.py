"""What the CUDA kernels share."""

from __future__ import annotations

import triton
from torch import Tensor

from ..adjacency import View


def channel_block(channels: int, most: int) -> int:
    """How many channels one program handles: a power of two."""
    return min(triton.next_power_of_2(channels), most)


def warps(block: int) -> int:
    return 4 if block >= 128 else 2 if block >= 64 else 1


def keep_of(view: View) -> tuple[Tensor, bool]:
    """(pointer, whether it means anything): a kernel takes no None."""
    return (view.adj.col, False) if view.keep is None else (view.keep, True)


def row_order(view: View) -> tuple[Tensor, bool]:
    """Output rows in the order programs should take them: (pointer, whether it means anything)."""
    sorted_once = view.rows is None and view.adj.valid is None
    return (view.adj.longest_first[0], True) if sorted_once else (view.adj.col, False)


def node_order(view: View) -> tuple[Tensor, bool]:
    """The same for feature rows, in the backward direction."""
    sorted_once = view.nodes is None and view.adj.valid is None
    return (view.adj.longest_first[1], True) if sorted_once else (view.adj.col, False)
