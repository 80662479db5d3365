"""A graph's edges sorted by receiving row, and by sending column for gradients: built once for an edge tensor."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from ..runtime.errors import DataError, InputError
from ..runtime.tensors import wrong_edges

CHUNK = 32


@dataclass(frozen=True)
class Chunks:
    """Pieces of compressed rows; a row without edges has one empty piece.

    Attributes:
        row, begin, end: [K] the row of each piece, and its edges.
        lone: [K] whether it is the only one of its row.
        split: the rows that fall into several.
    """

    row: Tensor
    begin: Tensor
    end: Tensor
    lone: Tensor
    split: Tensor

    @classmethod
    def of(cls, crow: Tensor) -> Chunks:
        counts = ((crow.diff() + CHUNK - 1) // CHUNK).clamp(min=1)
        row = torch.repeat_interleave(counts)
        nth = torch.arange(row.numel(), device=row.device) - (counts.cumsum(0) - counts)[row]
        begin = (crow[row] + nth * CHUNK).to(crow.dtype)
        end = torch.minimum(begin + CHUNK, crow[row + 1])
        lone = counts[row] == 1
        return cls(row.to(crow.dtype), begin, end, lone, (counts > 1).nonzero().squeeze(1).to(crow.dtype))


class Adjacency:
    """Which columns each row receives from, in compressed rows; int32 where it fits.

    Attributes (E edges, R rows):
        crow: [R + 1] where each row's edges begin.
        col, row: [E] sender and receiver of each edge, sorted by receiver.
        edge_sums: [R, k] the features of each row's edges, added up; None: edges have none.
        edge_codes, edge_table: [E] which row of [C, k] are an edge's features, where that is kept; the last row is that
            of an edge whose features are hidden.
        weight: [E] what each edge weighs, above 0; None: all the same.
        sizes: [G] the nodes of each graph, where there are several side by side.
        starts: [G + 1] where each graph's nodes begin, where that is known; largest: a bound of `sizes`.
        valid: how many rows are real, on the device, where others after them only fill up a fixed shape.
        is_sampled: whether it is a batch of its own shape, so that nothing is lost where shapes depend on values.
        degrees: ([R], [C]) edges into and out of each node in the graph it was sampled from; None: it is the graph.
        share: [E] for how many edges of that graph each of these stands; None: for itself.
        has_unused: whether entries of `row` and `col` after the last edge only fill up a fixed shape.
    """

    edge_sums: Tensor | None = None
    edge_codes: Tensor | None = None
    edge_table: Tensor | None = None
    weight: Tensor | None = None
    sizes: Tensor | None = None
    starts: Tensor | None = None
    largest: int = 0
    valid: Tensor | None = None
    has_unused: bool = False
    is_sampled: bool = False
    degrees: tuple[Tensor, Tensor] | None = None
    share: Tensor | None = None

    def __init__(
        self, crow: Tensor, row: Tensor, col: Tensor, num_cols: int, transpose: tuple[Tensor, Tensor] | None = None
    ) -> None:
        width = torch.int32 if max(col.numel(), num_cols, crow.numel()) < 2**31 else torch.int64
        self.crow, self.row, self.col = crow.to(width), row.to(width), col.to(width)
        self.num_rows, self.num_cols = crow.numel() - 1, num_cols
        if transpose is not None:
            self.transpose = transpose

    @classmethod
    def from_edges(
        cls, edge_index: Tensor, num_nodes: int, weight: Tensor | None = None, features: Tensor | None = None
    ) -> Adjacency:
        """Messages flow from `edge_index[0]` to `edge_index[1]`, as in PyG. Edges may have a `weight` [E] and
        `features` [E, k].

        >>> ends, one = torch.tensor([[0, 1], [1, 0]]), torch.ones(2)
        >>> Adjacency.from_edges(ends, 2, one, torch.tensor([[3.0], [5.0]])).edge_sums.tolist()
        [[5.0], [3.0]]
        """
        if edge_index.numel() and (int(edge_index.min()) < 0 or int(edge_index.max()) >= num_nodes):
            bad = int(edge_index.min()) if int(edge_index.min()) < 0 else int(edge_index.max())
            raise DataError(f"an edge names node {bad}, but the graph has nodes 0 to {num_nodes - 1}")
        row, order = torch.sort(edge_index[1], stable=True)
        adj = cls(_offsets(row, num_nodes), row, edge_index[0][order], num_nodes)
        if weight is not None:
            adj.weight = weight[order].float()
        if features is not None:
            adj.edge_sums = features.new_zeros(num_nodes, features.size(1)).index_add(0, row, features[order])
            adj.edge_codes, adj.edge_table = order.to(adj.col.dtype), F.pad(features, (0, 0, 0, 1))
        return adj

    @property
    def edge_index(self) -> Tensor:
        """[2, E] as PyG has it, sorted by receiver."""
        edges = torch.stack([self.col, self.row]).long()
        return edges[:, : int(self.crow[-1])] if self.has_unused else edges

    @cached_property
    def transpose(self) -> tuple[Tensor, Tensor]:
        """([num_cols + 1] where each column's edges begin, [E] those edges' positions here)."""
        col, order = torch.sort(self.col, stable=True)
        return _offsets(col, self.num_cols).to(self.col.dtype), order.to(self.col.dtype)

    @cached_property
    def symmetric_weight(self) -> Tensor:
        """[E, 1] w_ij / √(weights into the receiver · weights out of the sender), the GCN normalisation."""
        if self.weight is not None:
            row, col, weight = self.row.long(), self.col.long(), self.weight.double()
            sums = (weight.new_zeros(size).index_add_(0, ends, weight)
                    for ends, size in ((row, self.num_rows), (col, self.num_cols)))  # fmt: skip
            into, out = (each.clamp(min=torch.finfo(torch.float32).tiny).rsqrt() for each in sums)
            return (weight * into[row] * out[col]).float().unsqueeze(1)
        if self.degrees is not None:  # of a sample: an estimate of the whole graph's sum that is right on average
            into, out = (part.clamp(min=1).rsqrt() for part in self.degrees)
            weight = into[self.row.long()] * out[self.col.long()]
            return (weight if self.share is None else weight * self.share).unsqueeze(1)
        into, out = (pointer.diff().clamp(min=1).float() for pointer in (self.crow, self.transpose[0]))
        return (into[self.row.long()] * out[self.col.long()]).rsqrt().unsqueeze(1)

    @cached_property
    def log_weight(self) -> Tensor | None:
        """[E] logarithms of the weights; None: all weigh the same."""
        return None if self.weight is None else self.weight.log()

    @property
    def edge_means(self) -> Tensor | None:
        """[R, k] the mean features of each row's edges; a self-loop counts as one with zeros."""
        return None if self.edge_sums is None else self.edge_sums / self.crow.diff().clamp(min=1).unsqueeze(1)

    def kept(self, keep: Tensor) -> Adjacency:
        """The same nodes with the edges of `keep` [E] alone.

        On CUDA the tensors keep their shapes, so that this can be recorded; what follows the last edge is unused.
        """
        order = self.transpose[1].long()
        ahead, back = _Kept.of(keep), _Kept.of(keep[order])
        transpose = back.pointer(self.transpose[0]), back.take(ahead.before[:-1][order])
        adj = Adjacency(ahead.pointer(self.crow), ahead.take(self.row), ahead.take(self.col), self.num_cols, transpose)
        adj.edge_sums, adj.sizes, adj.valid = self.edge_sums, self.sizes, self.valid
        adj.starts, adj.largest = self.starts, self.largest
        if self.edge_codes is not None:
            adj.edge_codes, adj.edge_table = ahead.take(self.edge_codes), self.edge_table
        if self.weight is not None:
            adj.weight = ahead.take(self.weight)
        adj.is_sampled = self.is_sampled
        if self.share is not None:
            adj.share = ahead.take(self.share)
        if self.degrees is not None:  # as many fewer there, on average, as here
            left = keep.float().mean()
            adj.degrees = self.degrees[0] * left, self.degrees[1] * left
        adj.has_unused = self.has_unused or keep.is_cuda
        if "chunks" in self.__dict__ or (keep.is_cuda and self.sizes is None):
            adj.chunks = tuple(  # type: ignore[assignment]
                replace(known, begin=part.pointer(known.begin), end=part.pointer(known.end))
                for known, part in zip(self.chunks, (ahead, back), strict=True)
            )
        return adj

    @cached_property
    def receivers(self) -> Tensor:
        """[E] the receiver of each edge, in the order of `transpose`."""
        return self.row.index_select(0, self.transpose[1])

    @cached_property
    def chunks(self) -> tuple[Chunks, Chunks]:
        """The edges of every row, and of every column, in pieces of at most `CHUNK`: nobody waits for a hub."""
        return Chunks.of(self.crow), Chunks.of(self.transpose[0])

    @cached_property
    def every_col(self) -> Tensor:
        """0, 1, …: every node as a sender."""
        return torch.arange(self.num_cols, device=self.col.device, dtype=self.col.dtype)

    @property
    def every_row(self) -> Tensor:
        """0, 1, …: every node as a receiver."""
        return self.every_col if self.num_rows == self.num_cols else self._every_row

    @cached_property
    def _every_row(self) -> Tensor:
        return torch.arange(self.num_rows, device=self.col.device, dtype=self.col.dtype)


