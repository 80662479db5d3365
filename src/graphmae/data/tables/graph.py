"""A node table and an edge table → one graph the encoder can train on, with everything that was found reported once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...runtime.errors import DataError, unknown
from ..nodes import NodeDataset
from ..splits import stratified_split
from . import edges as edge_tables
from .cells import as_text, is_missing
from .columns import Column, fit_column
from .identity import first_of_each, guess_ends, guess_id, node_order, positions
from .labels import read_labels, read_split
from .reading import name_of, read_table
from .report import Report, count, some
from .structure import NAMES, structural_features

logger = logging.getLogger("graphmae")
MOST_TEXT_BYTES = 1 << 30


@dataclass(frozen=True)
class TableGraph(NodeDataset):
    """A graph made of tables, its nodes in an order of their own.

    Attributes:
        ids: of the node table's rows, as they stand there.
        rows: for each of those rows, the node it became.
        columns: the columns that became features.
        cells: [nodes, columns] bool, true where a cell had a value.
        report: what was found.
    """

    ids: pa.ChunkedArray | None = None
    rows: np.ndarray | None = None
    columns: tuple[Column, ...] = ()
    cells: np.ndarray | None = None
    report: Report = field(default_factory=lambda: Report("graph"))
    classes: tuple[str, ...] = ()

    def node_rows(self, rows: Tensor) -> Tensor:
        return rows[torch.from_numpy(self.rows)]

    def with_graph(self, graph: Data) -> TableGraph:
        """The same nodes with other edges; features that were made from edges are made anew."""
        structure, x = self.treatment.get("structure"), graph.x
        if structure:
            ends = graph.edge_index[:, graph.edge_index[0] != graph.edge_index[1]].numpy()
            block, _ = _structure(ends, len(x), bool(self.treatment["directed"]), structure, self.report)
            x = torch.cat([x[:, : -len(NAMES)], torch.from_numpy(block)], dim=1)
        if self.treatment.get("edge_kinds"):
            logger.warning("%s: features count the edges of each kind, those that are held out too", self.name)
        return replace(self, graphs=(Data(x=x, edge_index=graph.edge_index),), splits={})

    def node_ids(self) -> pa.ChunkedArray | None:
        return self.ids

    @property
    def feature_names(self) -> list[str]:
        """One per feature, as `column` or `column: level`."""
        if not self.columns:
            return list(NAMES)
        names = []
        for column in self.columns:
            inner = column.learned.get("levels") or column.learned.get("words")
            if column.kind == "vector":
                inner = range(len(column.learned["mean"]))
            names += [column.name] if inner is None else [f"{column.name}: {each}" for each in inner]
            names += [f"{column.name}: other"] * bool(column.learned.get("other"))
            names += [f"{column.name} is missing"] * bool(column.learned.get("says_missing"))
        names += [f"edges: {kind}" for kind in self.treatment["edge_kinds"]]
        return names


def from_tables(
    nodes: Any,
    edges: Any,
    *,
    id: str = "",  # the word users know
    source: str = "",
    target: str = "",
    label: str = "",
    split: str = "",
    kinds: Mapping[str, str] | None = None,
    directed: bool = False,
    self_loops: bool = True,
    private: bool = False,
    treatment: Mapping[str, Any] | None = None,
    name: str = "",
    quiet: bool = False,
) -> TableGraph:
    """A graph from a node table and an edge table: paths (CSV, TSV, Parquet), data frames or dictionaries of columns.

    Columns with ids are guessed where their names are obvious. Every other column of the node table becomes features
    by its kind (`kinds` sets it: number, boolean, category, text, vector, ignore); `label` and `split` never do.
    `edges` may be several tables, or have a column that says the kind of edge: one graph then, with `edge_attr`.
    `nodes` None: an edge list alone, whose nodes are those it names. Edges count both ways unless `directed`.
    `private` keeps words and categories as hashes only. `treatment` is that of a trained model: columns are then
    encoded as they were in training.

    >>> graph = from_tables({"id": ["a", "b", "c"], "age": [3, 4, 9]}, {"source": ["a"], "target": ["b"]}, quiet=True)
    >>> graph.graphs[0].x.shape, list(graph.ids)[0].as_py()
    (torch.Size([3, 1]), 'a')
    """
    stored = dict(treatment or {})
    directed, self_loops = stored.get("directed", directed), stored.get("self_loops", self_loops)
    listed = edge_tables.as_list(edges)
    report = Report(name_of(nodes, "the node table") if nodes is not None else name_of(listed[0], "the edge list"))
    roles = {"id": id, "label": label, "split": split}
    table = _node_table(nodes, roles, kinds or {}, report)
    read = edge_tables.read(listed, source, target, None if table is None else table.column(roles["id"]), report)
    given = _as_chunked(edge_tables.all_ends(read) if table is None else table.column(roles["id"]))
    ids, order = node_order(given, roles["id"] or "source and target", report)
    ids, order = _without_repeats(ids, order, table, report)
    origin = f", id column {roles['id']!r}" if table is not None else ", those the edges name (an edge list alone)"
    report.note(f"{report.name}: {count(len(ids), 'node')}{origin}")
    columns, blocks, cells = _features(table, order, roles, kinds or {}, stored, private, report)
    ends, kind_of, levels = edge_tables.join(read, ids, stored.get("edge_kinds"), report)
    report.stop_on_problems()
    edge_index, edge_attr = edge_tables.clean(ends, kind_of, len(levels), len(ids), directed, read.name, report)
    if levels:
        blocks.append(edge_tables.kind_counts(edge_index, edge_attr, len(ids)))
    structure = stored.get("structure")
    if structure or (treatment is None and not blocks):
        block, structure = _structure(edge_index, len(ids), directed, structure, report)
        blocks.append(block)
    x = np.ascontiguousarray(np.hstack(blocks), dtype=np.float32)
    data = Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(edge_index))
    if levels:
        data.edge_attr = torch.from_numpy(edge_attr)
    classes = _labels(data, table, order, roles, report)
    report.stop_on_problems()
    if not quiet:
        for line in report.lines():
            logger.info("%s", line)
    base = NodeDataset.transductive(
        name or Path(str(nodes if isinstance(nodes, str | Path) else "graph")).stem,
        _with_loops(data) if self_loops else data,
    )
    kept = {
        "features": "table",
        "self_loops": self_loops,
        "directed": directed,
        "columns": [column.to_dict() for column in columns],
        "structure": structure,
        "edge_kinds": levels,
        **({"private": True} if stored.get("private", private) else {}),
    }
    return TableGraph(
        **{**base.__dict__, "treatment": kept}, ids=given, rows=positions(given, ids), columns=tuple(columns),
        cells=np.column_stack(cells) if cells else None, report=report, classes=classes,
    )  # fmt: skip


def _node_table(nodes: Any, roles: dict[str, str], kinds: Mapping[str, str], report: Report) -> pa.Table | None:
    """The node table, its roles checked and the id's filled in; None where there is none."""
    if nodes is None:
        if any(roles.values()):
            raise DataError("--id, --label and --split name columns of a node table, and there is none")
        return None
    kept = set(roles.values())
    table = read_table(
        nodes,
        lambda names: [n for n in names if n in kept or (not roles["id"] and n == guess_id(names))],
        name=report.name,
    )
    roles["id"] = _id_column(table, roles["id"], report.name)
    _check_names(table, roles, kinds, report)
    return table


