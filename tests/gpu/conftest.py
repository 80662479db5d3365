"""Shared by the tests of CUDA."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphmae.runtime.device import numeric_mode, restore_numeric_mode


@pytest.fixture(autouse=True)
def precision_for_one_test() -> Iterator[None]:
    """What one test sets (TF32, deterministic sums) is not what the next one computes with."""
    before = numeric_mode()
    yield
    restore_numeric_mode(before)
