"""Dropout whose draws depend on the seed alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .tools import array, chance, draw, scalar


@njit(parallel=True, cache=True)
def _dropout(x, seed, threshold, scale, out):
    for k in prange(x.shape[0]):
        out[k] = x[k] * scale if draw(seed, k) >= threshold else x.dtype.type(0)


class _Dropout(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        ctx.drawn = (*chance(p), scalar(x, 1 / (1 - p)))
        return _dropped(x, *ctx.drawn)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _dropped(grad, *ctx.drawn), None


def dropout(x: Tensor, p: float) -> Tensor:
    return _Dropout.apply(x, p)


def _dropped(x: Tensor, seed: np.uint64, threshold: np.uint64, scale: Any) -> Tensor:
    entries = array(x).reshape(-1)
    out = np.empty_like(entries)
    _dropout(entries, seed, threshold, scale, out)
    return torch.from_numpy(out).view(x.shape)


def dropped_rows(x: Tensor, rows: Tensor, ones: int, p: float) -> Tensor:
    out = torch.cat([x[rows], x.new_ones(ones, x.size(1))])
    return dropout(out, p) if p and out.numel() else out