def _structure(
    edge_index: np.ndarray, nodes: int, directed: bool, scale: Mapping[str, Any] | None, report: Report
) -> tuple[np.ndarray, Mapping[str, Any]]:
    """Structural features, standardised, and the scale that was used: the one given, or their own."""
    both = np.unique(np.hstack([edge_index, edge_index[::-1]]), axis=1) if directed else edge_index
    found = structural_features(both, nodes)
    if scale is None:
        spread = found.std(0)
        scale = {"mean": found.mean(0).tolist(), "std": np.where(spread > 1e-9, spread, 1.0).tolist()}
        report.note(f"no features, so structural ones are used: {', '.join(NAMES)}")
    return ((found - scale["mean"]) / scale["std"]).astype(np.float32), scale


def _labels(
    data: Data, table: pa.Table | None, order: np.ndarray, roles: Mapping[str, str], report: Report
) -> tuple[str, ...]:
    """Put class numbers and masks on `data` where there is a label column; returns the classes' names."""
    if table is None or not roles["label"]:
        return ()
    rows = pa.array(order)
    y, classes, known = read_labels(table.column(roles["label"]).take(rows), roles["label"], report)
    report.stop_on_problems()
    data.y = torch.from_numpy(y)
    if roles["split"]:
        masks = read_split(table.column(roles["split"]).take(rows), roles["split"], known, report)
    else:
        masks = stratified_split(data.y, known=torch.from_numpy(known))
    for part, mask in masks.items():
        data[f"{part}_mask"] = mask
    return classes


def _as_chunked(values: Any) -> pa.ChunkedArray:
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _id_column(table: pa.Table, asked: str, name: str) -> str:
    if asked:
        if asked not in table.column_names:
            raise DataError(f"{name}: {unknown('column', asked, table.column_names)} (--id)")
        return asked
    guessed = guess_id(table.column_names)
    if guessed is None:
        swapped = " (it looks like an edge table: NODES come first, EDGES second)"
        hint = swapped if guess_ends(table.column_names, by_name=True) else ""
        columns = some(table.column_names, 12)
        raise DataError(f"{name}: which column is the nodes' id? Say so with --id; columns: {columns}{hint}")
    return guessed


