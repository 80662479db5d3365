from __future__ import annotations

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmae.losses import ScaledCosineError
from graphmae.masking import RandomNodeMask, drop_edges

share = st.floats(0, 0.5)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 300), st.floats(0.001, 0.999), share, share, st.integers(0, 2**31))
def test_a_draw_is_a_partition_of_the_right_size(n: int, rate: float, replace: float, keep: float, seed: int) -> None:
    torch.manual_seed(seed)
    draw = RandomNodeMask(rate, replace, keep).draw(n)
    masked = draw.masked.tolist()
    assert len(masked) == max(1, min(round(rate * n), n - 1))
    assert len(set(masked)) == len(masked)
    treated = torch.cat([draw.token, draw.replaced, draw.kept]).tolist()
    assert sorted(treated) == sorted(masked)
    assert not set(draw.donors.tolist()) & set(masked)
    assert len(draw.donors) == len(draw.replaced)
    if n > 1:
        assert len(draw.replaced) == round(replace * len(masked))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 20), st.integers(1, 10), st.floats(1, 8), st.integers(0, 2**31), st.floats(1e-6, 1e6))
def test_scaled_cosine_error_is_finite_and_bounded(n: int, d: int, gamma: float, seed: int, scale: float) -> None:
    torch.manual_seed(seed)
    x, z = torch.randn(n, d), (scale * torch.randn(n, d)).requires_grad_()
    loss = ScaledCosineError(gamma)(z, x)
    loss.backward()
    assert 0 <= loss.item() <= 2**gamma + 1e-3
    assert math.isfinite(loss.item())
    assert torch.isfinite(z.grad).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30, unique=True), st.floats(0, 0.99))
def test_dropping_edges_gives_a_subset_with_every_self_loop(pairs: list[tuple[int, int]], rate: float) -> None:
    kept = {tuple(p) for p in drop_edges(torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T, rate).T.tolist()}
    assert kept <= set(pairs)
    assert {p for p in pairs if p[0] == p[1]} <= kept
