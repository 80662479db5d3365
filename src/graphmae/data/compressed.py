"""One graph in compressed rows: what sampled batches and layer-wise embeddings read, in memory or mapped from disk."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..runtime.compiled import compiled
from ..runtime.errors import DataError, InputError

if TYPE_CHECKING:
    from torch_geometric.data import Data

MOST_MAPPED = 3 << 30  # bytes of mapped files in this process's resident memory, before they are let go of
STATM = Path("/proc/self/statm")
PAGE = mmap.PAGESIZE


@compiled
def _gather(rows: Any, nodes: Any, out: Any) -> None:
    for i in range(nodes.shape[0]):
        source, target = rows[nodes[i]], out[i]
        for c in range(target.shape[0]):
            target[c] = source[c]


@compiled
def _gather_scaled(rows: Any, nodes: Any, scale: Any, out: Any) -> None:
    for i in range(nodes.shape[0]):
        source, target = rows[nodes[i]], out[i]
        for c in range(target.shape[0]):
            target[c] = source[c] * scale[c]


@dataclass(frozen=True)
class FeatureRows:
    """Features of nodes as they are stored, given out as float32.

    Attributes:
        array: [N, k] float32, float16, or int8 with `scale` [k].

    >>> rows = FeatureRows(np.array([[1, -2], [3, 4]], dtype=np.int8), np.array([0.5, 2.0], dtype=np.float32))
    >>> rows.take(np.array([1])).tolist()
    [[1.5, 8.0]]
    """

    array: np.ndarray
    scale: np.ndarray | None = None

    @property
    def width(self) -> int:
        return int(self.array.shape[1])

    def take(self, nodes: np.ndarray) -> Tensor:
        """[n, k] the rows of `nodes` [n], which must be nodes; other threads go on meanwhile."""
        if self.array.dtype == np.float16:
            halves = np.empty((len(nodes), self.width), dtype=np.uint16)
            _gather(self.array.view(np.uint16), nodes, halves)
            return torch.from_numpy(halves.view(np.float16)).float()
        out = np.empty((len(nodes), self.width), dtype=np.float32)
        if self.scale is None:
            _gather(self.array, nodes, out)
        else:
            _gather_scaled(self.array, nodes, self.scale, out)
        return torch.from_numpy(out)

    def block(self, begin: int, end: int) -> Tensor:
        """[end − begin, k] rows that are next to each other."""
        rows = torch.from_numpy(np.array(self.array[begin:end])).float()
        return rows if self.scale is None else rows * torch.from_numpy(self.scale)


@dataclass(frozen=True)
class CompressedGraph:
    """A graph by the nodes each node receives from.

    Attributes:
        indptr: [N + 1] where the senders of each node begin.
        indices: [E] senders.
        features: rows of the N nodes.
        self_loops: whether every node also receives from itself, once; such edges are not among `indices`.
        out_degree: [N] to how many nodes each sends, itself aside; None: as many as it receives from.
    """

    indptr: np.ndarray
    indices: np.ndarray
    features: FeatureRows
    self_loops: bool
    out_degree: np.ndarray | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Directed edges, self-loops included."""
        return len(self.indices) + self.self_loops * self.num_nodes

    @classmethod
    def of(cls, graph: Data, name: str = "the graph") -> CompressedGraph:
        """A graph in memory.

        >>> from torch_geometric.data import Data
        >>> ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> CompressedGraph.of(Data(x=torch.eye(3), edge_index=ring)).indices.tolist()
        [2, 0, 1]
        """
        for key, words in (("edge_weight", "weights"), ("edge_attr", "features")):
            if key in graph:
                raise InputError(
                    f"{name} has {words} of edges, and sampled batches know none: train in parts (train.parts), or "
                    "leave these columns out"
                )
        nodes = len(graph.x)
        sender, receiver = graph.edge_index.numpy()
        apart = sender != receiver
        loops = np.bincount(sender[~apart], minlength=nodes)
        everywhere = bool((loops == 1).all())
        if everywhere:
            sender, receiver = sender[apart], receiver[apart]
        in_order = bool((receiver[1:] >= receiver[:-1]).all())
        order = slice(None) if in_order else np.argsort(receiver, kind="stable")
        into, out = (np.bincount(side, minlength=nodes) for side in (receiver, sender))
        indptr = np.concatenate([[0], np.cumsum(into)]).astype(np.int64)
        width = np.int32 if nodes < 2**31 else np.int64
        return cls(
            indptr,
            sender[order].astype(width),
            FeatureRows(graph.x.contiguous().numpy()),
            everywhere,
            None if np.array_equal(into, out) else out.astype(np.int64),
        )

    def to_data(self) -> Data:
        """The graph in memory, as PyG has it."""
        from torch_geometric.data import Data

        degrees, senders = np.diff(self.indptr), np.asarray(self.indices, dtype=np.int64)
        if (degrees < 0).any() or degrees.sum() != len(senders) or ((senders < 0) | (senders >= self.num_nodes)).any():
            raise DamagedGraph("the stored graph is damaged: an edge leads to a node that does not exist")
        edges = np.stack([senders, np.repeat(np.arange(self.num_nodes), degrees)])
        if self.self_loops:
            edges = np.concatenate([edges, np.tile(np.arange(self.num_nodes), (2, 1))], axis=1)
        return Data(x=self.features.block(0, self.num_nodes), edge_index=torch.from_numpy(edges))

    def release(self, most: int = MOST_MAPPED) -> None:
        """Let go of mapped pages where this process holds many; the system keeps those it has room for."""
        if mapped_bytes() > most:
            for array in (self.indptr, self.indices, self.features.array):
                release(array)


def mapped_bytes() -> int:
    """Resident memory of this process that is mapped from files; 0 where it is not known."""
    try:
        return int(STATM.read_text().split()[2]) * PAGE
    except OSError:
        return 0


def release(array: np.ndarray) -> None:
    """Take the pages of a mapped array out of this process's memory; what was written stays written."""
    found: Any = array
    while found is not None and not isinstance(found, mmap.mmap):
        found = getattr(found, "_mmap", None) or getattr(found, "base", None)
    if found is not None and hasattr(found, "madvise"):
        found.madvise(mmap.MADV_DONTNEED)


class DamagedGraph(DataError):
    """The arrays of a stored graph do not belong together."""
