"""What the CUDA kernels share: how a view is handed to a program, and the lookups every program begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..adjacency import View

# One warp holds TILE edges × BLOCK channels in registers and adds them up at the end: no program waits for another
# warp, and there are enough of them to hide what each one waits for.
TILE, BLOCK, WARPS = 4, 256, 1


def channel_block(channels: int) -> int:
    """How many channels one program handles: a power of two, a smaller one where less of it lies idle."""
    if channels <= BLOCK:
        return triton.next_power_of_2(channels)
    return min((BLOCK, BLOCK // 2), key=lambda block: triton.cdiv(channels, block) * block)


@dataclass(frozen=True)
class Side:
    """One direction of a view: who owns the programs, and where the other ends' rows lie.

    Attributes:
        programs: how many there are: one a piece of a row, or one a row where pieces are not known (a fresh batch).
        arguments: what the kernels take, by name.
        split: the nodes whose rows several programs add to, so that they must begin with zeros.
    """

    programs: int
    arguments: dict[str, Any]
    split: Tensor | None = None

    def empty(self, like: Tensor, *shape: int) -> Tensor:
        """A tensor that programs write or add to."""
        out = like.new_empty(shape, dtype=like.dtype)
        if self.split is not None and self.split.numel() and out.numel():
            width = out.numel() // shape[0]
            _clear[(self.split.numel(), triton.cdiv(width, 1024))](
                self.split, self.arguments["owners"], out, width, all_rows=self.arguments["all_rows"], block=1024
            )
        return out


def forward_side(view: View) -> Side:
    """For programs that own a wanted row and look at its senders."""
    adj = view.adj
    return _side(view, 0, adj.crow, adj.col, view.rows, view.wanted, view.position, view.nodes, view.place)


def backward_side(view: View) -> Side:
    """For programs that own a given feature row and look at its receivers."""
    adj = view.adj
    crow, edge = adj.transpose
    return _side(view, 1, crow, adj.receivers, view.nodes, view.given, view.place, view.rows, view.position, edge)


def _side(
    view: View,
    which: int,
    crow: Tensor,
    end: Tensor,
    some: Tensor | None,
    owners: Tensor,
    position: Tensor,
    others: Tensor | None,
    place: Tensor,
    edge: Tensor | None = None,
) -> Side:
    arguments = {
        "crow": crow, "edge": end if edge is None else edge, "end": end, "place": place, "owners": owners,
        "piece_row": crow, "piece_begin": crow, "piece_end": crow, "piece_lone": crow,
        "indirect": edge is not None, "all_rows": some is None, "all_ends": others is None,
        "pieces": False,
    }  # fmt: skip
    if view.adj.sizes is not None:
        return Side(owners.numel(), arguments)
    known = view.adj.chunks[which]
    arguments |= {
        "owners": position, "piece_row": known.row, "piece_begin": known.begin, "piece_end": known.end,
        "piece_lone": known.lone, "pieces": True,
    }  # fmt: skip
    return Side(known.row.numel(), arguments, known.split)


def drawn(seed: Tensor | None, p: float, nothing: Tensor) -> dict[str, Any]:
    """The arguments of a dropout; a kernel takes no None."""
    return {"seed": nothing if seed is None else seed, "p": p, "scale": 1 / (1 - p), "drop": p > 0}


def fresh_seed(p: float, device: torch.device) -> Tensor | None:
    return torch.randint(2**62, (1,), device=device) if p else None


@triton.jit
def _clear(split, owners, out, size, all_rows: tl.constexpr, block: tl.constexpr):
    r = tl.load(split + tl.program_id(0)).to(tl.int64)
    if not all_rows:
        r = tl.load(owners + r).to(tl.int64)
    c = tl.program_id(1) * block + tl.arange(0, block)
    if r >= 0:
        tl.store(out + r * size + c, tl.zeros((block,), dtype=tl.float32), mask=c < size)


@triton.jit
def own_edges(
    crow, owners, piece_row, piece_begin, piece_end, piece_lone, all_rows: tl.constexpr, pieces: tl.constexpr
):  # fmt: skip
    """(output row or −1, node, first edge, end, whether nobody else writes that row, whether the first to do so)."""
    if pieces:
        at = tl.program_id(0)
        i = tl.load(piece_row + at).to(tl.int64)
        r = i
        if not all_rows:
            r = tl.load(owners + i).to(tl.int64)
        begin, finish = tl.load(piece_begin + at).to(tl.int64), tl.load(piece_end + at).to(tl.int64)
        lone = tl.load(piece_lone + at) != 0
        # Not "begins where the row does": edges may have been dropped, and with them a whole piece.
        leads = tl.load(piece_row + at - 1, mask=at > 0, other=-1).to(tl.int64) != i
    else:
        r = tl.program_id(0).to(tl.int64)
        i = r
        if not all_rows:
            i = tl.load(owners + r).to(tl.int64)
        begin, finish = tl.load(crow + i).to(tl.int64), tl.load(crow + i + 1).to(tl.int64)
        lone = finish >= begin
        leads = lone
    return r, i, begin, finish, lone, leads


@triton.jit
def other_end(k, finish, edge, end, place, indirect: tl.constexpr, all_ends: tl.constexpr):
    """(edge, whether it counts, where the row of its other end lies or −1) of a tile."""
    valid = k < finish
    e = k
    if indirect:
        e = tl.load(edge + k, mask=valid, other=0).to(tl.int64)
    j = tl.load(end + k, mask=valid, other=-1).to(tl.int64)
    if not all_ends:
        j = tl.load(place + j, mask=valid, other=-1).to(tl.int64)
    return e, valid, j


@triton.jit
def put(pointer, value, mask, lone):
    """Store, or add where other programs do too."""
    if lone:
        tl.store(pointer, value, mask=mask)
    else:
        tl.atomic_add(pointer, value, mask=mask)


@triton.jit
def add(pointer, value, mask, lone):
    """Add to what an earlier kernel left there."""
    if lone:
        tl.store(pointer, tl.load(pointer, mask=mask, other=0.0) + value, mask=mask)
    else:
        tl.atomic_add(pointer, value, mask=mask)


@triton.jit
def mixed(z):
    """Every bit of 32 depends on every other."""
    z = (z ^ (z >> 16)) * 0x7FEB352D
    z = (z ^ (z >> 15)) * 0x846CA68B
    return z ^ (z >> 16)


@triton.jit
def draw(seed, k):
    """32 bits that depend on the seed and `k` (int64) alone: the generator of the CPU kernels."""
    low = mixed(k.to(tl.uint32) ^ seed.to(tl.uint32))
    high = (k >> 32).to(tl.uint32) * 0x9E3779B9 + (seed >> 32).to(tl.uint32)
    return mixed(low + high)


@triton.jit
def _survives(seed, k, p, scale):
    chance = (draw(tl.load(seed), k) >> 8).to(tl.float32) * (1.0 / 16777216)
    return tl.where(chance >= p, scale, 0.0)


@triton.jit
def dropped(w, seed, k, heads, h, p, scale, drop: tl.constexpr):
    """`w` of the edges `k`, dropped out by a draw that depends on the seed and the edge alone."""
    if drop:
        w *= _survives(seed, k * heads + h, p, scale)
    return w


@triton.jit
def kept(seed, row, c, p, scale):
    """What dropout multiplies the channels `c` of a row with. Rows are far apart, so that channels never meet."""
    return _survives(seed, row * 65536 + c, p, scale)
