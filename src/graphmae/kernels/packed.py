"""Many small graphs as flat tensors, and a batch taken from them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Packed:
    """Graphs one after the other; edges sorted by receiver, everything counted within its own graph.

    Attributes (N nodes, E edges, G graphs):
        x: [N + 1, d] features, or [N + 1, k] codes of one-hot features; the last row pads.
        widths: how many codes each column has; None: `x` holds features.
        offsets: [k] where the one-hot features of each column begin.
        edge_sums: [N + 1, s] the features of each node's edges, added up, or None.
        in_start, out_start: [N + 1] where a node's edges begin, sorted by receiver and by sender.
        sender, receiver: [E]; back: [E] the edges in the order of their senders.
        node_ptr, edge_ptr: [G + 1] int64.
        largest: nodes of the largest graph.
    """

    x: Tensor
    widths: tuple[int, ...] | None
    offsets: Tensor
    edge_sums: Tensor | None
    in_start: Tensor
    out_start: Tensor
    sender: Tensor
    receiver: Tensor
    back: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    largest: int


@dataclass(frozen=True)
class Taken:
    """Some of them side by side, n nodes and e edges in all, of which the last may only fill up.

    Attributes:
        x: [n, d] features; edge_sums: [n, s] or None.
        batch: [n] int64, which graph a node belongs to; as many as there are graphs for rows that pad.
        crow, row, col: the edges by receiver; ccol [n + 1], edge [e]: by sender; int32.
        sizes, starts: [B], [B + 1] int64, nodes of each graph and where they begin.
        valid: how many rows are real, int32.
    """

    x: Tensor
    edge_sums: Tensor | None
    batch: Tensor
    crow: Tensor
    row: Tensor
    col: Tensor
    ccol: Tensor
    edge: Tensor
    sizes: Tensor
    starts: Tensor
    valid: Tensor
