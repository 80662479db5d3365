"""A node table and an edge table → one graph the encoder can train on, with everything that was found reported once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch_geometric.data import Data

from ...runtime.errors import DataError
from ...runtime.values import mismatch
from ..edge_data import with_loops
from ..nodes import NodeDataset
from ..splits import stratified_split
from . import edges as edge_tables
from .cells import is_missing
from .column_drift import Seen, moved_column
from .columns import Column
from .dataset import TableGraph, names_of, reordered
from .drift import Bounds, Moved, compared, stored_degrees
from .edge_columns import EdgeColumns, fit_edge_columns
from .edge_features import node_features
from .finding import read_tables
from .fitting import fit_columns
from .identity import node_order
from .labels import read_labels, read_split
from .leaks import warn_of_targets
from .numbers import new_codes, stand_for_missing
from .reading import name_of
from .repeated_rows import keep_one_row_per_id
from .report import Report, count, some
from .structure import NAMES, standardised


@dataclass
class Encoded:
    """Columns that count, in the order of their names: features, cells with a value, what to compare later, moves."""

    columns: list[Column] = field(default_factory=list)
    blocks: list[np.ndarray] = field(default_factory=list)
    cells: list[np.ndarray] = field(default_factory=list)
    statistics: list[dict[str, Any]] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)


def from_tables(
    nodes: Any,
    edges: Any,
    *,
    id: str = "",  # the word users know
    source: str = "",
    target: str = "",
    weight: str = "",
    time: str = "",
    label: str = "",
    split: str = "",
    duplicates: str = "refuse",
    kinds: Mapping[str, str] | None = None,
    directed: bool = False,
    self_loops: bool = True,
    private: bool = False,
    treatment: Mapping[str, Any] | None = None,
    name: str = "",
    quiet: bool = False,
    strict: bool = False,
) -> TableGraph:
    """A graph from a node table and an edge table: paths (CSV, Excel, Parquet, …), data frames or columns by name.

    Columns with ids are found by what they hold, or by their names. Every other column of the node table becomes
    features by its kind (`kinds` sets it: number, boolean, category, text, vector, ignore, or how numbers and dates are
    written: decimal-point, decimal-comma, day-first, month-first); `label` and `split` never do.
    `edges` may be several tables, or have a column that says the kind of edge: one graph then. Further columns of edges
    are found by name and content, or named: `weight` (numbers above 0), `time`; the others become features of edges by
    their kind. The graph has them as `edge_weight`, `edge_time`, `edge_attr`, and nodes have features made from them.
    `nodes` None: an edge list alone, whose nodes are those it names. Edges count both ways unless `directed`.
    `private` keeps words and categories as hashes only. `treatment` is that of a trained model: columns are then called
    and encoded as they were in training, and what has moved since is reported (`drift`), or refused if `strict`. Node i
    is row i of the node table, rows repeated word for word left out. Of rows with one id and other values the
    "first" or the "last" counts, as `duplicates` says; by default they are refused.

    >>> graph = from_tables({"id": ["a", "b", "c"], "age": [3, 4, 9]}, {"source": ["a"], "target": ["b"]}, quiet=True)
    >>> graph.graphs[0].x.shape, list(graph.ids)[0].as_py()
    (torch.Size([3, 1]), 'a')
    """
    if wrong := mismatch(kinds, dict[str, str] | None):
        raise DataError(f"data.kinds {wrong}")
    stored, before = dict(treatment or {}), names_of(treatment or {})
    directed, self_loops = stored.get("directed", directed), stored.get("self_loops", self_loops)
    listed = edge_tables.as_list(edges)
    report = Report(name_of(nodes, "the node table") if nodes is not None else name_of(listed[0], "the edge list"))
    roles = {"id": id, "label": label, "split": split}
    table, read = read_tables(nodes, listed, roles, (source, target), before, kinds or {}, report)
    given = _as_chunked(edge_tables.all_ends(read) if table is None else table.column(roles["id"]))
    ids, order = node_order(given, roles["id"] or "source and target", report)
    ids, order = keep_one_row_per_id(ids, order, table, duplicates, report, roles["id"])
    origin = f", id column {roles['id']!r}" if table is not None else ", those the edges name (an edge list alone)"
    report.note(f"{report.name}: {count(len(ids), 'node')}{origin}")
    encoded = _features(table, order, roles, kinds or {}, stored, private, report)
    blocks = encoded.blocks
    joined = edge_tables.join(read, ids, stored.get("edge_kinds"), report).in_order(len(ids), directed)
    levels = joined.levels
    further = _edge_columns(joined.columns, stored, {"weight": weight, "time": time}, kinds, private, read.name, report)
    values = further.encode(joined.columns, read.name, report)
    report.stop_on_problems()
    edges_found = edge_tables.clean(joined, values, len(ids), directed, read.name, report)
    edge_index = edges_found.edge_index
    data = _data(edges_found, len(ids))
    scale = stored.get("edge_features")
    structure = stored.get("structure")
    needs_structure = treatment is None and not blocks
    if levels or further:
        block, scale = node_features(data, directed, scale)
        blocks.append(block)
    if structure or needs_structure:
        if structure is None:
            report.note(f"no features, so structural ones are used: {', '.join(NAMES)}")
        block, structure = standardised(edge_index, len(ids), directed, structure)
        blocks.append(block)
    x = np.ascontiguousarray(np.hstack(blocks), dtype=np.float32)
    data.x = torch.from_numpy(x)
    classes = _labels(data, table, order, roles, bool(label), report)
    report.stop_on_problems()
    statistics = {
        "nodes": len(ids),
        "columns": encoded.statistics,
        "degrees": stored_degrees(edge_index, len(ids)),
        "edges": edge_index.shape[1],
        "kinds": [round(float(share), 6) for share in edges_found.features[:, : len(levels)].mean(0)],
    }
    drift = compared(encoded.moved, stored, statistics, strict) if stored or strict else None
    base = NodeDataset.transductive(
        name or Path(str(nodes if isinstance(nodes, str | Path) else "graph")).stem,
        with_loops(data) if self_loops else data,
    )
    learned = {
        "features": "table",
        "self_loops": self_loops,
        "directed": directed,
        "columns": [column.to_dict() for column in encoded.columns],
        "structure": structure,
        "edge_kinds": levels,
        **({"edge_columns": further.to_dict(), "edge_features": scale} if levels or further else {}),
        "names": {key: value for key, value in (roles | read.names | further.names).items() if value},
        "statistics": statistics,
        **({"private": True} if private else {}),
    }
    graph = TableGraph(
        **{**base.__dict__, "treatment": stored or learned}, ids=given.take(pa.array(order)),
        id_name=roles["id"] or "id", columns=tuple(encoded.columns),
        cells=np.column_stack(encoded.cells) if encoded.cells else None, report=report,
        label=roles["label"], classes=classes, drift=drift,
    )  # fmt: skip
    if not stored:
        graph.refuse_leaks("Leave it out") if classes else warn_of_targets(encoded.columns, report)
    if not quiet:
        report.log()
        if drift:
            drift.warn()
    by_row = np.argsort(order)
    return graph if (np.diff(by_row) == 1).all() else reordered(graph, by_row)


def _labels(
    data: Data, table: pa.Table | None, order: np.ndarray, roles: Mapping[str, str], asked: bool, report: Report
) -> tuple[str, ...]:
    """Put class numbers and masks on `data` where there is a label column; returns the classes' names.

    Labels nobody `asked` for, because the column is the one of training, are left out if they are not classes.
    """
    if table is None or not roles["label"]:
        return ()
    rows, trial = pa.array(order), Report(report.name)
    y, classes, known = read_labels(table.column(roles["label"]).take(rows), roles["label"], trial)
    if trial.problems and not asked:
        return ()
    report.notes += trial.notes
    report.repairs += trial.repairs
    trial.stop_on_problems()
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


def _features(
    table: pa.Table | None,
    order: np.ndarray,
    roles: Mapping[str, str],
    kinds: Mapping[str, str],
    stored: Mapping[str, Any],
    private: bool,
    report: Report,
) -> Encoded:
    """The columns as features, fitted, or encoded and compared as the model's were."""
    if table is None:
        if stored.get("columns"):
            report.problem("the model was trained with a node table; give it one before the edges")
        return Encoded()
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
        extra = sorted(set(table.column_names) - used - set(names_of(stored).values()))
        if extra and columns:
            report.note(f"columns the model does not know, left aside: {some(extra, 8)}")
        report.stop_on_problems()
    else:
        columns = [column.hidden() if private else column for column in fit_columns(table, kinds, report)]
    out, before = Encoded(columns), stored.get("statistics")
    bounds = Bounds(before["nodes"], len(order), sum(column.width for column in columns) + 1) if before else None
    named = dict(zip(table.column_names, table.columns, strict=True))  # finding each by its name is slow in wide tables
    for number, column in enumerate(columns):
        values = named[column.name]
        block, missing = column.encode(values)
        out.blocks.append(block)
        out.cells.append(~missing)
        if stored:
            _check_cells(column, values, missing, report)
        seen = Seen.of(column, values, block, missing, learning=not stored)
        if before and bounds:
            out.moved += moved_column(column, before["columns"][number], seen, values, bounds)
        elif not stored:
            out.statistics.append(seen.stored())
    return out


