"""Rows that several processes compute together: each writes its own to a shard, and rank 0 puts them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..runtime.errors import GraphMAEError
from ..runtime.files import replacing
from ..training.distributed import Ranks

ROWS_AT_A_TIME = 1 << 16


def shard_path(out: Path, rank: int) -> Path:
    """The shard of a rank, beside the file it becomes part of."""
    return out.with_name(f".{out.stem}.rank-{rank}.npy")


def in_shards(count: int, rows_of: Callable[[range], Tensor], out: Path, ranks: Ranks) -> Tensor:
    """`rows_of(numbers)` [numbers, k] of 0 … count − 1, each rank for a range of them: all rows on rank 0, its own on
    the others.

    The folder of `out` must be the same for all, as on a shared disk. Nothing but `out` itself is left there.

    >>> from graphmae.training.distributed import ALONE
    >>> in_shards(3, lambda numbers: torch.eye(3)[numbers], Path("z.npy"), ALONE).shape
    torch.Size([3, 3])
    """
    if ranks.size == 1:
        return rows_of(range(count))
    own, path = rows_of(ranks.span(count)), shard_path(out, ranks.rank)
    try:
        with replacing(path) as partial:
            np.save(partial, own.numpy())
        ranks.wait()
        rows = joined([shard_path(out, rank) for rank in range(ranks.size)], count) if ranks.is_first else own
        ranks.wait()
    finally:
        path.unlink(missing_ok=True)
    return rows


def joined(shards: Sequence[Path], count: int) -> Tensor:
    """The rows of all shards one after the other, `count` in all."""
    missing = [path for path in shards if not path.is_file()]
    if missing:
        raise GraphMAEError(
            f"{missing[0]} is not there: with several machines, --out must be in a folder that all of them share"
        )
    parts = [np.load(path, mmap_mode="r") for path in shards]
    if sum(map(len, parts)) != count:
        raise GraphMAEError(f"the shards hold {sum(map(len, parts))} rows, not {count}; are they of the same command?")
    rows, at = np.empty((count, parts[0].shape[1]), dtype=parts[0].dtype), 0
    for part in parts:
        for first in range(0, len(part), ROWS_AT_A_TIME):
            block = part[first : first + ROWS_AT_A_TIME]
            rows[at : at + len(block)] = block
            at += len(block)
    return torch.from_numpy(rows)