def _without_repeats(
    ids: pa.Array, order: np.ndarray, table: pa.Table | None, report: Report
) -> tuple[pa.Array, np.ndarray]:
    """Every id once; rows that differ under one id are a problem."""
    first = first_of_each(ids)
    if first.all():
        return ids, order
    if table is not None:
        again = (~first).nonzero()[0]
        group = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))[again]
        one, other = table.take(pa.array(order[again])), table.take(pa.array(order[group]))
        same = np.ones(len(again), dtype=bool)
        for name in table.column_names:
            left, right = one.column(name), other.column(name)
            if pa.types.is_nested(left.type):
                same &= np.array([a == b for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True)])
                continue
            same &= pc.equal(as_text(left), as_text(right)).to_numpy(zero_copy_only=False)
        if not same.all():
            ids_twice = [str(v) for v in ids.take(pa.array(again[~same][:3])).to_pylist()]
            report.problem(
                f"{count(int((~same).sum()), 'row repeats', 'rows repeat')} an id with other values "
                f"(first: {some(ids_twice)}); every node needs one row"
            )
        if same.any():
            report.repair(f"{count(int(same.sum()), 'row')} repeated word for word left out")
    return ids.filter(pa.array(first)), order[first]


def _check_names(table: pa.Table, wanted: Mapping[str, str], kinds: Mapping[str, str], report: Report) -> None:
    before = len(report.problems)
    for option, column in wanted.items():
        if column and column not in table.column_names:
            report.problem(f"{unknown('column', column, table.column_names)} (--{option})")
    for column in kinds:
        if column not in table.column_names:
            report.problem(f"data.kinds: {unknown('column', column, table.column_names)}")
    if len(report.problems) > before:
        report.stop_on_problems()


def _features(
    table: pa.Table | None,
    order: np.ndarray,
    roles: Mapping[str, str],
    kinds: Mapping[str, str],
    stored: Mapping[str, Any],
    private: bool,
    report: Report,
) -> tuple[list[Column], list[np.ndarray], list[np.ndarray]]:
    """The columns that count, in the order of their names, their features, and which cells had a value."""
    if table is None:
        if stored.get("columns"):
            report.problem("the model was trained with a node table; give it one before the edges")
        return [], [], []
    label = roles["label"]
    table = table.drop_columns([name for name in dict.fromkeys(roles.values()) if name]).take(pa.array(order))
    if stored:
        columns = [Column.from_dict(entry) for entry in stored.get("columns", ())]
        used = {column.name for column in columns}
        if label in used:
            report.problem(
                f"the model was pre-trained with the column {label!r} as a feature, so it cannot be evaluated by it; "
                f"pre-train again with --label {label}"
            )
        lacking = sorted(used - set(table.column_names) - {label})
        if lacking:
            report.problem(f"the model was trained with columns this table does not have: {some(lacking, 8)}")
        extra = sorted(set(table.column_names) - used)
        if extra and columns:
            report.note(f"columns the model does not know, left aside: {some(extra, 8)}")
        report.stop_on_problems()
    else:
        words = int(np.clip(MOST_TEXT_BYTES // (4 * max(table.num_rows, 1)), 64, 1000))
        columns = []
        for name in sorted(table.column_names):
            try:
                column = fit_column(name, table.column(name), kinds.get(name), words)
            except (pa.ArrowException, OverflowError) as error:
                raise DataError(f"column {name!r} cannot be read: {' '.join(str(error).split())[:200]}") from None
            kind = "" if column.kind == "ignore" else f"{column.kind:9} "
            report.note(f"  {name:20} {kind}{column.note}")
            if column.repaired:
                report.repair(column.repaired)
            if column.width:
                columns.append(column.hidden() if private else column)
    blocks, cells = [], []
    for column in columns:
        values = table.column(column.name)
        block, missing = column.encode(values)
        blocks.append(block)
        cells.append(~missing)
        if stored:
            _check_cells(column, values, missing, report)
    return columns, blocks, cells


def _check_cells(column: Column, values: pa.ChunkedArray, missing: np.ndarray, report: Report) -> None:
    """Say which cells of new data do not mean what the column meant in training; refuse a column of nothing else."""
    there = ~is_missing(values)
    unread = there & (column.unknown(values) if column.kind == "category" else missing)
    lost = int(unread.sum())
    if not lost:
        return
    what = "levels the model does not know" if column.kind == "category" else f"no {column.kind}"
    if lost == int(there.sum()) and column.kind != "category":
        report.problem(f"no cell of the column {column.name!r} can be read as the {column.kind} it was in training")
    else:
        report.repair(f"{count(lost, 'cell')} of {column.name!r} with {what}, counted as missing")


def _with_loops(data: Data) -> Data:
    nodes = torch.arange(int(data.x.size(0)))
    data.edge_index = torch.cat([data.edge_index, nodes.expand(2, -1)], dim=1)
    if "edge_attr" in data:
        data.edge_attr = torch.cat([data.edge_attr, data.edge_attr.new_zeros(len(nodes), data.edge_attr.size(1))])
    return data
