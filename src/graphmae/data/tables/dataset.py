"""A graph made of tables: one node per row of the node table, in its order."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...runtime.errors import DataError, InputError, unknown
from ..edge_data import EDGE_KEYS, with_loops
from ..nodes import NodeDataset
from .cells import as_text, floats, is_missing, is_numeric, strings
from .columns import Column
from .drift import Drift
from .edge_columns import EdgeColumns
from .edge_features import edge_feature_names, node_features
from .identity import positions
from .leaks import label_values, report_leaks
from .reading import read_table
from .report import Report
from .structure import NAMES, standardised

logger = logging.getLogger("graphmae")


@dataclass(frozen=True, repr=False)
class TableGraph(NodeDataset):
    """A graph made of tables; node i is row i of the node table (without rows that repeat an earlier one).

    Attributes:
        ids: of the nodes, as they are in the table.
        id_name: what the table calls them.
        columns: the columns that became features.
        cells: [nodes, columns] bool, true where a cell had a value.
        report: what was found.
        label: the column with the labels.
        classes: their names.
        drift: what differs from the tables a model was trained on; None where there is no model to compare with.
    """

    ids: pa.ChunkedArray | None = None
    id_name: str = "id"
    columns: tuple[Column, ...] = ()
    cells: np.ndarray | None = None
    report: Report = field(default_factory=lambda: Report("graph"))
    label: str = ""
    classes: tuple[str, ...] = ()
    drift: Drift | None = None

    def details(self) -> Iterator[str]:
        yield f"ids: {self.id_name}"
        yield f"features: {', '.join(column.name for column in self.columns) or 'of the graph alone'}"
        yield from super().details()
        if stored := self.treatment.get("edge_columns"):
            edges = EdgeColumns.from_dict(stored)
            roles = {"weight": edges.weight, "time": edges.time}
            named = [f"{role} {column.name}" for role, column in roles.items() if column is not None]
            yield f"columns of edges: {', '.join([*named, *edges.feature_names])}"
        directed = self.treatment["directed"]
        yield f"edges go {'one way' if directed else 'both ways'}; more in report, feature_names, treatment"

    def pretrain_graphs(self) -> list[Data]:
        """In the order of the ids, so that a model does not depend on how the file is sorted."""
        return [self.sorted_by_id().graphs[0]]

    def sorted_by_id(self) -> TableGraph:
        return self if self._is_sorted else self._sorted

    def from_sorted(self, rows: Tensor) -> Tensor:
        return rows if self._is_sorted else rows[torch.from_numpy(inverse(self._order))]

    @cached_property
    def _order(self) -> np.ndarray:
        assert self.ids is not None
        return id_order(self.ids)

    @cached_property
    def _is_sorted(self) -> bool:
        return bool((np.diff(self._order) > 0).all())

    @cached_property
    def _sorted(self) -> TableGraph:
        return reordered(self, self._order)

    def nodes_of(self, ids: pa.ChunkedArray) -> np.ndarray:
        """The node of every id, [ids] int64; -1 where there is none."""
        assert self.ids is not None
        return positions(ids, as_text(self.ids).combine_chunks())

    def with_graph(self, graph: Data) -> TableGraph:
        """The same nodes with other edges; features that were made from edges are made anew."""
        structure, scale = self.treatment.get("structure"), self.treatment.get("edge_features")
        directed, x = bool(self.treatment["directed"]), graph.x
        blocks = [x[:, : sum(column.width for column in self.columns)]]
        if scale:
            blocks.append(torch.from_numpy(node_features(graph, directed, scale)[0]))
        if structure:
            ends = graph.edge_index[:, graph.edge_index[0] != graph.edge_index[1]].numpy()
            blocks.append(torch.from_numpy(standardised(ends, len(x), directed, structure)[0]))
        x = torch.cat(blocks, dim=1) if scale or structure else x
        edges = {key: graph[key] for key in ("edge_index", *EDGE_KEYS) if key in graph}
        changed = Data(x=x, **edges)
        loops = self.treatment["self_loops"] and "edge_weight" in graph  # what they weigh is made from the others
        return replace(self, graphs=(with_loops(changed) if loops else changed,), splits={})

    def node_ids(self) -> pa.ChunkedArray | None:
        return self.ids

    def facets(self, nodes: Any = None) -> dict[str, Sequence[Any] | np.ndarray]:
        """Of private tables nothing but the structure: names and words are not to leave them."""
        if self.treatment.get("private"):
            return {key: value for key, value in super().facets().items() if key in ("neighbours", "split")}
        return {**super().facets(), **({} if nodes is None else table_facets(nodes, self))}

    def cells_to_show(self, nodes: Any, column: str) -> list[str]:
        if nodes is None:
            return super().cells_to_show(nodes, column)
        table = read_table(nodes, lambda names: [self.id_name])
        if column not in table.column_names:
            raise InputError(f"{unknown('column', column, table.column_names)} (--show)")
        cells = table.column(column).take(_rows_of_nodes(table, self))
        return [text or "" for text in _facet(cells.cast(pa.string()) if is_numeric(cells.type) else cells)]

    def label_names(self) -> tuple[str, Sequence[str]]:
        return self.label or "class", self.classes

    def check_labels(self) -> None:
        if "y" not in self.graphs[0]:
            known = names_of(self.treatment).get("label")
            before = f" (in training it was {known!r}, and this table has no classes there)" if known else ""
            raise DataError(f"{self.name} has no labels: name the column that holds them with --label{before}")
        super().check_labels()
        told = len(self.report.warnings)
        self.refuse_leaks("Pre-train again without it")
        for text in self.report.warnings[told:]:
            logger.warning("%s: %s", self.report.name, text)

    def refuse_leaks(self, advice: str) -> None:
        """Warn of columns that tell the label; refuse one that says the same, with what to do about it."""
        graph = self.graphs[0]
        known = (graph.y >= 0).numpy()
        y = label_values(self.classes)[graph.y.numpy()[known]]
        report_leaks(self.columns, graph.x.numpy()[known], y, self.label_names()[0], advice, self.report)

    @property
    def feature_names(self) -> list[str]:
        """One per feature, as `column` or `column: level`."""
        names = [name for column in self.columns for name in column.feature_names]
        if "edge_features" in self.treatment:
            further = EdgeColumns.from_dict(self.treatment["edge_columns"])
            columns = [*self.treatment["edge_kinds"], *further.feature_names]
            roles = further.weight is not None, further.time is not None
            names += edge_feature_names(columns, *roles, bool(self.treatment["directed"]))
        return names + list(NAMES) * bool(self.treatment.get("structure"))


def table_facets(nodes: Any, graph: TableGraph) -> dict[str, Sequence[Any] | np.ndarray]:
    """The columns of the node table but those of ids and labels, one value per node of the graph."""
    table = read_table(nodes, lambda names: [graph.id_name])
    if graph.id_name not in table.column_names:
        return {}
    rows = _rows_of_nodes(table, graph)
    known = {graph.id_name, names_of(graph.treatment).get("label"), names_of(graph.treatment).get("split")}
    out: dict[str, Sequence[Any] | np.ndarray] = {}
    for name in table.column_names:
        if name not in known and not pa.types.is_nested(table.column(name).type):
            cells = table.column(name).take(rows)
            out[name] = _facet(cells)
    return out


def _rows_of_nodes(table: pa.Table, graph: TableGraph) -> pa.Array:
    """For every node of the graph its first row in the table; null where it has none."""
    first = dict[int, int]()
    for row, node in enumerate(graph.nodes_of(table.column(graph.id_name)).tolist()):
        first.setdefault(node, row)
    return pa.array([first.get(node) for node in range(int(graph.graphs[0].num_nodes))], pa.int64())


def _facet(cells: pa.ChunkedArray) -> Sequence[Any] | np.ndarray:
    """Numbers as numbers, everything else as text."""
    if is_numeric(cells.type):
        return floats(cells)
    missing = is_missing(cells)
    return [None if gone else text for gone, text in zip(missing.tolist(), strings(cells).tolist(), strict=True)]


def names_of(treatment: Mapping[str, Any]) -> Mapping[str, str]:
    """What the columns of the tables a model was trained on were called: id, label, split, source, target, type,
    weight, time."""
    return treatment.get("names") or {}


def encoding_of(treatment: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a treatment that features depend on."""
    return {key: value for key, value in treatment.items() if key not in ("names", "statistics")}


