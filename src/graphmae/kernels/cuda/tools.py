"""What the CUDA kernels share: how a view is handed to a program, and the lookups every program begins with."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from ..adjacency import View

# One warp holds TILE edges × BLOCK channels in registers and adds them up at the end: no program waits for another
# warp, and there are enough of them to hide what each one waits for.
TILE, BLOCK, WARPS = 8, 128, 1


def channel_block(channels: int) -> int:
    """How many channels one program handles: a power of two."""
    return min(triton.next_power_of_2(channels), BLOCK)


def forward_side(view: View) -> dict[str, Any]:
    """Pointers and flags for programs that own a wanted row and look at its senders."""
    adj = view.adj
    known = view.rows is None and adj.valid is None
    return {
        "rows": view.wanted,
        "order": adj.longest_first[0] if known else adj.col,
        "place": view.place,
        "all_rows": view.rows is None,
        "all_ends": view.nodes is None,
        "ordered": known,
    }


def backward_side(view: View) -> dict[str, Any]:
    """The same for programs that own a given feature row and look at its receivers."""
    adj = view.adj
    known = view.nodes is None and adj.valid is None
    return {
        "rows": view.given,
        "order": adj.longest_first[1] if known else adj.col,
        "place": view.position,
        "all_rows": view.nodes is None,
        "all_ends": view.rows is None,
        "ordered": known,
    }


def keep_of(view: View) -> dict[str, Any]:
    """A kernel takes no None."""
    return {"keep": view.adj.col, "kept": False} if view.keep is None else {"keep": view.keep, "kept": True}


@triton.jit
def own_row(rows, order, all_rows: tl.constexpr, ordered: tl.constexpr):
    """(output row, node) of this program; programs take the longest rows first."""
    r = tl.program_id(0).to(tl.int64)
    if ordered:
        r = tl.load(order + r).to(tl.int64)
    i = r
    if not all_rows:
        i = tl.load(rows + r).to(tl.int64)
    return r, i


@triton.jit
def found_at(place, j, valid, all_ends: tl.constexpr):
    """Where the rows of nodes `j` lie, −1 for none."""
    at = tl.where(valid, j, -1)
    if not all_ends:
        at = tl.load(place + j, mask=valid, other=-1).to(tl.int64)
    return at


@triton.jit
def dropped(w, seed, k, heads, h, p, scale, drop: tl.constexpr):
    """`w` of the edges `k`, dropped out by a draw that depends on the seed and the edge alone."""
    if drop:
        w = tl.where(tl.rand(tl.load(seed), (k * heads + h).to(tl.int32)) >= p, w * scale, 0.0)
    return w
