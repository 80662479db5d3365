"""A random order without sorting: every node finds its own place by a keyed bijection of the numbers below a power of
two, applied until it lands below the number of nodes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .. import reference
from .tools import draw, fresh_seed

BLOCK = 128
FEWEST = 256  # fewer are sorted: a bijection of so few numbers mixes badly, and sorting is cheap
ROUNDS = tl.constexpr(12)


@triton.jit
def _mapped(v, seed, low_bits: tl.constexpr, high_bits: tl.constexpr):
    """Each half in turn is changed by what the other one draws (a Feistel network): a bijection, whatever is drawn."""
    low, high = v & ((1 << low_bits) - 1), v >> low_bits
    for at in tl.static_range(ROUNDS):
        if at % 2 == 0:
            low ^= draw(seed, (high + (at << 20)).to(tl.int64)).to(tl.int32) & ((1 << low_bits) - 1)
        else:
            high ^= draw(seed, (low + (at << 20)).to(tl.int64)).to(tl.int32) & ((1 << high_bits) - 1)
    return (high << low_bits) | low


@triton.jit
def _shuffle(seed, out, count, low_bits: tl.constexpr, high_bits: tl.constexpr, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    key = tl.load(seed)
    v = _mapped(i, key, low_bits, high_bits)
    out_of_range = tl.where(i < count, (v >= count).to(tl.int32), 0)
    while tl.max(out_of_range, axis=0) > 0:
        v = tl.where(out_of_range > 0, _mapped(v, key, low_bits, high_bits), v)
        out_of_range = tl.where(i < count, (v >= count).to(tl.int32), 0)
    tl.store(out + v, i.to(tl.int64), mask=i < count)


def shuffled(count: int, device: torch.device) -> Tensor:
    bits = max(count - 1, 1).bit_length()
    if count < FEWEST or bits > 30:
        return reference.shuffled(count, device)
    out = torch.empty(count, dtype=torch.long, device=device)
    _shuffle[(triton.cdiv(count, BLOCK),)](
        fresh_seed(1.0, device), out, count, low_bits=bits // 2, high_bits=bits - bits // 2, block=BLOCK, num_warps=1
    )
    return out
