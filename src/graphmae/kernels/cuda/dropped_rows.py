"""Chosen rows, and rows of ones after them, dropped out in the launch that gathers them."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from .tools import fresh_seed, kept

BLOCK = 1024


@triton.jit
def _dropped_rows(x, rows, seed, out, real, channels, p, scale, drop: tl.constexpr, block: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * block + tl.arange(0, block)
    inside = c < channels
    v = tl.full((block,), 1.0, dtype=tl.float32)
    if i < real:
        v = tl.load(x + tl.load(rows + i).to(tl.int64) * channels + c, mask=inside, other=0.0).to(tl.float32)
    if drop:
        v *= kept(seed, i, c, p, scale)
    tl.store(out + i * channels + c, v, mask=inside)


def dropped_rows(x: Tensor, rows: Tensor, ones: int, p: float) -> Tensor:
    channels, count = x.size(1), rows.numel() + ones
    out, seed = x.new_empty(count, channels), fresh_seed(p, x.device)
    if out.numel():
        _dropped_rows[(count, triton.cdiv(channels, BLOCK))](
            x, rows, x if seed is None else seed, out, rows.numel(), channels, p, 1 / (1 - p), drop=p > 0, block=BLOCK
        )
    return out
