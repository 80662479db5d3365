"""The few sparse operations everything runs on. One function each; the implementation is chosen here, by device.

`reference` is plain torch and always there; `cpu` is numba and `cuda` is Triton, row by row, with no edge × channel
tensor. Where numba or Triton is missing the reference runs, with one warning.
`GRAPHMAE_KERNELS=reference` or `with use("reference"):` overrides the choice.
"""

from __future__ import annotations

import importlib
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
from .adjacency import Adjacency, RowsView, adjacency, rows_view

__all__ = ["Adjacency", "RowsView", "adjacency", "aggregate", "dropout", "row_softmax", "rows_view", "use"]

CHOICES = ("auto", "reference", "cpu", "cuda")
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
    device = x.device.type if _choice == "auto" else _choice
    if device not in _PACKAGES or x.dtype not in (torch.float32, torch.float64):
        return reference
    return _fast(device) or reference


_PACKAGES = {"cpu": "numba", "cuda": "triton"}


@cache
def _fast(device: str) -> ModuleType | None:
    try:
        return importlib.import_module(f".{device}", __name__)
    except ImportError:
        package = _PACKAGES[device]
        warnings.warn(f"{package} is missing: slower plain-torch kernels run instead", RuntimeWarning, stacklevel=4)
        return None
