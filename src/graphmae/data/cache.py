"""Processed tensors, keyed by the content of the raw files, as safetensors in the cache folder."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..runtime.files import replacing
from .sources import cache_root, sha256

VERSION = 1  # raise when a reader's output changes


def cached(name: str, files: Mapping[str, Path], read: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """`read()`, or what it returned the last time for files with the same bytes."""
    content = "".join(f"{key}:{sha256(path)};" for key, path in sorted(files.items()))
    key = hashlib.sha256(f"{VERSION};{content}".encode()).hexdigest()[:16]
    path = cache_root() / "processed" / f"{name}-{key}.safetensors"
    if path.is_file():
        # A damaged cache entry is made again, never fatal.
        with contextlib.suppress(SafetensorError, OSError):
            return load_file(path)
    tensors = {key: tensor.contiguous() for key, tensor in read().items()}
    # A cache that cannot be written costs time, nothing else.
    with contextlib.suppress(OSError), replacing(path) as partial:
        save_file(tensors, partial)
    return tensors
