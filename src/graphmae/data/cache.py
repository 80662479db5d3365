"""Processed tensors, keyed by the content of the raw files, as safetensors in the cache folder."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ..runtime.files import replacing
from ..runtime.tensors import write_tensors
from .sources import cache_root, sha256

VERSION = 2  # raise when a reader's output changes


def cached(name: str, files: Mapping[str, Path], read: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """`read()`, or what it returned the last time for files with the same bytes."""
    content = "".join(f"{key}:{sha256(path)};" for key, path in sorted(files.items()))
    key = hashlib.sha256(f"{VERSION};{content}".encode()).hexdigest()[:16]
    path = cache_root() / "processed" / f"{name}-{key}.safetensors"
    if (found := _read(path)) is not None:
        return found
    tensors = {key: tensor.contiguous() for key, tensor in read().items()}
    # A cache that cannot be written costs time, nothing else.
    with contextlib.suppress(OSError), replacing(path) as partial:
        write_tensors(partial, tensors, {"digest": _digest(tensors)})
    return tensors


def _read(path: Path) -> dict[str, Tensor] | None:
    """What the cache holds; None where there is nothing, or it is damaged: then it is made again."""
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            wanted = (file.metadata() or {}).get("digest")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, RuntimeError):
        return None
    return tensors if wanted == _digest(tensors) else None


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Of names, types, shapes and numbers: one flipped bit in an edge would point anywhere in memory."""
    digest = hashlib.sha256()
    for key in sorted(tensors):
        value = tensors[key].contiguous()
        digest.update(f"{key};{value.dtype};{tuple(value.shape)};".encode())
        digest.update(value.view(-1).view(torch.uint8).numpy().data if value.numel() else b"")
    return digest.hexdigest()
