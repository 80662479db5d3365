"""Many small graphs on the device as a few flat tensors, their edges sorted once: a batch is a gather."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import kernels
from ..data import Dataset, GraphSet
from ..data.graphset import one_hot
from ..kernels import Adjacency, Packed, Taken
from ..runtime.errors import DataError
from .batch import Batch

INDEX = torch.int32


class _Part(NamedTuple):
    """Some graphs, edges sorted by receiver and counted within their graph, everything as narrow as it can be."""

    x: Tensor
    edge_sums: Tensor | None
    sender: Tensor
    receiver: Tensor
    back: Tensor
    in_start: Tensor
    out_start: Tensor
    edge_codes: Tensor | None
    node_sizes: Tensor
    edge_sizes: Tensor

    @classmethod
    def of(cls, graphs: GraphSet, device: torch.device) -> _Part:
        edge_ptr, node_ptr = graphs.edge_ptr.to(device), graphs.node_ptr.to(device)
        first = node_ptr[:-1].repeat_interleave(edge_ptr.diff())
        sender, receiver = graphs.edge_index.to(device) + first
        order = receiver.argsort(stable=True)
        sender, receiver, first = sender[order], receiver[order], first[order]
        back = sender.argsort(stable=True) - edge_ptr[:-1].repeat_interleave(edge_ptr.diff())
        before = edge_ptr[:-1].repeat_interleave(node_ptr.diff())
        degrees = (torch.bincount(side, minlength=len(graphs.x)) for side in (receiver, sender))
        begins = [degree.cumsum(0) - degree - before for degree in degrees]
        x = graphs.x if graphs.num_codes is None else _narrow(graphs.x)
        narrow = [_narrow(part) for part in (sender - first, receiver - first, back, *begins)]
        sums = None if graphs.edge_sums is None else graphs.edge_sums.to(device)
        codes = None if graphs.edge_codes is None else graphs.edge_codes.to(device)[order]
        return cls(x.to(device), sums, *narrow, codes, graphs.node_ptr.diff(), graphs.edge_ptr.diff())  # type: ignore[call-arg]


class GraphStore:
    """The graphs of a `GraphSet`, or of several, ready to be taken in any selection.

    With `edges` the features of every single edge are kept too, not only their sums at the nodes.

    >>> from torch_geometric.data import Data
    >>> pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> GraphStore(GraphSet.from_list("pairs", [pair] * 3)).take(torch.tensor([2, 0])).graph.crow.tolist()
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self, graphs: GraphSet | Iterable[GraphSet], device: torch.device | str = "cpu", edges: bool = False
    ) -> None:
        parts = graphs.graph_sets() if isinstance(graphs, Dataset) else graphs
        built = []
        for part in parts:
            kept = part if edges else replace(part, edge_codes=None)
            built.append(_Part.of(kept, torch.device(device)))
            self.num_codes, table = part.num_codes, part.edge_table
        if not built:
            raise DataError("there must be at least one graph")
        joined = _Part(*map(_joined, zip(*built, strict=True)))  # type: ignore[arg-type]
        self.node_sizes, self.edge_sizes = joined.node_sizes, joined.edge_sizes  # these stay on the host
        node_ptr, edge_ptr = (_offsets(sizes).to(device) for sizes in (self.node_sizes, self.edge_sizes))
        self.node_ptr = node_ptr
        self.edge_codes = joined.edge_codes
        self.edge_table = table.to(device) if edges and table is not None else None
        widths = (self.num_codes,) if isinstance(self.num_codes, int) else self.num_codes
        # One node after the last, without features or edges: what a batch is filled up with.
        self.packed = Packed(
            _one_more(joined.x, 0 if self.num_codes is None else -1),
            widths,
            _offsets(torch.tensor(widths or (0,), dtype=INDEX))[:-1].to(device),
            None if joined.edge_sums is None else _one_more(joined.edge_sums, 0),
            _one_more(joined.in_start, 0),
            _one_more(joined.out_start, 0),
            joined.sender,
            joined.receiver,
            joined.back,
            node_ptr,
            edge_ptr,
            int(self.node_sizes.max()),
        )

    def __len__(self) -> int:
        return len(self.node_sizes)

    def take(self, ids: Tensor) -> Batch:
        """The graphs `ids` [B], in this order."""
        host = ids.to(self.node_sizes.device)
        num_nodes, num_edges = int(self.node_sizes[host].sum()), int(self.edge_sizes[host].sum())
        ids = ids.to(self.node_ptr.device)
        return self._batch(ids, self._gathered(ids, num_nodes, num_edges, pads=False), pads=False)

    def take_padded(self, ids: Tensor, num_nodes: int, num_edges: int) -> Batch:
        """The same filled up to fixed shapes, with nothing that waits for the device: it can be recorded.

        `num_nodes` must be more than the graphs have: rows after theirs are nodes of zeros without edges.
        """
        taken = kernels.take_padded(self.packed, ids, num_nodes, num_edges) if self.edge_codes is None else None
        return self._batch(ids, taken or self._gathered(ids, num_nodes, num_edges, pads=True), pads=True)

    def _batch(self, ids: Tensor, taken: Taken, pads: bool) -> Batch:
        graph = Adjacency(taken.crow, taken.row, taken.col, len(taken.x), (taken.ccol, taken.edge))
        graph.sizes, graph.starts, graph.largest = taken.sizes, taken.starts, self.packed.largest
        graph.edge_sums = taken.edge_sums
        graph.valid = taken.valid if pads else None
        if self.edge_codes is not None:
            place = _ranges(self.packed.edge_ptr, ids, len(taken.col))[1]
            graph.edge_codes = self.edge_codes[place.clamp(max=len(self.edge_codes) - 1)]
            graph.edge_table = self.edge_table
        return Batch(taken.x, graph, taken.batch, ids=ids)

    def _gathered(self, ids: Tensor, num_nodes: int, num_edges: int, pads: bool) -> Taken:
        """By plain torch; what `kernels.take_padded` does in one go."""
        packed, last = self.packed, len(ids) - 1
        batch, node, sizes, start = _ranges(packed.node_ptr, ids, num_nodes)
        owner, edge, edge_sizes, edge_start = _ranges(packed.edge_ptr, ids, num_edges)
        real = owner <= last
        if pads:
            node = node.where(batch <= last, len(packed.x) - 1)
            edge, owner = edge.clamp(max=len(packed.sender) - 1), owner.clamp(max=last)
        offset, edge_offset = start[owner], edge_start[owner]
        row, col = packed.receiver[edge] + offset, packed.sender[edge] + offset
        back = packed.back[edge] + edge_offset
        total = edge_sizes.sum(0, keepdim=True)
        begins = F.pad(edge_start, (0, 1))[batch] if pads else edge_start[batch]
        crow, ccol = (begins + within[node] for within in (packed.in_start, packed.out_start))
        if pads:  # edges after the last belong to no row; they only must not point outside
            row, col = row.where(real, num_nodes - 1), col.where(real, num_nodes - 1)
            back = back.where(real, num_edges - 1)
            crow, ccol = crow.where(batch <= last, total), ccol.where(batch <= last, total)
        crow, ccol = torch.cat([crow, total]).to(INDEX), torch.cat([ccol, total]).to(INDEX)
        x = packed.x[node] if self.num_codes is None else one_hot(packed.x[node], self.num_codes)
        sums = None if packed.edge_sums is None else packed.edge_sums[node].to(torch.float32)
        starts = torch.cat([start, sizes.sum(0, keepdim=True)])
        edges = row.to(INDEX), col.to(INDEX), ccol, back.to(INDEX)
        return Taken(x, sums, batch, crow, *edges, sizes, starts, starts[-1].to(INDEX))


def _ranges(ptr: Tensor, ids: Tensor, total: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Everything between ptr[i] and ptr[i + 1] for every i of `ids`, one after the other, `total` places in all.

    Returns which id each place belongs to (B after the last), its position, the sizes [B] and where each begins.
    """
    sizes = ptr[ids + 1] - ptr[ids]
    ends = sizes.cumsum(0)
    place = torch.arange(total, device=ptr.device)
    owner = torch.searchsorted(ends, place, right=True)
    shift = ptr[ids] - (ends - sizes)
    return owner, place + shift[owner.clamp(max=len(ids) - 1)], sizes, ends - sizes


def _offsets(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0, dtype=counts.dtype)])


def _joined(columns: Sequence[Tensor | None]) -> Tensor | None:
    present = [column for column in columns if column is not None]
    return torch.cat(present) if present else None


def _one_more(rows: Tensor, value: int) -> Tensor:
    return torch.cat([rows, rows.new_full((1, *rows.shape[1:]), value)])


def _narrow(numbers: Tensor) -> Tensor:
    """The same whole numbers in the narrowest signed type."""
    highest = int(numbers.max()) if numbers.numel() else 0
    return numbers.to(torch.int8 if highest < 2**7 else torch.int16 if highest < 2**15 else INDEX)
