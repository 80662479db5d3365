"""The few sparse operations everything runs on. One function each; the implementation is chosen here, by device.

`reference` is plain torch and always there; `cpu` is numba, row by row, with no edge × channel tensor.
`GRAPHMAE_KERNELS=reference` or `with use("reference"):` overrides the choice.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from ..runtime.errors import InputError, unknown
from . import reference
from .adjacency import Adjacency, adjacency

__all__ = ["Adjacency", "adjacency", "aggregate", "dropout", "row_softmax", "use"]

CHOICES = ("auto", "reference", "cpu")
_choice = os.environ.get("GRAPHMAE_KERNELS", "auto")


def row_softmax(adj: Adjacency, logits: Tensor) -> Tensor:
    """Softmax of `logits` [num_edges, heads] over the edges of each row."""
    return _implementation(logits).row_softmax(adj, logits)


def aggregate(adj: Adjacency, x: Tensor, weight: Tensor | None = None) -> Tensor:
    """Σ_j w_ij · x_j for every row i: `x` [num_cols, heads, channels], `weight` [num_edges, heads] (None: 1)."""
    return _implementation(x).aggregate(adj, x, weight)


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Zero a share `p` of the entries and scale the others by 1 / (1 − p)."""
    if not training or p == 0.0 or x.numel() == 0:
        return x
    return _implementation(x).dropout(x, p)


@contextmanager
def use(choice: str) -> Iterator[None]:
    """Force an implementation for the length of a block; for tests and comparisons."""
    global _choice
    if choice not in CHOICES:
        raise InputError(unknown("kernel implementation", choice, CHOICES))
    before, _choice = _choice, choice
    try:
        yield
    finally:
        _choice = before


def _implementation(x: Tensor) -> ModuleType:
    if _choice not in CHOICES:
        raise InputError(unknown("value of GRAPHMAE_KERNELS:", _choice, CHOICES))
    if _choice == "reference" or x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        return reference
    return _numba() or reference


@cache
def _numba() -> ModuleType | None:
    try:
        from . import cpu
    except ImportError:
        warnings.warn("numba is missing: the slower plain-torch kernels run instead", RuntimeWarning, stacklevel=4)
        return None
    return cpu
