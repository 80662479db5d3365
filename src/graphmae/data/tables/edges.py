"""Edge tables: their columns, their kinds, and the pairs of nodes they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError, unknown
from .cells import as_text, strings
from .identity import edge_positions, guess_ends
from .reading import name_of, read_table
from .report import Report, count, some

KIND_NAMES = ("type", "kind", "relation", "rel", "edge_type", "edgetype", "predicate", "label")
MOST_KINDS = 64


@dataclass(frozen=True)
class EdgeTable:
    """One table that was read: its ends, and the kind of every edge where there are kinds."""

    name: str
    source: pa.ChunkedArray
    target: pa.ChunkedArray
    kinds: np.ndarray | None
    left_aside: tuple[str, ...]
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


def read(
    listed: list[Any],
    source: str,
    target: str,
    ids: pa.ChunkedArray | None,
    before: Mapping[str, str],
    report: Report,
) -> EdgeTables:
    """Read every edge table; with several, each is one kind of edge, called like its file.

    `ids` are the node table's (None: there is none): a first line that names two of them is not a header. `before` are
    the names of the columns in the tables a model was trained on, used where a table has them.
    """
    alone = ids is None
    tables = []
    for number, each in enumerate(listed):
        name = name_of(each, "the edge table")
        found = _read_one(each, source, target, ids, name, before, report)
        for asked, option in ((source, "source"), (target, "target")):
            if asked and asked not in found.column_names:
                raise DataError(f"{name}: {unknown('column', asked, found.column_names)} (--{option})")
        ends = _ends(found.column_names, source, target, before)
        if ends is None:
            known = f"; in training they were {before['source']!r} and {before['target']!r}" if _both(before) else ""
            what = "an edge list, or give a node table first and an edge table second" if alone else "an edge table"
            raise DataError(
                f"{name}: which columns are an edge's two ends? Say so with --source and --target, if it is {what} "
                f"(NODES come first, EDGES second); columns: {some(found.column_names, 12)}{known}"
            )
        if ends[0] == ends[1]:
            raise DataError(f"{name}: --source and --target are the same column, {ends[0]!r}")
        others = [n for n in found.column_names if n not in ends]
        known_kind = [n for n in others if n == before.get("type")]
        kind = next((n for n in (*known_kind, *others) if n in known_kind or n.strip().lower() in KIND_NAMES), None)
        kinds = strings(found.column(kind)) if kind is not None else None
        if kind is not None and len(np.unique(kinds.astype(str))) > MOST_KINDS:  # type: ignore[union-attr]
            kind, kinds = None, None
        if len(listed) > 1:
            label = Path(name).name.split(".")[0] if isinstance(each, str | Path) else f"kind {number + 1}"
            kinds = np.full(found.num_rows, label, dtype=object)
        aside = tuple(n for n in others if n != kind)
        names = (*ends, kind or "")
        tables.append(EdgeTable(name, found.column(ends[0]), found.column(ends[1]), kinds, aside, names))
    if len(tables) == 1 and tables[0].kinds is not None and len(np.unique(tables[0].kinds.astype(str))) < 2:
        tables = [replace(tables[0], kinds=None)]
    return EdgeTables(tables[0].name if len(tables) == 1 else "the edge tables", tuple(tables))


def _read_one(
    each: Any,
    source: str,
    target: str,
    ids: pa.ChunkedArray | None,
    name: str,
    before: Mapping[str, str],
    report: Report,
) -> pa.Table:
    """One edge table. Where its first line names no ends we know, it may be an edge already."""

    def as_written(names: list[str]) -> Sequence[str]:
        return _ends(names, source, target, before) or ()

    found = read_table(each, as_written, headerless=None, name=name)
    names = found.column_names
    named = source or target or guess_ends(names, by_name=True) or _both(before, names)
    if named or len(names) < 2 or not isinstance(each, str | Path):
        return found
    first = pa.array([n.strip() for n in names[:2]])
    seen = [as_text(found.column(i)) for i in (0, 1)] if ids is None else [as_text(ids)]
    if any(bool(pc.any(pc.is_in(first, column.combine_chunks())).as_py()) for column in seen):
        return read_table(each, lambda names: names[:2], headerless=True, name=name)
    if len(names) == 2:
        report.note(f"{name}: its first line was taken as the header ({some(names)})")
    return found


def _both(before: Mapping[str, str], names: Sequence[str] | None = None) -> tuple[str, str] | None:
    """What the ends were called in training, if it is known and these columns have both."""
    ends = before.get("source", ""), before.get("target", "")
    return ends if all(ends) and (names is None or set(ends) <= set(names)) else None


def _ends(names: Sequence[str], source: str, target: str, before: Mapping[str, str]) -> tuple[str, str] | None:
    if source and target:
        return source, target
    guessed = _both(before, names) or guess_ends(names)
    if guessed is None or not (source or target):
        return guessed
    return (source, guessed[1]) if source else (guessed[0], target)


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
            report.note(f"{table.name}: columns {some(list(table.left_aside), 6)} are left aside")
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
