"""Tensors in files: written one at a time with a digest, checked where others may have changed them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .files import replacing

NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
    torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


class Damaged(ValueError):
    """A file of tensors that is not what was written."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """A safetensors file with a digest of its content, whole or not at all.

    One tensor at a time is in the host's memory, and the file has the permissions other new files have; the library's
    own writer needs a copy of all of them, and makes the file readable for its owner alone.
    """
    stored = dict(metadata or {})
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    header: dict[str, object] = {"__metadata__": {**stored, "digest": _digest(tensors, stored)}}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path, len(text) + 8 + end) as partial, partial.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, tensor in ordered:
            file.write(_bytes(tensor))


def read_tensors(path: Path, must_have_digest: bool = False) -> tuple[dict[str, Tensor], dict[str, str]]:
    """(tensors, metadata) that `write_tensors` wrote, or `Damaged`. Files of other programs have no digest."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, RuntimeError, KeyError) as error:
        raise Damaged(" ".join(str(error).split())[:300]) from None
    wanted = metadata.pop("digest", None)
    if (must_have_digest or wanted is not None) and wanted != _digest(tensors, metadata):
        raise Damaged("its numbers are not those that were written")
    return tensors, metadata


def _digest(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    """Of names, types, shapes and numbers: one flipped bit in an edge would point anywhere in memory."""
    digest = hashlib.sha256()
    for key in sorted(metadata):
        digest.update(f"{key}={metadata[key]};".encode())
    for key in sorted(tensors):
        digest.update(f"{key};{tensors[key].dtype};{tuple(tensors[key].shape)};".encode())
        digest.update(_bytes(tensors[key]))
    return digest.hexdigest()


def _bytes(tensor: Tensor) -> Any:
    if not tensor.numel():
        return b""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data


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


def wrong_edges(edges: Any) -> str:
    """What keeps a value from being an `edge_index` [2, E], in words; "" where nothing does.

    >>> wrong_edges([[0], [1]])
    'edge_index must be a tensor of whole numbers [2, edges], not a list'
    """
    if not isinstance(edges, Tensor):
        kind = f"a {type(edges).__name__}"
    elif edges.layout != torch.strided:
        kind = "a sparse matrix; matrix.to_sparse_coo().coalesce().indices() has its edges"
    elif edges.dim() != 2 or edges.size(0) != 2:
        kind = f"one of shape {tuple(edges.shape)}"
    elif edges.is_floating_point() or edges.is_complex() or edges.dtype == torch.bool:
        kind = f"of {edges.dtype}"
    else:
        return ""
    return f"edge_index must be a tensor of whole numbers [2, edges], not {kind}"


def first_unusual(tensors: Mapping[str, Any]) -> str:
    """The first of several that is unusual, with its name; "" where none is."""
    return next((f"{name!r} is {what}" for name, value in tensors.items() if (what := unusual(value))), "")