def id_order(ids: pa.ChunkedArray) -> np.ndarray:
    """[rows] int64: the rows in the order of their ids as text, whatever type those have; equal ones as they come."""
    return pc.sort_indices(as_text(ids)).to_numpy().astype(np.int64)


def inverse(order: np.ndarray) -> np.ndarray:
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def reordered(graph: TableGraph, order: np.ndarray) -> TableGraph:
    """The same graph with node `order[i]` as node i; edges are sorted by their ends again, self-loops last."""
    data, rows = graph.graphs[0], torch.from_numpy(order)
    ends, nodes = torch.from_numpy(inverse(order))[data.edge_index], len(order)
    key = torch.where(ends[0] == ends[1], nodes * nodes, ends[0] * nodes) + ends[1]
    by_ends = torch.argsort(key)
    moved = Data(edge_index=ends[:, by_ends].contiguous())
    for name, value in data:
        if name != "edge_index":
            moved[name] = value[by_ends if name.startswith("edge_") else rows]
    base = NodeDataset.transductive(graph.name, moved)
    return replace(
        graph, graphs=base.graphs, splits=base.splits if graph.splits else {},
        ids=None if graph.ids is None else graph.ids.take(pa.array(order)),
        cells=None if graph.cells is None else graph.cells[order],
    )  # fmt: skip
