"""Edges into compressed rows with bounded memory: into buckets by receiver as they come, then sorted one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...runtime.compiled import compiled
from ...runtime.files import writing

MOST_BUCKETS, BUCKET_NODES = 512, 1 << 16


@compiled
def _counted(rows: Any, shift: Any, counts: Any) -> None:
    for i in range(rows.shape[0]):
        counts[rows[i] >> shift] += 1


@compiled
def _thrown(rows: Any, cols: Any, shift: Any, at: Any, out: Any) -> None:
    """out: the pairs, as row within its bucket · 2⁴⁰ + column, those of a bucket together."""
    for i in range(rows.shape[0]):
        bucket = rows[i] >> shift
        out[at[bucket]] = ((rows[i] - (bucket << shift)) << 40) | cols[i]
        at[bucket] += 1


@compiled
def _without_repeats(pairs: Any, counts: Any, cols: Any) -> Any:
    """Of sorted pairs each once: their columns, and how many every row has."""
    kept = 0
    for i in range(pairs.shape[0]):
        if i > 0 and pairs[i] == pairs[i - 1]:
            continue
        counts[pairs[i] >> 40] += 1
        cols[kept] = pairs[i] & ((1 << 40) - 1)
        kept += 1
    return kept


class Buckets:
    """Directed edges on disk, by ranges of receivers; `rows` gives them back sorted, each once.

    A bucket is sorted in memory: 8 bytes for each of its edges, of at most 512 buckets.
    """

    def __init__(self, folder: Path, num_nodes: int) -> None:
        self.num_nodes = num_nodes
        wanted = -(-num_nodes // min(MOST_BUCKETS, max(1, num_nodes // BUCKET_NODES)))
        self.shift = max(0, int(wanted - 1).bit_length())
        self.files: list[BinaryIO] = []
        self.paths = [folder / f"edges-{number:04d}.bin" for number in range(-(-num_nodes // (1 << self.shift)))]
        self.given = 0
        with writing(folder):
            for path in self.paths:
                self.files.append(path.open("w+b"))

    def add(self, receivers: np.ndarray, senders: np.ndarray) -> None:
        counts = np.zeros(len(self.files), dtype=np.int64)
        _counted(receivers, self.shift, counts)
        at = np.cumsum(counts) - counts
        out = np.empty(len(receivers), dtype=np.int64)
        _thrown(receivers, senders, self.shift, at, out)
        begin = 0
        for path, file, size in zip(self.paths, self.files, counts, strict=True):
            with writing(path, int(8 * size)):
                file.write(out[begin : begin + size].data if size else b"")
            begin += int(size)
        self.given += len(receivers)

    def rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For one range of nodes after the other: ([nodes] how many senders each has, the senders); files go."""
        for number, (path, file) in enumerate(zip(self.paths, self.files, strict=True)):
            with writing(path):
                file.flush()
                file.seek(0)
                pairs = np.fromfile(file, dtype=np.int64)
                file.close()
                path.unlink()
            pairs.sort()
            begin = number << self.shift
            counts = np.zeros(min(1 << self.shift, self.num_nodes - begin), dtype=np.int64)
            cols = np.empty(len(pairs), dtype=np.int64)
            kept = _without_repeats(pairs, counts, cols)
            yield counts, cols[:kept]

    def close(self) -> None:
        for path, file in zip(self.paths, self.files, strict=True):
            file.close()
            path.unlink(missing_ok=True)
