from __future__ import annotations

import torch

from graphmae.layers import Linear, product
from graphmae.runtime.device import half_products, numerics

CPU = torch.device("cpu")


def test_bfloat16_products_agree_to_two_digits_with_their_gradients() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(40, 30, requires_grad=True), torch.randn(20, 30, requires_grad=True)
    exact = product(x, weight)
    grads = torch.autograd.grad(exact.square().sum(), (x, weight))
    with numerics(CPU, "bf16"):
        assert half_products()
        short = product(x, weight)
        short_grads = torch.autograd.grad(short.square().sum(), (x, weight))
    assert not half_products()
    assert short.dtype == torch.float32
    for a, b in zip((short, *short_grads), (exact, *grads), strict=True):
        assert 0 < (a - b).norm() / b.norm() < 0.02


def test_float64_is_never_shortened() -> None:
    layer = Linear(4, 3).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    with numerics(CPU, "bf16"):
        assert torch.equal(layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias))
