"""Two random parts of all nodes in one launch, without sorting: every node finds its own place by a keyed bijection of
the numbers below a power of two, applied until it lands below the number of nodes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .. import reference
from ..adjacency import know
from .tools import fresh_seed, mixed

BLOCK = 32
MIN_COUNT = 256  # fewer are sorted: a bijection of so few numbers mixes badly, and sorting is cheap
ROUNDS = tl.constexpr(10)


@triton.jit
def _mapped(v, low_key, high_key, low_bits: tl.constexpr, high_bits: tl.constexpr):
    """Each half in turn is changed by what the other one draws (a Feistel network): a bijection, whatever is drawn."""
    low, high = v & ((1 << low_bits) - 1), v >> low_bits
    for at in tl.static_range(ROUNDS):
        if at % 2 == 0:
            low ^= mixed((high + ((at * 0x9E3779B9) & 0xFFFFFFFF)) ^ low_key) & ((1 << low_bits) - 1)
        else:
            high ^= mixed((low + ((at * 0x9E3779B9) & 0xFFFFFFFF)) ^ high_key) & ((1 << high_bits) - 1)
    return (high << low_bits) | low


@triton.jit
def _part(
    seed, order, narrow, place, first, second, count, middle,
    low_bits: tl.constexpr, high_bits: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * block + tl.arange(0, block)
    inside = i < count
    key = tl.load(seed)
    low_key, high_key = key.to(tl.uint32), (key >> 32).to(tl.uint32)
    v = _mapped(i.to(tl.uint32), low_key, high_key, low_bits, high_bits)
    beyond = tl.where(inside, (v.to(tl.int32) >= count).to(tl.int32), 0)
    while tl.max(beyond, axis=0) > 0:
        v = tl.where(beyond > 0, _mapped(v, low_key, high_key, low_bits, high_bits), v)
        beyond = tl.where(inside, (v.to(tl.int32) >= count).to(tl.int32), 0)
    at = v.to(tl.int32)
    tl.store(order + at, i.to(tl.int64), mask=inside)
    tl.store(narrow + at, i, mask=inside)
    tl.store(place + i, at, mask=inside)
    tl.store(first + i, tl.where(at < middle, at, -1), mask=inside)
    tl.store(second + i, tl.where(at < middle, -1, at - middle), mask=inside)


def parted(count: int, split: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    bits = max(count - 1, 1).bit_length()
    if count < MIN_COUNT or bits > 30:
        return reference.parted(count, split, device)
    order = torch.empty(count, dtype=torch.long, device=device)
    narrow, place, first, second = torch.empty(4, count, dtype=torch.int32, device=device)
    _part[(triton.cdiv(count, BLOCK),)](
        fresh_seed(1.0, device), order, narrow, place, first, second, count, split,
        low_bits=bits // 2, high_bits=bits - bits // 2, block=BLOCK, num_warps=1,
    )  # fmt: skip
    parts = order[:split], order[split:]
    if order.is_inference():
        return order, *parts
    know(order, count, narrow, place)  # where each node stands is known here; layers would look for it again
    know(parts[0], count, narrow[:split], first)
    know(parts[1], count, narrow[split:], second)
    return order, *parts
