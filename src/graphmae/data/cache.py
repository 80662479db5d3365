"""Processed tensors, keyed by the content of the raw files, as safetensors in the cache folder."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from torch import Tensor

from ..runtime.tensors import Damaged, read_tensors, write_tensors
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
    with contextlib.suppress(OSError):
        write_tensors(path, tensors)
    return tensors


def _read(path: Path) -> dict[str, Tensor] | None:
    """What the cache holds; None where there is nothing, or it is damaged: then it is made again."""
    if not path.is_file():
        return None
    try:
        return read_tensors(path, must_have_digest=True)[0]
    except Damaged:
        return None
