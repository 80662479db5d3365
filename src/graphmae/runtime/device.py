"""Which device to compute on."""

from __future__ import annotations

import torch

from .errors import InputError


def resolve_device(name: str | torch.device = "auto") -> torch.device:
    """'auto' is CUDA where there is one, else the CPU."""
    if isinstance(name, torch.device):
        return name
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"unknown device {name!r}. Allowed: auto, cpu, cuda, cuda:N") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {name!r} was asked for, but torch sees no CUDA device; use --device cpu")
    if device.type == "cuda" and device.index is not None and device.index >= torch.cuda.device_count():
        raise InputError(f"device {name!r}: there are only {torch.cuda.device_count()} CUDA devices")
    return device