class _Kept(NamedTuple):
    """Some entries of a list, moved together; `before` [E + 1] counts those in front of each."""

    keep: Tensor
    before: Tensor

    @classmethod
    def of(cls, keep: Tensor) -> _Kept:
        return cls(keep, F.pad(keep.cumsum(0, dtype=torch.int32), (1, 0)))

    def pointer(self, pointer: Tensor) -> Tensor:
        return self.before[pointer.long()].to(pointer.dtype)

    def take(self, values: Tensor) -> Tensor:
        if not values.is_cuda:
            return values[self.keep]
        behind = values.numel()  # where the others go
        slot = torch.where(self.keep, self.before[:-1], behind).long()
        return values.new_zeros(behind + 1).scatter_(0, slot, values)[:behind]


_About: TypeAlias = tuple[tuple[int, int, torch.dtype], Tensor, Tensor]
_ABOUT: MutableMapping[Tensor, _About] = WeakIdKeyDictionary()


def know(nodes: Tensor, size: int, index: Tensor, positions: Tensor) -> _About:
    """Keep for a tensor of nodes: the same as `index` in the index width of a graph, and their `positions` [size]."""
    _ABOUT[nodes] = (nodes._version, size, index.dtype), index, positions
    return _ABOUT[nodes]


_KEPT: MutableMapping[Tensor, tuple[tuple[int, int], Adjacency]] = WeakIdKeyDictionary()


