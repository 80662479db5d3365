"""The dense product every layer uses: in float32 (or TF32, the device's business), or on request in bfloat16."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .. import kernels
from ..runtime.device import half_products

ALIGNED = 4  # float32 numbers in the 16 bytes that tensor cores take at a time


class _HalfProduct(Function):
    """x · Wᵀ and its gradients with bfloat16 factors, added up in float32; what goes in and out is float32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        left, right = x.to(torch.bfloat16), weight.to(torch.bfloat16)
        ctx.save_for_backward(left, right)
        return (left @ right.t()).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor]:
        left, right = ctx.saved_tensors
        half = grad.to(torch.bfloat16)
        gx = (half @ right).to(grad.dtype) if ctx.needs_input_grad[0] else None
        return gx, (half.t() @ left).to(grad.dtype)


class _Biased(Function):
    """torch's linear map; the bias' gradient by a kernel that uses the whole device."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return F.linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:
        x, weight = ctx.saved_tensors
        gx = grad @ weight if ctx.needs_input_grad[0] else None
        return gx, grad.t() @ x, kernels.column_sums(grad) if ctx.needs_input_grad[2] else None


class _Plain(Function):
    """x · Wᵀ (+ b) and its gradients on the CPU, where `kernels.mm` has a faster product than torch."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return kernels.mm(x, weight.t(), bias=bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            kernels.mm(grad, weight) if of_x else None,
            kernels.mm(grad.t(), x) if of_weight else None,
            grad.sum(0) if of_bias else None,
        )


class _Aligned(Function):
    """x · Wᵀ where tensor cores do not like the number of outputs: computed a few columns wider, much faster."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        wide = F.pad(weight, (0, 0, 0, -weight.size(0) % ALIGNED))
        ctx.save_for_backward(x, wide)
        return (x @ wide.t())[:, : weight.size(0)]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor]:
        x, wide = ctx.saved_tensors
        grad, count = F.pad(grad, (0, wide.size(0) - grad.size(1))), grad.size(1)
        return grad @ wide if ctx.needs_input_grad[0] else None, (grad.t() @ x)[:count]


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x` [N, in] · `weight` [out, in]ᵀ + `bias` [out]."""
    if not half_products() or x.dtype != torch.float32:
        eager = not torch.is_autocast_enabled("cpu") and not torch.compiler.is_compiling()
        if x.device.type == "cpu" and eager and kernels.takes_product(x, weight.size(0)):
            filled = kernels.filled_up(x)
            out = _Plain.apply(filled, weight, bias)
            return out if filled is x else out[: x.size(0)]
        plain = x.is_cuda and x.dim() == 2 and not torch.is_autocast_enabled("cuda")
        if plain and bias is None and weight.size(0) % ALIGNED and min(weight.shape) > 4 * ALIGNED:
            return _Aligned.apply(x, weight)
        trained = plain and bias is not None and torch.is_grad_enabled()
        return _Biased.apply(x, weight, bias) if trained else F.linear(x, weight, bias)
    out = _HalfProduct.apply(x, weight)
    return out if bias is None else out + bias


def times(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """`a` · `b` in the precision of `product`, without a gradient, written to `out` where that is given."""
    if not half_products() or a.dtype != torch.float32:
        return kernels.mm(a, b, out)
    found = a.to(torch.bfloat16) @ b.to(torch.bfloat16)
    return found.float() if out is None else out.copy_(found)


class Linear(nn.Linear):
    """torch's linear map, by `product`."""

    def forward(self, x: Tensor) -> Tensor:
        return product(x, self.weight, self.bias)
