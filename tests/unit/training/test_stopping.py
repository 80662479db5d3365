"""Training ends when the loss stays the same, whatever its sign."""

from __future__ import annotations

import pytest

from graphmae.training.stopping import Plateau


@pytest.mark.parametrize("level", [400.0, -400.0, 0.001, -0.001])
def test_a_flat_loss_stops_and_a_falling_one_does_not(level: float) -> None:
    flat = Plateau(lambda: level, patience=10)
    assert [bool((flat(epoch) or {}).get("stop")) for epoch in range(5, 30, 5)][-1]
    values = iter([level - 0.1 * abs(level) * k for k in range(6)])
    falling = Plateau(lambda: next(values), patience=10)
    assert not any((falling(epoch) or {}).get("stop") for epoch in range(5, 35, 5))
