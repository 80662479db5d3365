"""Loops compiled by numba where it is installed, and run as they are where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from numba import njit
except ImportError:  # slower, and nothing else
    njit = None


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function of arrays and numbers."""
    return function if njit is None else njit(cache=True)(function)
