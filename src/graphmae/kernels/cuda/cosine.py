"""The cosine of two rows, in one launch and one back."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


@triton.jit
def _forward(z, x, cosine, lengths, rows, channels, least, block: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    dot = tl.zeros((block,), dtype=tl.float32)
    a = tl.zeros((block,), dtype=tl.float32)
    b = tl.zeros((block,), dtype=tl.float32)
    for start in range(0, channels, block):
        c = start + tl.arange(0, block)
        left = tl.load(z + i * channels + c, mask=c < channels, other=0.0)
        right = tl.load(x + i * channels + c, mask=c < channels, other=0.0)
        dot += left * right
        a += left * left
        b += right * right
    length, other = tl.sqrt(tl.sum(a, axis=0)), tl.sqrt(tl.sum(b, axis=0))
    tl.store(lengths + i, length)
    tl.store(lengths + rows + i, other)
    tl.store(cosine + i, tl.sum(dot, axis=0) / (tl.maximum(length, least) * tl.maximum(other, least)))


@triton.jit
def _backward(z, x, cosine, lengths, grad, out, rows, channels, least, block: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    found = tl.load(lengths + i)
    length, g = tl.maximum(found, least), tl.load(grad + i)
    along = g / (length * tl.maximum(tl.load(lengths + rows + i), least))
    against = tl.where(found > least, g * tl.load(cosine + i) / (length * length), 0.0)
    for start in range(0, channels, block):
        c = start + tl.arange(0, block)
        left = tl.load(z + i * channels + c, mask=c < channels, other=0.0)
        right = tl.load(x + i * channels + c, mask=c < channels, other=0.0)
        tl.store(out + i * channels + c, along * right - against * left, mask=c < channels)


class _Cosine(Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, x: Tensor, least: float) -> tuple[Tensor, Tensor]:
        (rows, channels), block = z.shape, min(triton.next_power_of_2(z.size(1)), 1024)
        cosine, lengths = z.new_empty(rows), z.new_empty(2, rows)
        if rows:
            _forward[(rows,)](z, x, cosine, lengths, rows, channels, least, block=block, num_warps=4)
        ctx.least, ctx.block = least, block
        ctx.save_for_backward(z, x, cosine, lengths)
        ctx.mark_non_differentiable(lengths)
        ctx.set_materialize_grads(False)
        return cosine, lengths

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor | None, _: Any) -> tuple[Tensor | None, None, None]:
        if grad is None:
            return None, None, None
        z, x, cosine, lengths = ctx.saved_tensors
        out = torch.empty_like(z)
        if out.numel():
            known = z, x, cosine, lengths, grad.contiguous(), out
            _backward[(z.size(0),)](*known, *z.shape, ctx.least, block=ctx.block, num_warps=4)
        return out, None, None


def cosine(z: Tensor, x: Tensor, least: float) -> tuple[Tensor, Tensor]:
    found, lengths = _Cosine.apply(z.contiguous(), x.to(z.dtype).contiguous(), least)
    return found, lengths[1]
