"""What the CPU kernels share: the random generator and views of tensors as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ..adjacency import View

FAST = {"contract", "reassoc", "nsz"}


@njit(inline="always")
def draw(seed, k):
    """A hash of (seed, k): a counter-based generator, so a draw depends on nothing but these two."""
    z = seed + np.uint64(k) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def chance(p: float) -> tuple[np.uint64, np.uint64]:
    """A fresh seed (none is drawn where nothing is dropped) and the threshold a draw must reach to be kept."""
    seed = int(torch.randint(2**63 - 1, ())) if p else 0
    return np.uint64(seed), np.uint64(int(p * 2.0**64))


def keep_of(view: View) -> Any:
    return np.empty(0, dtype=np.bool_) if view.keep is None else array(view.keep)


def scalar(x: Tensor, value: float) -> Any:
    return np.float64(value) if x.dtype == torch.float64 else np.float32(value)


def array(x: Tensor) -> Any:
    return x.detach().contiguous().numpy()
