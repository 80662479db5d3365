"""Edge tables: their columns, their kinds, and the pairs of nodes they become."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...runtime.errors import DataError
from .cells import as_text, is_missing, strings
from .dates import DAY, MONTH
from .habits import first_reading, is_text
from .identity import edge_positions
from .kinds import infer_kind
from .reading import name_of
from .report import Report, count, some

KIND_NAMES = ("type", "kind", "relation", "rel", "edge_type", "edgetype", "predicate", "label")
MOST_KINDS = 64
WEIGHT_WORDS = {"weight", "weights", "w", "strength", "count", "counts", "score", "value", "amount", "times"}
TIME_WORDS = {"time", "times", "timestamp", "ts", "date", "datetime", "day", "year", "when", "at"}
ROLE_ROWS = 10_000


@dataclass(frozen=True)
class EdgeTable:
    """One table that was read: its ends, and the kind of every edge where there are kinds."""

    name: str
    source: pa.ChunkedArray
    target: pa.ChunkedArray
    kinds: np.ndarray | None
    left_aside: tuple[str, ...]  # further columns, each with what it seems to hold
    names: tuple[str, str, str]  # of the columns with the ends and the kind, "" where there is none


@dataclass(frozen=True)
class EdgeTables:
    name: str
    tables: tuple[EdgeTable, ...]

    @property
    def names(self) -> dict[str, str]:
        """What the columns are called, where all tables agree."""
        agreed = [
            found[0] if len(set(found)) == 1 else "" for found in zip(*(t.names for t in self.tables), strict=True)
        ]
        return dict(zip(("source", "target", "type"), agreed, strict=True))


def as_list(edges: Any) -> list[Any]:
    """Several edge tables, or one; pairs of ids, [E, 2] or [2, E], are one."""
    if isinstance(edges, Sequence) and not isinstance(edges, str):
        listed = list(edges)
        if listed and all(isinstance(each, tuple | list) and len(each) == 2 for each in listed):
            return [{"source": [a for a, _ in listed], "target": [b for _, b in listed]}]
    elif hasattr(edges, "shape") and not hasattr(edges, "columns") and not hasattr(edges, "column_names"):
        pairs = np.asarray(edges)
        if pairs.ndim != 2 or 2 not in pairs.shape:
            raise DataError(f"pairs of ids must be [E, 2] or [2, E], not {pairs.shape}")
        source, target = pairs if pairs.shape[0] == 2 != pairs.shape[1] or pairs.shape == (2, 2) else pairs.T
        listed = [{"source": source, "target": target}]
    else:
        listed = [edges]
    if not listed or listed[0] is None:
        raise DataError("there is no edge table")
    return listed


def assemble(
    listed: list[Any], tables: list[pa.Table], ends: list[tuple[str, str]], before: Mapping[str, str]
) -> EdgeTables:
    """The tables with the columns of each that are its ends; with several, each is one kind of edge, as its file is
    called. `before` names the column of kinds in training, used where a table has it."""
    found = []
    for number, (origin, table, (source, target)) in enumerate(zip(listed, tables, ends, strict=True)):
        name = name_of(origin, "the edge table")
        others = [n for n in table.column_names if n not in (source, target)]
        known = [n for n in others if n == before.get("type")]
        kind = next((n for n in (*known, *others) if n in known or n.strip().lower() in KIND_NAMES), None)
        kinds = strings(table.column(kind)) if kind is not None else None
        if kind is not None and len(np.unique(kinds.astype(str))) > MOST_KINDS:  # type: ignore[union-attr]
            kind, kinds = None, None
        if len(listed) > 1:
            label = Path(name).name.split(".")[0] if isinstance(origin, str | Path) else f"kind {number + 1}"
            kinds = np.full(table.num_rows, label, dtype=object)
        elif kinds is not None and len(np.unique(kinds.astype(str))) < 2:
            kinds = None
        aside = tuple(f"{n!r} ({_role(n, table.column(n))})" for n in others if n != kind)
        names = (source, target, kind or "")
        found.append(EdgeTable(name, table.column(source), table.column(target), kinds, aside, names))
    return EdgeTables(found[0].name if len(found) == 1 else "the edge tables", tuple(found))


def _role(name: str, values: pa.ChunkedArray) -> str:
    """What a further column of an edge table holds, by its name and its first cells."""
    first = values[:ROLE_ROWS]
    missing = is_missing(first)
    if missing.all():
        return "empty"
    kind, _ = infer_kind(first, missing)
    words = set(re.split(r"[\W_]+", name.lower()))
    is_date = pa.types.is_temporal(values.type)
    if kind == "number" and is_text(values.type):
        is_date = first_reading(first).notation in (DAY, MONTH)
    if is_date or (kind == "number" and words & TIME_WORDS):
        return "times"
    if kind == "number" and words & WEIGHT_WORDS:
        return "weights"
    return {"ignore": "text", "boolean": "true or false"}.get(kind, kind)


def all_ends(read: EdgeTables) -> pa.ChunkedArray:
    """Every node the edges name, once."""
    chunks = [c for table in read.tables for side in (table.source, table.target) for c in as_text(side).chunks]
    return pa.chunked_array([pa.chunked_array(chunks).unique()])


def join(
    read: EdgeTables, ids: pa.Array, known: list[str] | None, report: Report
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """([2, edges] positions, the kind of every edge as a number, the kinds' names)."""
    ends, kinds = [], []
    for table in read.tables:
        counted = edge_positions(table.source, table.target, ids, table.name, report)
        ends.append(counted[0])
        if table.kinds is not None:
            kinds.append(table.kinds[counted[1]])
        report.note(f"{table.name}: {count(len(table.source), 'edge')}")
        if table.left_aside:
            rest = f" and {len(table.left_aside) - 6} more" if len(table.left_aside) > 6 else ""
            report.note(f"{table.name}: the columns {', '.join(table.left_aside[:6])}{rest} are left aside")
    joined = np.concatenate(ends, axis=1)
    if known is not None and not known:
        return joined, None, []
    if not kinds or len(kinds) < len(read.tables):
        if known:
            report.problem(f"the model was trained on edges of the kinds {some(known, 8)}; these edges have no kind")
        return joined, None, []
    every = np.concatenate(kinds).astype(str)
    levels = list(known) if known else np.unique(every).tolist()
    place = {level: i for i, level in enumerate(levels)}
    numbers = np.array([place.get(value, -1) for value in every])
    if (numbers < 0).any():
        report.note(f"{count(int((numbers < 0).sum()), 'edge')} of kinds the model does not know count without a kind")
    if not known:
        report.note(
            f"{len(levels)} kinds of edges ({some(levels, 5)}): edge_attr, and their numbers at a node as features"
        )
    return joined, numbers, levels


def clean(
    ends: np.ndarray, kinds: np.ndarray | None, width: int, nodes: int, directed: bool, name: str, report: Report
) -> tuple[np.ndarray, np.ndarray]:
    """([2, edges] sorted, each once, without self-loops, both ways unless `directed`; [edges, width] kinds of each)."""
    loops = ends[0] == ends[1]
    if loops.any():
        report.repair(f"{count(int(loops.sum()), 'self-loop')} of {name} removed (every node gets one of its own)")
        ends, kinds = ends[:, ~loops], None if kinds is None else kinds[~loops]
    key = ends[0] * nodes + ends[1] if directed else ends.min(0) * nodes + ends.max(0)
    if kinds is None:
        once, owner = np.unique(key), None
        distinct = len(once)
    else:
        once, owner = np.unique(key, return_inverse=True)
        distinct = len(np.unique(np.stack([key, kinds]), axis=1).T) if len(key) else 0
    if distinct < len(key):
        how = "" if directed else " (the same two nodes, either way round)"
        report.repair(f"{count(len(key) - distinct, 'repeated edge')}{how} of {name} merged")
    attributes = np.zeros((len(once), width), dtype=np.float32)
    if owner is not None and kinds is not None:
        there = kinds >= 0
        attributes[owner.reshape(-1)[there], kinds[there]] = 1
    if not directed:
        source, target = np.divmod(once, nodes)
        both = np.concatenate([once, target * nodes + source])
        order = np.argsort(both, kind="stable") if width else None
        once = np.sort(both) if order is None else both[order]
        if order is not None:
            attributes = np.concatenate([attributes, attributes])[order]
    if not len(once):
        report.problem("there are no edges between two different nodes")
    edge_index = np.stack(np.divmod(once, nodes))
    if isolated := nodes - len(np.unique(edge_index)):
        report.note(f"{count(isolated, 'node has', 'nodes have')} no edges: embedded from their features alone")
    return edge_index, attributes


def kind_counts(edge_index: np.ndarray, attributes: np.ndarray, nodes: int) -> np.ndarray:
    """[nodes, kinds] float32: the logarithm of how many edges of each kind a node has."""
    counts = np.stack([np.bincount(edge_index[0], weights=column, minlength=nodes) for column in attributes.T], axis=1)
    return np.log1p(counts).astype(np.float32)
