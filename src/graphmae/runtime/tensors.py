"""Tensors in files: written with the permissions of other files, checked where a stranger may have made them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """A safetensors file, readable for whom other new files are; the library makes it for its owner alone."""
    path.touch()
    mode = path.stat().st_mode & 0o777
    save_file(tensors, path, metadata)
    path.chmod(mode)


def unusual(value: Any) -> str:
    """What is unusual about a tensor that came in a file, in words; "" for a dense one that holds what its shape says.

    >>> unusual(torch.zeros(1).expand(10**12)), unusual(torch.zeros(2, 3))
    ('a tensor of 1,000,000,000,000 numbers of which 1 are stored', '')
    """
    if type(value) not in (Tensor, torch.nn.Parameter):
        return f"a {type(value).__name__}"
    if value.layout != torch.strided or value.is_nested or value.is_quantized:
        return (
            "a nested tensor"
            if value.is_nested
            else "a sparse tensor"
            if value.is_sparse
            else "a tensor that is not dense"
        )
    if value.is_meta or value.device.type != "cpu":
        return "a tensor without numbers"
    stored = value.untyped_storage().nbytes() // value.element_size()
    if value.numel() > max(stored, 1):
        return f"a tensor of {value.numel():,} numbers of which {stored:,} are stored"
    return ""


def first_unusual(tensors: Mapping[str, Any]) -> str:
    """The first of several that is unusual, with its name; "" where none is."""
    return next((f"{name!r} is {what}" for name, value in tensors.items() if (what := unusual(value))), "")
