"""Graphs of any size, made up: communities, hubs, features that tell both. In memory, or as files a piece at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLASSES = 41
INSIDE = 0.7  # of the edges, within a community
SKEW = 1.5  # of how likely a node is an end of an edge: some are hubs


def ends_of(count: int, nodes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """[count] ends of random edges: nodes i, i + CLASSES, i + 2 CLASSES, … are a community."""
    rng = np.random.default_rng(seed)
    first = (nodes * rng.random(count) ** SKEW).astype(np.int64)
    second = (nodes * rng.random(count)).astype(np.int64)
    inside = rng.random(count) < INSIDE
    shift = (first - second) % CLASSES
    second = np.where(inside, second + shift, second)
    return first, np.where(second >= nodes, second - CLASSES, second)


def features_of(begin: int, end: int, width: int, seed: int = 0) -> np.ndarray:
    """[end − begin, width] float32: what a community has in common, and noise."""
    centres = np.random.default_rng(seed).normal(size=(CLASSES, width)).astype(np.float32)
    noise = np.random.default_rng([seed, begin]).standard_normal((end - begin, width), dtype=np.float32)
    return noise + 0.5 * centres[np.arange(begin, end) % CLASSES]


def write_tables(folder: Path, nodes: int, rows: int, width: int, piece: int = 1 << 20) -> dict[str, int]:
    """nodes.parquet and edges.parquet (`rows` edges, each to count both ways); bytes of each."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"f{i}" for i in range(width)]
    schema = pa.schema([("id", pa.int64()), *((name, pa.float32()) for name in names)])
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    # Ids that say nothing of the row: every node's number times an odd constant.
    with pq.ParquetWriter(folder / "nodes.parquet", schema, **options) as writer:
        for begin in range(0, nodes, 1 << 17):
            end = min(begin + (1 << 17), nodes)
            columns = np.ascontiguousarray(features_of(begin, end, width).T)
            writer.write_table(
                pa.table([pa.array(ids_of(np.arange(begin, end))), *map(pa.array, columns)], schema=schema)
            )
    schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    with pq.ParquetWriter(folder / "edges.parquet", schema, **options) as writer:
        for number, begin in enumerate(range(0, rows, piece)):
            first, second = ends_of(min(piece, rows - begin), nodes, number)
            writer.write_table(pa.table([pa.array(ids_of(first)), pa.array(ids_of(second))], schema=schema))
    return {name: (folder / name).stat().st_size for name in ("nodes.parquet", "edges.parquet")}


def ids_of(numbers: np.ndarray) -> np.ndarray:
    return numbers * 2_654_435_761 % (1 << 40)


def edge_index(nodes: int, directed_edges: int, seed: int = 0) -> np.ndarray:
    """[2, directed_edges] both ways, each once, without self-loops, sorted by receiver; an even number of edges."""
    wanted, keys = directed_edges // 2, np.empty(0, np.int64)
    while len(keys) < wanted:
        first, second = ends_of(int(1.15 * (wanted - len(keys))) + 1000, nodes, seed)
        low, high = np.minimum(first, second), np.maximum(first, second)
        keys = np.unique(np.concatenate([keys, (low * nodes + high)[low != high]]))
        seed += 1
    drop = np.random.default_rng(seed).choice(len(keys), len(keys) - wanted, replace=False)
    keys = np.delete(keys, drop)
    low, high = np.divmod(keys, nodes)
    both = np.concatenate([keys, high * nodes + low])
    both.sort()
    return np.stack(np.divmod(both, nodes))[::-1].copy()
