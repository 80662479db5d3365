"""What the CPU kernels share: the random generator and views of tensors as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

FAST = {"contract", "reassoc", "nsz"}


@njit(inline="always")
def _mixed(z):
    """Every bit of 32 depends on every other."""
    z = np.uint32((z ^ (z >> np.uint32(16))) * np.uint32(0x7FEB352D))
    z = np.uint32((z ^ (z >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(z ^ (z >> np.uint32(16)))


@njit(inline="always")
def draw(seed, k):
    """32 bits that depend on (seed, k) and nothing else: a counter-based generator, in arithmetic that vectorises."""
    low = _mixed(np.uint32(np.uint32(k) ^ np.uint32(seed)))
    high = np.uint32(np.uint32(k >> 32) * np.uint32(0x9E3779B9) + np.uint32(seed >> np.uint64(32)))
    return _mixed(np.uint32(low + high))


def chance(p: float) -> tuple[np.uint64, np.uint32]:
    """A fresh seed (none is drawn where nothing is dropped) and the threshold a draw must reach to be kept."""
    seed = int(torch.randint(2**63 - 1, ())) if p else 0
    return np.uint64(seed), np.uint32(int(p * 2.0**32))


def scalar(x: Tensor, value: float) -> Any:
    return np.float64(value) if x.dtype == torch.float64 else np.float32(value)


def array(x: Tensor) -> Any:
    return x.detach().contiguous().numpy()