def adjacency(edge_index: Tensor | Adjacency, num_nodes: int) -> Adjacency:
    """The `Adjacency` of an edge tensor; the second call on the same, unchanged tensor is free."""
    if isinstance(edge_index, Adjacency):
        return edge_index
    if torch.jit.is_tracing() or torch.compiler.is_exporting():
        raise InputError(
            "an encoder cannot be traced or exported as it is, since it would keep the edges of this one graph; use "
            "graphmae.pretrained.export_encoder(encoder, 'encoder.pt2')"
        )
    if wrong := wrong_edges(edge_index):
        raise DataError(wrong)
    if edge_index.is_inference() or torch.is_inference_mode_enabled():  # changes to it could not be noticed
        return Adjacency.from_edges(edge_index, num_nodes)
    key = (num_nodes, edge_index._version)
    kept = _KEPT.get(edge_index)
    if kept is None or kept[0] != key:
        kept = _KEPT[edge_index] = (key, Adjacency.from_edges(edge_index, num_nodes))
    return kept[1]


def plain(edges: Tensor | Adjacency) -> Tensor:
    """The edges as PyG has them, [2, E]."""
    return edges if isinstance(edges, Tensor) else edges.edge_index


@dataclass(frozen=True)
class View:
    """A graph as one layer sees it: which nodes it is asked for, and which it is given.

    Attributes:
        rows: [R] nodes whose output is wanted, each once; None: all.
        nodes: [n] the node each given feature row belongs to, each once; None: all, in order. A node that is not
            given counts as a row of zeros.
    """

    adj: Adjacency
    rows: Tensor | None = None
    nodes: Tensor | None = None

    @property
    def num_rows(self) -> int:
        return self.adj.num_rows if self.rows is None else self.rows.numel()

    @cached_property
    def wanted(self) -> Tensor:
        """[R] the rows, in the index width of the graph."""
        return self.adj.every_row if self.rows is None else self._about(self.rows, self.adj.num_rows)[0]

    @cached_property
    def given(self) -> Tensor:
        """[n] the nodes of the feature rows, in the index width of the graph."""
        return self.adj.every_col if self.nodes is None else self._about(self.nodes, self.adj.num_cols)[0]

    @cached_property
    def place(self) -> Tensor:
        """[num_cols] the feature row of each node, −1 where it has none."""
        return self.adj.every_col if self.nodes is None else self._about(self.nodes, self.adj.num_cols)[1]

    @cached_property
    def position(self) -> Tensor:
        """[num_rows of the graph] the output row of each node, −1 where it was not asked for."""
        return self.adj.every_row if self.rows is None else self._about(self.rows, self.adj.num_rows)[1]

    def _about(self, nodes: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """(`nodes` in the index width of the graph, [size] where each node stands among them or −1).

        Kept as long as the tensor, since the layers of a model ask for the same nodes.
        """
        narrow = self.adj.col.dtype
        # In inference mode changes cannot be noticed and nothing made can be trained on; or it would keep itself alive.
        if nodes.is_inference() or torch.is_inference_mode_enabled() or nodes.dtype == narrow:
            return nodes.to(narrow), _positions(nodes.to(narrow), size)
        key = (nodes._version, size, narrow)
        kept = _ABOUT.get(nodes)
        if kept is None or kept[0] != key:
            index = nodes.to(narrow)
            kept = know(nodes, size, index, _positions(index, size))
        return kept[1], kept[2]

    @property
    def senders(self) -> Tensor:
        """[num_cols] whether each node sends to a wanted one."""
        sends = (self.position >= 0)[self.adj.row.long()]
        out = torch.zeros(self.adj.num_cols, dtype=torch.bool, device=self.adj.col.device)
        out[self.adj.col[sends].long()] = True
        return out

    @property
    def needed(self) -> Tensor:
        """The wanted nodes and all that send to them: what a layer before this one has to compute."""
        mark = self.senders
        mark[self.wanted.long()] = True
        return mark.nonzero().squeeze(1)


def _positions(index: Tensor, size: int) -> Tensor:
    out = torch.full((size,), -1, dtype=index.dtype, device=index.device)
    return out.scatter_(0, index.long(), torch.arange(index.numel(), dtype=index.dtype, device=index.device))


def _offsets(sorted_index: Tensor, size: int) -> Tensor:
    counts = torch.bincount(sorted_index, minlength=size)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
