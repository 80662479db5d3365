"""Randomness: set it, save it, restore it, and keep evaluation from touching it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from .alone import alone
from .values import check_seeds as check_seeds


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch (every device)."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def random_state(cuda: bool = True) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Every generator training can draw from, as tensors and JSON values; without `cuda`, those of the host alone."""
    name, keys, position, has_gauss, cached = np.random.get_state()
    version, internal, gauss = random.getstate()
    tensors = {"torch": torch.get_rng_state(), "numpy": torch.from_numpy(np.asarray(keys).astype(np.int64))}
    if cuda and torch.cuda.is_available():
        for index, state in enumerate(torch.cuda.get_rng_state_all()):
            tensors[f"cuda.{index}"] = state
    values = {
        "numpy": [name, int(position), int(has_gauss), float(cached)],
        "python": [version, list(internal), gauss],
    }
    return tensors, values


def restore_random_state(tensors: dict[str, torch.Tensor], values: dict[str, Any]) -> None:
    """The inverse of `random_state`."""
    torch.set_rng_state(tensors["torch"])
    name, position, has_gauss, cached = values["numpy"]
    np.random.set_state((name, tensors["numpy"].numpy().astype(np.uint32), position, has_gauss, cached))
    version, internal, gauss = values["python"]
    random.setstate((version, tuple(internal), gauss))
    cuda = [state for key, state in sorted(tensors.items()) if key.startswith("cuda.")]
    if cuda and torch.cuda.is_available() and torch.cuda.device_count() == len(cuda):
        torch.cuda.set_rng_state_all(cuda)


@contextmanager
def preserved_randomness(seed: int | None = None) -> Iterator[None]:
    """Run a block on its own randomness; the outside generators continue as if it had not happened.

    Another thread that wants the same waits until the block is over: all threads share the generators.

    >>> seed_everything(0); a = torch.rand(1)
    >>> seed_everything(0)
    >>> with preserved_randomness(): _ = torch.rand(100)
    >>> assert torch.rand(1) == a
    """
    with alone():
        state = random_state()
        try:
            if seed is not None:
                seed_everything(seed)
            yield
        finally:
            restore_random_state(*state)
