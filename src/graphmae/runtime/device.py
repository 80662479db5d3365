"""Which device to compute on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .errors import InputError
from .values import check_device


def resolve_device(name: str | torch.device = "auto") -> torch.device:
    """'auto' is CUDA where there is one, else the CPU."""
    if isinstance(name, torch.device):
        return name
    check_device(name)
    device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {name!r} was asked for, but torch sees no CUDA device; use --device cpu")
    if device.type == "cuda" and device.index is not None and device.index >= torch.cuda.device_count():
        raise InputError(f"device {name!r}: there are only {torch.cuda.device_count()} CUDA devices")
    return device


_half = False


def half_products() -> bool:
    """Whether dense products run in bfloat16: in a block of `numerics(…, "bf16")`."""
    return _half


def numeric_mode() -> tuple[bool, bool, bool, str]:
    """Everything `numerics` changes, for `restore_numeric_mode`."""
    fill: bool = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    return _half, torch.are_deterministic_algorithms_enabled(), fill, torch.get_float32_matmul_precision()


def restore_numeric_mode(mode: tuple[bool, bool, bool, str]) -> None:
    global _half
    _half, strict, fill, precision = mode
    torch.use_deterministic_algorithms(strict)
    torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
    torch.set_float32_matmul_precision(precision)


@contextmanager
def numerics(device: torch.device, precision: str = "float32") -> Iterator[None]:
    """How to compute for the length of a block: bit-identical sums on the CPU, float32 or TF32 products on CUDA.

    "bf16" makes the layers' products bfloat16 on either.

    On CUDA a few sums run in an order that is not fixed; the same seed then agrees to rounding only.
    """
    global _half
    before, _half = numeric_mode(), precision == "bf16"
    if device.type == "cpu":
        torch.use_deterministic_algorithms(True)
        # A debugging aid that costs 10 % of the time.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.set_float32_matmul_precision("highest" if precision == "float32" else "high")
    try:
        yield
    finally:
        restore_numeric_mode(before)
