"""Sums over the rows of a matrix, or of a product of two entry by entry."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

HEIGHT, WIDTH, STEP = 64, 64, 16


@triton.jit
def _column_sums(
    a, b, out, count, channels, both: tl.constexpr, height: tl.constexpr, width: tl.constexpr, step: tl.constexpr
):
    """Every program adds up `height` rows of `width` columns, `step` rows at a time."""
    c = tl.program_id(1) * width + tl.arange(0, width)
    inside = c < channels
    total = tl.zeros((step, width), dtype=tl.float32)
    first = tl.program_id(0) * height
    for start in range(first, first + height, step):
        i = start + tl.arange(0, step)
        at = i[:, None].to(tl.int64) * channels + c[None, :]
        here = (i < count)[:, None] & inside[None, :]
        v = tl.load(a + at, mask=here, other=0.0).to(tl.float32)
        if both:
            v *= tl.load(b + at, mask=here, other=0.0)
        total += v
    tl.atomic_add(out + c, tl.sum(total, axis=0), mask=inside)


def column_sums(a: Tensor, b: Tensor | None) -> Tensor:
    rows, channels = a.shape
    out = a.new_zeros(channels, dtype=torch.float32)
    if a.numel():
        a = a.contiguous()
        height = max(HEIGHT, triton.next_power_of_2(triton.cdiv(rows, 1024)))  # not too many that add to one number
        _column_sums[(triton.cdiv(rows, height), triton.cdiv(channels, WIDTH))](
            a, a if b is None else b.contiguous(), out, rows, channels, both=b is not None,
            height=height, width=WIDTH, step=STEP, num_warps=2,
        )  # fmt: skip
    return out.to(a.dtype)
