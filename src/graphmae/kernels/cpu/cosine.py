"""The cosine of two rows, in one pass over them and one back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .tools import FAST, array, scalar


@njit(parallel=True, cache=True, fastmath=FAST)
def _forward(z, x, least, cosine, lengths):
    for i in prange(z.shape[0]):
        dot, a, b = z.dtype.type(0), z.dtype.type(0), z.dtype.type(0)
        for c in range(z.shape[1]):
            dot += z[i, c] * x[i, c]
            a += z[i, c] * z[i, c]
            b += x[i, c] * x[i, c]
        lengths[0, i], lengths[1, i] = np.sqrt(a), np.sqrt(b)
        cosine[i] = dot / (max(lengths[0, i], least) * max(lengths[1, i], least))


@njit(parallel=True, cache=True, fastmath=FAST)
def _backward(z, x, least, cosine, lengths, grad, out):
    for i in prange(z.shape[0]):
        length = max(lengths[0, i], least)
        along = grad[i] / (length * max(lengths[1, i], least))
        against = grad[i] * cosine[i] / (length * length) if lengths[0, i] > least else z.dtype.type(0)
        for c in range(z.shape[1]):
            out[i, c] = along * x[i, c] - against * z[i, c]


class _Cosine(Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, x: Tensor, least: float) -> tuple[Tensor, Tensor]:
        cosine, lengths = z.new_empty(z.size(0)), z.new_empty(2, z.size(0))
        _forward(array(z), array(x), scalar(z, least), array(cosine), array(lengths))
        ctx.least = least
        ctx.save_for_backward(z, x, cosine, lengths)
        ctx.mark_non_differentiable(lengths)
        return cosine, lengths

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor, None, None]:
        z, x, cosine, lengths = ctx.saved_tensors
        out = torch.empty_like(z)
        known = array(z), array(x), scalar(z, ctx.least), array(cosine), array(lengths)
        _backward(*known, array(grad), array(out))
        return out, None, None


def cosine(z: Tensor, x: Tensor, least: float) -> tuple[Tensor, Tensor]:
    found, lengths = _Cosine.apply(z.contiguous(), x.to(z.dtype).contiguous(), least)
    return found, lengths[1]
