"""A node table and an edge table → one graph the encoder can train on, with everything that was found said once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch_geometric.data import Data

from ...runtime.errors import DataError, unknown
from ..base import NodeDataset
from ..splits import stratified_split
from . import edges as edge_tables
from .columns import Column, as_text, fit_column
from .identity import first_of_each, guess_id, node_order
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
    label: str = ""
    classes: tuple[str, ...] = ()

    @property
    def feature_names(self) -> list[str]:
        """One a feature, as `column` or `column: level`."""
        if not self.columns:
            return list(NAMES)
        names = []
        for column in self.columns:
            inner = column.learned.get("levels") or column.learned.get("words") or [""]
            names += [f"{column.name}: {each}" if each else column.name for each in inner][: column.width]
            names += [f"{column.name} #{i}" for i in range(len(inner), column.width)]
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
    treatment: Mapping[str, Any] | None = None,
    name: str = "",
    quiet: bool = False,
) -> TableGraph:
    """A graph from a node table and an edge table: paths (CSV, TSV, Parquet), data frames or dictionaries of columns.

    Columns with ids are guessed where their names are obvious. Every other column of the node table becomes features
    by its kind (`kinds` sets it: number, boolean, category, text, vector, ignore); `label` and `split` never do.
    `edges` may be several tables, or have a column that says the kind of edge: one graph then, with `edge_attr`.
    `nodes` None: an edge list alone, whose nodes are those it names. Edges count both ways unless `directed`.
    `treatment` is that of a trained model: columns are then encoded as they were in training.

    >>> graph = from_tables({"id": ["a", "b", "c"], "age": [3, 4, 9]}, {"source": ["a"], "target": ["b"]}, quiet=True)
    >>> graph.graphs[0].x.shape, list(graph.ids)[0].as_py()
    (torch.Size([3, 1]), 'a')
    """
    stored = dict(treatment or {})
    directed, self_loops = stored.get("directed", directed), stored.get("self_loops", self_loops)
    listed = edge_tables.as_list(edges)
    label_of = name or Path(str(nodes if isinstance(nodes, str | Path) else "graph")).stem
    report = Report(name_of(nodes, "the node table") if nodes is not None else name_of(listed[0], "the edge list"))
    read = edge_tables.read(listed, source, target, alone=nodes is None)
    if nodes is None:
        if id or label or split:
            raise DataError("--id, --label and --split name columns of a node table, and there is none")
        table, id_column = None, ""
        given = edge_tables.all_ends(read)
    else:
        keep = (id, label, split)
        table = read_table(nodes, lambda names: [n for n in names if n in keep or (not id and n == guess_id(names))])
        id_column = _id_column(table, id, report.name)
        given = table.column(id_column)
    ids, order = node_order(given, id_column or "source and target", report)
    ids, order = _without_repeats(ids, order, table, report, id_column)
    report.note(
        f"{report.name}: {count(len(ids), 'node')}"
        + (f", id column {id_column!r}" if id_column else ", those the edges name (an edge list alone)")
    )
    wanted = {"id": id_column, "label": label, "split": split}
    if table is not None:
        _check_names(table, wanted, kinds or {}, report)
    columns: list[Column] = []
    blocks: list[np.ndarray] = []
    cells: list[np.ndarray] = []
    if table is not None:
        rest = table.drop_columns([n for n in dict.fromkeys(wanted.values()) if n]).take(pa.array(order))
        columns, blocks, cells = _features(rest, kinds or {}, stored, label, report)
    ends, kind_of, levels = edge_tables.join(read, ids, stored.get("edge_kinds"), report)
    report.stop_on_problems()
    assert len(ids)
    edge_index, edge_attr = edge_tables.clean(ends, kind_of, len(levels), len(ids), directed, read.name, report)
    isolated = len(ids) - len(np.unique(edge_index))
    if not edge_index.shape[1]:
        report.problem("there are no edges between two different nodes")
    elif isolated:
        report.note(f"{count(isolated, 'node has', 'nodes have')} no edges: embedded from their features alone")
    if levels:
        blocks.append(edge_tables.kind_counts(edge_index, edge_attr, len(ids)))
    structure = stored.get("structure")
    if structure or (treatment is None and not blocks):
        both = edge_index if not directed else np.unique(np.hstack([edge_index, edge_index[::-1]]), axis=1)
        found = structural_features(both, len(ids))
        if structure is None:
            spread = found.std(0)
            structure = {"mean": found.mean(0).tolist(), "std": np.where(spread > 1e-9, spread, 1.0).tolist()}
            report.note(f"no features, so structural ones are used: {', '.join(NAMES)}")
        blocks = [((found - structure["mean"]) / structure["std"]).astype(np.float32)]
    report.stop_on_problems()
    x = np.ascontiguousarray(np.hstack(blocks), dtype=np.float32)
    data = Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(edge_index))
    if levels:
        data.edge_attr = torch.from_numpy(edge_attr)
    classes: tuple[str, ...] = ()
    if table is not None and label:
        y, classes, known = read_labels(table.column(label).take(pa.array(order)), label, report)
        report.stop_on_problems()
        data.y = torch.from_numpy(y)
        masks = (
            read_split(table.column(split).take(pa.array(order)), split, known, report)
            if split
            else stratified_split(data.y, known=torch.from_numpy(known))
        )
        for part, mask in masks.items():
            data[f"{part}_mask"] = mask
    report.stop_on_problems()
    if not quiet:
        for line in report.lines():
            logger.info("%s", line)
    if self_loops:
        data = _with_loops(data)
    base = NodeDataset.transductive(label_of, data)
    kept = {
        "features": "table",
        "self_loops": self_loops,
        "directed": directed,
        "columns": [column.to_dict() for column in columns],
        "structure": structure,
        "edge_kinds": levels,
    }
    rows = np.empty(len(given), dtype=np.int64)
    rows[:] = pc.index_in(as_text(given), ids).to_numpy(zero_copy_only=False)
    return TableGraph(
        **{**base.__dict__, "treatment": kept}, ids=_as_chunked(given if table is not None else ids),
        rows=rows if table is not None else np.arange(len(ids)), columns=tuple(columns),
        cells=np.column_stack(cells) if cells else None, report=report, label=label, classes=classes,
    )  # fmt: skip


def _as_chunked(values: Any) -> pa.ChunkedArray:
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _id_column(table: pa.Table, asked: str, name: str) -> str:
    if asked:
        if asked not in table.column_names:
            raise DataError(f"{name}: {unknown('column', asked, table.column_names)} (--id)")
        return asked
    guessed = guess_id(table.column_names)
    if guessed is None:
        raise DataError(
            f"{name}: which column is the nodes' id? Say so with --id; columns: {some(table.column_names, 12)}"
        )
    return guessed


def _without_repeats(
    ids: pa.Array, order: np.ndarray, table: pa.Table | None, report: Report, column: str
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
    table: pa.Table, kinds: Mapping[str, str], stored: Mapping[str, Any], label: str, report: Report
) -> tuple[list[Column], list[np.ndarray], list[np.ndarray]]:
    """The columns that count, in the order of their names, and their features."""
    if stored:
        columns = [Column.from_dict(entry) for entry in stored.get("columns", ())]
        used = {column.name for column in columns}
        if label in used:
            report.problem(
                f"the model was pre-trained with the column {label!r} as a feature, so it cannot be judged by it; "
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
            report.note(f"  {name:20} {kind}{column.said}")
            if column.repaired:
                report.repair(column.repaired)
            if column.width:
                columns.append(column)
    blocks, cells = [], []
    for column in columns:
        block, missing = column.encode(table.column(column.name))
        blocks.append(block)
        cells.append(~missing)
    return columns, blocks, cells


def _with_loops(data: Data) -> Data:
    nodes = torch.arange(int(data.x.size(0)))
    data.edge_index = torch.cat([data.edge_index, nodes.expand(2, -1)], dim=1)
    if "edge_attr" in data:
        data.edge_attr = torch.cat([data.edge_attr, data.edge_attr.new_zeros(len(nodes), data.edge_attr.size(1))])
    return data
