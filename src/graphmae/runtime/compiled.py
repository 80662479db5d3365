"""Loops compiled by numba where it is installed, and run as they are where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

try:
    from numba import config, njit, set_num_threads
except ImportError:  # slower, and nothing else
    njit = None


def limit_threads(count: int) -> None:
    """Use at most `count` cores in this process: several that each take all of them wait for one another endlessly."""
    torch.set_num_threads(count)
    if njit is not None:
        set_num_threads(min(count, config.NUMBA_NUM_THREADS))


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function of arrays and numbers."""
    return function if njit is None else njit(cache=True)(function)