def _check_cells(column: Column, values: pa.ChunkedArray, missing: np.ndarray, report: Report) -> None:
    """Say which cells of new data do not mean what the column meant in training; refuse a column of nothing else."""
    codes = stand_for_missing(values, column.learned)
    if codes.any():
        shown = " or ".join(f"{code:g}" for code in column.learned["codes_for_missing"])
        cells = count(int(codes.sum()), "cell")
        report.repair(f"{cells} of {column.name!r}: {shown} counts as missing, as in training")
    for text in new_codes(values, column.learned) if column.kind == "number" else ():
        report.warn(f"column {column.name!r}: {text}. Does that mean missing? Training had no such cells: empty them")
    there = ~is_missing(values) & ~codes
    unread = there & (column.unknown(values) if column.kind == "category" else missing)
    lost = int(unread.sum())
    if not lost:
        return
    what = "levels the model does not know" if column.kind == "category" else f"no {column.kind}"
    if lost == int(there.sum()) and column.kind != "category":
        report.problem(f"no cell of the column {column.name!r} can be read as the {column.kind} it was in training")
    else:
        report.repair(f"{count(lost, 'cell')} of {column.name!r} with {what}, counted as missing")


def _edge_columns(
    table: pa.Table,
    stored: Mapping[str, Any],
    asked: Mapping[str, str],
    kinds: Mapping[str, str] | None,
    private: bool,
    name: str,
    report: Report,
) -> EdgeColumns:
    """The further columns of edges: as found in the tables, or as the model's were."""
    if not stored:
        return fit_edge_columns(table, asked, kinds or {}, private, name, report)
    if stored.get("edge_kinds") and "edge_columns" not in stored:
        report.problem(
            "the model was trained by an earlier version, which counted the edges of each kind; pre-train it again"
        )
    known = EdgeColumns.from_dict(stored.get("edge_columns", {}))
    for role, column in asked.items():
        if column and role not in known.names:
            report.problem(f"data.{role} is {column!r}, and when the model was trained edges had no {role}", name)
        elif column:
            known = replace(known, **{role: replace(getattr(known, role), name=column)})
    used = {column.name for column in (known.weight, known.time, *known.columns) if column is not None}
    if extra := sorted(set(table.column_names) - used):
        report.note(f"{name}: columns the model does not know, left aside: {some(extra, 8)}")
    return known


def _data(found: edge_tables.CleanEdges, nodes: int) -> Data:
    """The graph of these edges, its nodes as yet without features."""
    data = Data(x=torch.zeros(nodes, 0), edge_index=torch.from_numpy(found.edge_index))
    if found.features.shape[1]:
        data.edge_attr = torch.from_numpy(found.features)
    if found.weight is not None:
        data.edge_weight = torch.from_numpy(found.weight.astype(np.float32))
    if found.time is not None:
        data.edge_time = torch.from_numpy(found.time)
    return data
