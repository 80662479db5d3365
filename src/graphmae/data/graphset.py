"""Many small graphs as a few flat tensors: node numbers within their own graph, two pointers to find it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..runtime.errors import DataError
from .dataset import Dataset
from .edge_data import summed_features

if TYPE_CHECKING:
    from torch_geometric.data import Data

SHOWN = 5  # problems of single graphs that are spelled out in one report


@dataclass(frozen=True, eq=False, repr=False)
class GraphSet(Dataset):
    """Graphs one after another; graph g has nodes `node_ptr[g]:node_ptr[g+1]` and edges `edge_ptr[g]:edge_ptr[g+1]`.

    Attributes:
        x: [N, d] float32 features, or [N] category codes that stand for one-hot features of width `num_codes`, or
            several columns of them [N, k] whose one-hot features stand side by side.
        num_codes: how many categories each column has; None: `x` holds the features themselves.
        edge_index: [2, E] int64, every node counted from 0 within its own graph.
        node_ptr, edge_ptr: [G + 1] int64.
        y: [G] int64 class numbers, or None.
        edge_sums: [N, k] the features of the edges into each node, added up; None: edges have none.
        edge_codes, edge_table: [E] which row of [C, k] are an edge's features, the last one being "masked".
        treatment: how features and self-loops were treated, as the loader takes it; stored with every model.

    >>> from torch_geometric.data import Data
    >>> pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([1]))
    >>> dict(GraphSet.from_list("pairs", [pair, pair]).with_self_loops().summary())
    {'graphs': 2, 'nodes': 4, 'edges': 8, 'features': 2}
    """

    name: str
    x: Tensor
    num_codes: int | tuple[int, ...] | None
    edge_index: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    y: Tensor | None = None
    treatment: Mapping[str, Any] = field(default_factory=dict)
    edge_sums: Tensor | None = None
    edge_codes: Tensor | None = None
    edge_table: Tensor | None = None
    task = "graph"
    default_recipe = "default-graph"
    metric = "accuracy"

    @classmethod
    def from_list(cls, name: str, graphs: Sequence[Data]) -> GraphSet:
        """PyG graphs with `x` [n, d], `edge_index` and, all or none, `edge_attr` [e, k] and one class number `y`."""
        if not graphs:
            raise DataError(f"{name}: there must be at least one graph")
        found = [f"graph {i}: {wrong}" for i, graph in enumerate(graphs) if (wrong := _unfit(graph, graphs[0]))]
        given = {key: [graph.get(key) for graph in graphs] for key in ("y", "edge_attr")}
        for key, values in given.items():
            if (without := [i for i, value in enumerate(values) if value is None]) and len(without) < len(graphs):
                found.append(
                    f"{len(without)} graphs have no {key} (the first: graph {without[0]}); give all one or none"
                )
        if found:
            raise DataError(f"{name}: " + _in_short(found))
        made = cls(
            name,
            torch.cat([graph.x for graph in graphs]),
            None,
            torch.cat([graph.edge_index for graph in graphs], dim=1),
            _pointer([graph.x.size(0) for graph in graphs]),
            _pointer([graph.edge_index.size(1) for graph in graphs]),
            None if given["y"][0] is None else torch.tensor([int(label) for label in given["y"]]),
            {"features": "raw", "self_loops": False},
        ).checked()
        return made if given["edge_attr"][0] is None else made._with_edge_features(torch.cat(given["edge_attr"]))

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @property
    def in_channels(self) -> int:  # type: ignore[override]
        return int(self.x.size(1)) if self.num_codes is None else sum(_columns(self.num_codes))

    @property
    def target_channels(self) -> int:
        """How many of the features are reconstructed: of several columns of codes, those of the first."""
        return self.in_channels if self.num_codes is None else _columns(self.num_codes)[0]

    @property
    def edge_channels(self) -> int:
        return 0 if self.edge_table is None else int(self.edge_table.size(1))

    @property
    def edge_attr(self) -> Tensor | None:
        """[E, k] the features of every edge."""
        return None if self.edge_table is None or self.edge_codes is None else self.edge_table[self.edge_codes.long()]

    @property
    def num_classes(self) -> int:
        if self.y is None:
            raise DataError(f"{self.name} has no labels (y), so it has no classes")
        return 1 + int(self.y.max())

    def check_labels(self) -> None:
        """Refuse a set that cannot be evaluated, and say what it lacks."""
        if self.y is None:
            raise DataError(f"{self.name} has no labels (y), so it cannot be evaluated")
        if len(self.y.unique()) < 2:
            raise DataError(f"{self.name} has a single class, so there is nothing to evaluate")

    def pretrain_sets(self) -> Iterator[GraphSet]:
        yield replace(self, y=None)

    def features_to_check(self) -> Iterator[Tensor]:
        if self.num_codes is None:  # one-hot: nothing can be wrong with them
            yield self.x

    def node_graphs(self) -> Iterator[Data]:
        return (self.graph(i) for i in range(len(self)))

    def graph_sets(self) -> Iterator[GraphSet]:
        yield self

    def facets(self, nodes: Any = None) -> dict[str, Sequence[Any] | np.ndarray]:
        out: dict[str, Sequence[Any] | np.ndarray] = (
            {} if self.y is None else {"class": [str(c) for c in self.y.tolist()]}
        )
        return {**out, "nodes": self.node_ptr.diff().double().numpy(), "edges": self.edge_ptr.diff().double().numpy()}

    def features(self, rows: Tensor | slice) -> Tensor:
        """[rows, in_channels] float32; one-hot features are made here, for these rows alone."""
        return self.x[rows] if self.num_codes is None else one_hot(self.x[rows], self.num_codes)

    def graph(self, i: int) -> Data:
        """Graph i with dense features; negative numbers count from the end."""
        from torch_geometric.data import Data

        i = range(len(self))[i]
        nodes, edges = (slice(int(pointer[i]), int(pointer[i + 1])) for pointer in (self.node_ptr, self.edge_ptr))
        more = {} if self.y is None else {"y": self.y[i : i + 1]}
        if self.edge_codes is not None and self.edge_table is not None:
            more["edge_attr"] = self.edge_table[self.edge_codes[edges].long()]
        return Data(x=self.features(nodes), edge_index=self.edge_index[:, edges], **more)

    def first_node(self) -> Tensor:
        """[E]: what to add to the node numbers of an edge to count nodes over the whole set."""
        return self.node_ptr[:-1].repeat_interleave(self.edge_ptr.diff())

    def with_self_loops(self) -> GraphSet:
        """Exactly one self-loop on every node, after the other edges of its graph."""
        edge_index, node_ptr = self.edge_index, self.node_ptr
        other = edge_index[0] != edge_index[1]
        edge_ptr = _kept(other, self.edge_ptr)
        node = torch.arange(len(self.x), device=node_ptr.device)
        owner = torch.arange(len(self), device=node_ptr.device).repeat_interleave(node_ptr.diff())
        slot = edge_ptr[1:][owner] + node
        rest = torch.ones(int(edge_ptr[-1]) + len(node), dtype=torch.bool, device=node_ptr.device)
        rest[slot] = False
        looped = edge_index.new_empty(2, len(rest), dtype=torch.long)
        for target, source in zip(looped, edge_index, strict=True):
            target[slot] = node - node_ptr[owner]
            target.masked_scatter_(rest, source[other].long())
        treatment = {**self.treatment, "self_loops": True}
        made = replace(self, edge_index=looped, edge_ptr=edge_ptr + node_ptr, treatment=treatment)
        if (own := self.edge_attr) is None:
            return made
        features = own.new_zeros(len(rest), own.size(1)).masked_scatter(rest.unsqueeze(1), own[other])
        return made._with_edge_features(features)

    def coalesced(self) -> GraphSet:
        """Every edge once; of repeated ones the first stays."""
        key = (self.edge_index[0] + self.first_node()) * len(self.x) + self.edge_index[1]
        ordered, order = key.sort(stable=True)
        first = torch.ones_like(key, dtype=torch.bool)
        first[order[1:]] = ordered[1:] != ordered[:-1]
        made = replace(self, edge_index=self.edge_index[:, first], edge_ptr=_kept(first, self.edge_ptr))
        return made if (features := self.edge_attr) is None else made._with_edge_features(features[first])

    def _with_edge_features(self, features: Tensor) -> GraphSet:
        """The same with `features` [E, k] of its edges; one that is hidden has zeros."""
        codes = torch.arange(len(features), dtype=torch.int32)
        sums = summed_features(self.edge_index + self.first_node(), features, len(self.x))
        table = torch.cat([features, features.new_zeros(1, features.size(1))])
        return replace(self, edge_sums=sums, edge_codes=codes, edge_table=table)

    def checked(self) -> GraphSet:
        """The set with its tensors in their usual types, or a `DataError` that lists all that is wrong."""
        found = self._shapes()
        if not found:
            usual = replace(
                self,
                x=self.x.float() if self.num_codes is None else self.x.long(),
                edge_index=self.edge_index.long(),
                node_ptr=self.node_ptr.long(),
                edge_ptr=self.edge_ptr.long(),
                y=None if self.y is None else self.y.long(),
            )
            found = usual._pointers() or [*usual._features(), *usual._edges(), *usual._labels()]
        if found:
            raise DataError(f"{self.name}: " + "; ".join(found))
        return usual

    def summary(self) -> Iterator[tuple[str, int]]:
        yield "graphs", len(self)
        yield "nodes", len(self.x)
        yield "edges", int(self.edge_index.size(1))
        yield "features", self.in_channels

    def _shapes(self) -> list[str]:
        found = []
        if self.num_codes is None and (self.x.dim() != 2 or not self.x.is_floating_point()):
            found.append("x must be a matrix [nodes, features] of floating-point numbers, or num_codes must be given")
        if self.num_codes is not None and (self.x.dim() != _dims(self.num_codes) or not _is_whole(self.x)):
            found.append("with num_codes, x must hold one whole number a node and column")
        if isinstance(self.num_codes, tuple) and self.x.dim() == 2 and self.x.size(1) != len(self.num_codes):
            found.append(f"x has {self.x.size(1)} columns, num_codes {len(self.num_codes)}")
        if self.edge_sums is not None and self.edge_sums.shape[:1] != self.x.shape[:1]:
            found.append(f"edge_sums has {len(self.edge_sums)} rows for {len(self.x)} nodes")
        if self.edge_index.dim() != 2 or self.edge_index.size(0) != 2 or not _is_whole(self.edge_index):
            found.append("edge_index must be an integer matrix [2, edges]")
        for key in ("node_ptr", "edge_ptr", "y"):
            value = getattr(self, key)
            if value is not None and (value.dim() != 1 or not _is_whole(value)):
                found.append(f"{key} must be a row of whole numbers")
        return found

    def _pointers(self) -> list[str]:
        if len(self.node_ptr) < 2:
            return ["there must be at least one graph"]
        if len(self.node_ptr) != len(self.edge_ptr):
            return [f"node_ptr is for {len(self)} graphs, edge_ptr for {len(self.edge_ptr) - 1}"]
        found = []
        for key, pointer, end in (
            ("node_ptr", self.node_ptr, len(self.x)),
            ("edge_ptr", self.edge_ptr, self.edge_index.size(1)),
        ):
            if int(pointer[0]) != 0 or int(pointer[-1]) != end or (pointer.diff() < 0).any():
                found.append(f"{key} must rise from 0 to {end}")
        empty = (self.node_ptr.diff() == 0).nonzero().flatten()
        if not found and len(empty):
            found.append(f"{len(empty)} graphs have no nodes (the first: graph {int(empty[0])})")
        return found

    def _features(self) -> list[str]:
        if self.num_codes is None:
            if self.x.size(1) == 0:
                return ["there are 0 features; the set needs at least one"]
            rows = (~torch.isfinite(self.x)).any(1).nonzero().flatten()
            wrong = "NaN or infinite features"
        else:
            codes, limits = self.x.view(len(self.x), -1), torch.tensor(_columns(self.num_codes), device=self.x.device)
            rows = ((codes < 0) | (codes >= limits)).any(1).nonzero().flatten()
            wrong = f"a code outside 0 to {' / '.join(str(n - 1) for n in _columns(self.num_codes))}"
        if not len(rows):
            return []
        graph = int(torch.searchsorted(self.node_ptr, rows[0], right=True)) - 1
        first = f"node {int(rows[0] - self.node_ptr[graph])} of graph {graph}"
        return [f"{len(rows)} nodes have {wrong} (the first: {first})"]

    def _edges(self) -> list[str]:
        size = self.node_ptr.diff().repeat_interleave(self.edge_ptr.diff())
        outside = ((self.edge_index < 0) | (self.edge_index >= size)).any(0).nonzero().flatten()
        if not len(outside):
            return []
        a, b = self.edge_index[:, outside[0]].tolist()
        graph = int(torch.searchsorted(self.edge_ptr, outside[0], right=True)) - 1
        first = f"{a} → {b} in graph {graph}; its nodes go from 0 to {int(size[outside[0]]) - 1}"
        return [f"{len(outside)} edges leave their graph (the first: {first})"]

    def _labels(self) -> list[str]:
        if self.y is None:
            return []
        if len(self.y) != len(self):
            return [f"y has {len(self.y)} rows for {len(self)} graphs"]
        if int(self.y.min()) < 0:
            return [f"y must hold class numbers from 0 up, not {int(self.y.min())}"]
        if int(self.y.max()) >= max(len(self), 2):
            return [f"y names class {int(self.y.max())} in a set of {len(self)} graphs; number the classes from 0 up"]
        return []


def one_hot(codes: Tensor, num_codes: int | tuple[int, ...]) -> Tensor:
    """[n] or [n, k] codes → [n, Σ num_codes] float32; a code of −1 gives zeros.

    >>> one_hot(torch.tensor([[0, 1], [1, -1]]), (2, 2)).tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]]
    """
    columns = zip(codes.view(len(codes), -1).unbind(1), _columns(num_codes), strict=True)
    parts = [column.unsqueeze(1) == torch.arange(width, device=codes.device) for column, width in columns]
    return (parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)).to(torch.float32)


def _columns(num_codes: int | tuple[int, ...]) -> tuple[int, ...]:
    return (num_codes,) if isinstance(num_codes, int) else num_codes


def _dims(num_codes: int | tuple[int, ...]) -> int:
    return 1 if isinstance(num_codes, int) else 2


def _unfit(graph: Data, first: Data) -> str:
    """Why the tensors of a graph cannot be joined with those of the first; empty when they can."""
    x, edge_index, y = graph.get("x"), graph.get("edge_index"), graph.get("y")
    if not isinstance(x, Tensor) or x.dim() != 2 or not x.is_floating_point():
        return "x must be a matrix [nodes, features] of floating-point numbers"
    width = first.x.size(-1) if isinstance(first.get("x"), Tensor) else x.size(1)
    if x.size(1) != width:
        return f"{x.size(1)} features, but graph 0 has {width}"
    if (
        not isinstance(edge_index, Tensor)
        or edge_index.dim() != 2
        or edge_index.size(0) != 2
        or not _is_whole(edge_index)
    ):
        return "edge_index must be an integer matrix [2, edges]"
    attr, before = graph.get("edge_attr"), first.get("edge_attr")
    if attr is not None and before is not None and attr.size(1) != before.size(1):
        return f"{attr.size(1)} features per edge (edge_attr), but graph 0 has {before.size(1)}"
    if y is not None and not (isinstance(y, int) or (isinstance(y, Tensor) and y.numel() == 1)):
        return "y must be one class number"
    if y is not None and not float(y).is_integer():
        return f"y must be a whole class number, not {float(y)}"
    return ""


def _in_short(found: list[str]) -> str:
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more


def _is_whole(values: Tensor) -> bool:
    return not (values.is_floating_point() or values.is_complex() or values.dtype == torch.bool)


def _pointer(counts: list[int]) -> Tensor:
    return torch.tensor([0, *counts]).cumsum(0)


def _kept(keep: Tensor, pointer: Tensor) -> Tensor:
    """The pointer after everything outside the [E] bool mask has left."""
    return pointer - torch.searchsorted((~keep).nonzero().flatten(), pointer)
