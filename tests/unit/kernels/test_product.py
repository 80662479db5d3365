"""Products by oneDNN, forced where this machine's MKL would be taken, are those of torch."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from graphmae import kernels
from graphmae.kernels.cpu import product as own
from graphmae.layers import Linear, product
from graphmae.runtime import processor

HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
needs_onednn = pytest.mark.skipif(not HAS_ONEDNN, reason="this torch has no oneDNN")


@pytest.fixture
def onednn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every product large enough goes to oneDNN; the list counts the rows of those that were filled up."""
    monkeypatch.setattr(own, "uses_onednn", lambda: True)
    monkeypatch.setattr(own, "LEAST", 1000)
    seen: list[int] = []
    whole = own.filled_up

    def counted(x: Tensor) -> Tensor:
        seen.append(len(whole(x)))
        return whole(x)

    monkeypatch.setattr("graphmae.kernels.cpu.filled_up", counted)
    return seen


@needs_onednn
def test_any_layout_of_the_factors_is_right(onednn: list[int]) -> None:
    random = torch.Generator().manual_seed(0)
    a, b = torch.randn(70, 50, generator=random), torch.randn(50, 90, generator=random)
    wide = torch.randn(70, 3, 50, generator=random)
    for left, right in [
        (a, b),
        (b.t(), a.t()),
        (a.t().contiguous().t(), b),
        (wide[:, 1], b),
        (a[:1].expand(70, 50), b),  # what the gradient of a sum is like
        (a[:, :1].expand(70, 50), b[:, :1].expand(50, 90)),
        (a[::2], b[:, ::3]),
    ]:
        exact = left.double() @ right.double()
        out = torch.empty(left.size(0), 2, right.size(1))
        assert torch.allclose(kernels.mm(left, right).double(), exact, atol=1e-4)
        assert torch.allclose(kernels.mm(left, right, out[:, 1]).double(), exact, atol=1e-4)
        assert torch.allclose(out[:, 1].double(), exact, atol=1e-4)


@needs_onednn
def test_no_layout_takes_many_times_as_long_as_another(onednn: list[int]) -> None:
    """Gradients of parts of columns have gaps between their rows: with those oneDNN took a thousand times as long."""
    a, b = torch.randn(256, 1200), torch.randn(1200, 512)
    gaps = torch.randn(1200, 1024)
    plain = best_of(lambda: kernels.mm(a, b))
    for left, right in [(gaps[:, :256].t(), b), (a, gaps[:, :512]), (gaps[:, :256].t(), gaps[:, 512:])]:
        assert best_of(lambda x=left, y=right: kernels.mm(x, y)) < 20 * plain  # type: ignore[misc]


def best_of(run: Callable[[], object], times: int = 5) -> float:
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


@needs_onednn
@pytest.mark.parametrize("rows", [1, 255, 257, 320, 1000])
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_and_its_gradients_are_those_of_torch(onednn: list[int], rows: int, bias: bool) -> None:
    torch.manual_seed(0)
    layer, x = Linear(40, 30, bias=bias), torch.randn(rows, 40, requires_grad=True)
    pushed = torch.randn(rows, 30)
    exact = F.linear(x, layer.weight, layer.bias)
    wanted = torch.autograd.grad(exact, (x, *layer.parameters()), pushed)
    found = layer(x)
    assert torch.allclose(found, exact, atol=1e-5)
    assert set(onednn) == {rows if rows < 256 else -(-rows // 64) * 64}  # few shapes, whatever a batch holds
    for one, other in zip(torch.autograd.grad(found, (x, *layer.parameters()), pushed), wanted, strict=True):
        assert torch.allclose(one, other, atol=1e-4)
    layer(x).add_(1).sum().backward()  # what comes out may be changed in place
    assert x.grad is not None and layer.weight.grad is not None


@needs_onednn
def test_only_what_is_asked_for_has_a_gradient(onednn: list[int]) -> None:
    x, weight = torch.randn(300, 40), torch.randn(30, 40, requires_grad=True)
    out = product(x, weight)
    out.sum().backward()
    assert out.requires_grad and weight.grad is not None and not product(x, weight.detach()).requires_grad
    with torch.no_grad():
        assert not product(x, weight).requires_grad


def test_small_products_and_other_types_are_torch_s() -> None:
    a, b = torch.randn(9, 8), torch.randn(8, 7)
    assert torch.equal(kernels.mm(a, b), a @ b)
    double = torch.randn(300, 200).double()
    assert torch.equal(kernels.mm(double, double.t()), double @ double.t())
    assert not kernels.takes_product(a, 7)


@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=needs_onednn)])
def test_a_bias_is_added(monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    monkeypatch.setattr(own, "uses_onednn", lambda: fast)
    monkeypatch.setattr(own, "LEAST", 1000)
    a, b, bias, out = torch.randn(70, 50), torch.randn(50, 90), torch.randn(90), torch.empty(70, 90)
    exact = torch.addmm(bias, a, b)
    assert torch.allclose(kernels.mm(a, b, bias=bias), exact, atol=1e-4)
    assert kernels.mm(a, b, out, bias) is out and torch.allclose(out, exact, atol=1e-4)


def test_elsewhere_a_layer_is_torch_s_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that brings: less to do for small layers, second derivatives, sparse input."""
    monkeypatch.setattr(own, "uses_onednn", lambda: False)
    layer, x = Linear(300, 200), torch.randn(300, 300, requires_grad=True)
    first = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)[0]
    first.square().sum().backward()
    assert layer.weight.grad is not None
    assert "Addmm" in type(layer(x).grad_fn).__name__


def test_the_generation_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr(processor, "CPUINFO", file)
    assert not processor.is_zen5() and processor.cpu_flags() == set()  # as on other systems
    file.write_text("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nflags\t\t: fpu avx512f\n")
    assert processor.is_zen5() and processor.cpu_flags() == {"fpu", "avx512f"}
    for other in ("vendor_id\t: AuthenticAMD\ncpu family\t: 25", "vendor_id\t: GenuineIntel\ncpu family\t: 27"):
        file.write_text(f"processor\t: 0\n{other}\nflags\t\t: fpu\n")
        assert not processor.is_zen5()
