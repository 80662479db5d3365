"""One Adam step on one tensor, over the whole device: torch's own gives 65,536 numbers to each of its programs."""

from __future__ import annotations

import math

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _adam(
    param, grad, mean, square, step, lr, size, decay, eps,
    beta1: tl.constexpr, beta2: tl.constexpr, log1: tl.constexpr, log2: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * block + tl.arange(0, block)
    inside = i < size
    t = tl.load(step).to(tl.float64)
    rate = (tl.load(lr).to(tl.float64) / (1 - tl.exp(t * log1))).to(tl.float32)
    root = tl.sqrt(1 - tl.exp(t * log2)).to(tl.float32)
    value = tl.load(param + i, mask=inside, other=0.0)
    g = tl.load(grad + i, mask=inside, other=0.0) + decay * value
    m = tl.load(mean + i, mask=inside, other=0.0)
    m += (1 - beta1) * (g - m)
    v = beta2 * tl.load(square + i, mask=inside, other=0.0) + (1 - beta2) * g * g
    tl.store(mean + i, m, mask=inside)
    tl.store(square + i, v, mask=inside)
    tl.store(param + i, value - rate * m / (tl.sqrt(v) / root + eps), mask=inside)


def adam_step(
    param: Tensor,
    grad: Tensor,
    mean: Tensor,
    square: Tensor,
    step: Tensor,
    lr: Tensor,
    weight_decay: float,
    betas: tuple[float, float],
    eps: float,
) -> None:
    """Step number `step` (on the device, from 1 up), in place; all tensors contiguous and float32."""
    _adam[(triton.cdiv(param.numel(), BLOCK),)](
        param, grad, mean, square, step, lr, param.numel(), weight_decay, eps,
        beta1=betas[0], beta2=betas[1], log1=math.log(betas[0]), log2=math.log(betas[1]), block=BLOCK,
    )  # fmt: skip
