"""Tensors in files: written with the permissions of other files, checked where a stranger may have made them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor


class Damaged(ValueError):
    """A file of tensors that is not what was written."""


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """A safetensors file with a digest of its content, and the permissions other new files have.

    The library itself makes it readable for its owner alone.
    """
    path.touch()
    mode = path.stat().st_mode & 0o777
    save_file(tensors, path, {"digest": _digest(tensors)})
    path.chmod(mode)


def read_tensors(path: Path, must_have_digest: bool = False) -> dict[str, Tensor]:
    """What `write_tensors` wrote, or `Damaged`. Files of other programs have no digest."""
    try:
        with safe_open(path, framework="pt") as file:
            wanted = (file.metadata() or {}).get("digest")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, RuntimeError, KeyError) as error:
        raise Damaged(" ".join(str(error).split())[:300]) from None
    if (must_have_digest or wanted is not None) and wanted != _digest(tensors):
        raise Damaged("its numbers are not those that were written")
    return tensors


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Of names, types, shapes and numbers: one flipped bit in an edge would point anywhere in memory."""
    digest = hashlib.sha256()
    for key in sorted(tensors):
        value = tensors[key].contiguous()
        digest.update(f"{key};{value.dtype};{tuple(value.shape)};".encode())
        digest.update(value.view(-1).view(torch.uint8).numpy().data if value.numel() else b"")
    return digest.hexdigest()


def unusual(value: Any) -> str:
    """What is unusual about a tensor that came in a file, in words; "" for a dense one that holds what its shape says.

    >>> unusual(torch.zeros(1).expand(10**12)), unusual(torch.zeros(2, 3))
    ('a tensor of 1,000,000,000,000 numbers of which 1 are stored', '')
    """
    if type(value) not in (Tensor, torch.nn.Parameter):
        return f"a {type(value).__name__}"
    if value.layout != torch.strided or value.is_nested or value.is_quantized:
        return "a nested tensor" if value.is_nested else "a sparse or quantised tensor"
    if value.is_meta or value.device.type != "cpu":
        return "a tensor without numbers"
    stored = value.untyped_storage().nbytes() // value.element_size()
    if value.numel() > max(stored, 1):
        return f"a tensor of {value.numel():,} numbers of which {stored:,} are stored"
    return ""


def first_unusual(tensors: Mapping[str, Any]) -> str:
    """The first of several that is unusual, with its name; "" where none is."""
    return next((f"{name!r} is {what}" for name, value in tensors.items() if (what := unusual(value))), "")
