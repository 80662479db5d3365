"""Edge tables: their columns, their kinds, and the pairs of nodes they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...runtime.errors import DataError
from .cells import as_text, strings
from .edge_columns import EdgeValues, canonical, stacked
from .identity import edge_positions, in_own_type
from .reading import name_of
from .report import Report, count, some

KIND_NAMES = ("type", "kind", "relation", "rel", "edge_type", "edgetype", "predicate", "label")
MOST_KINDS = 64


@dataclass(frozen=True)
class EdgeTable:
    """One table that was read: its ends, the kind of every edge where there are kinds, and its further columns."""

    name: str
    source: pa.ChunkedArray
    target: pa.ChunkedArray
    kinds: np.ndarray | None
    columns: pa.Table
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


@dataclass(frozen=True)
class Joined:
    """The edges of all tables between nodes that are known.

    Attributes:
        ends: [2, E] positions of nodes.
        kinds: [E] the kind of each as a number, -1 where it is not known; None: there are no kinds.
        levels: what the kinds are called.
        columns: the further columns, [E] each.
    """

    ends: np.ndarray
    kinds: np.ndarray | None
    levels: list[str]
    columns: pa.Table

    def keys(self, nodes: int, directed: bool) -> np.ndarray:
        """[E] a number that is the same for repeated edges."""
        low, high = (self.ends[0], self.ends[1]) if directed else (self.ends.min(0), self.ends.max(0))
        return low * nodes + high

    def in_order(self, nodes: int, directed: bool) -> Joined:
        """In an order that does not depend on the files', so that nothing learned from the columns does."""
        if not self.columns.num_columns:
            return self
        order = canonical(self.keys(nodes, directed), self.columns)
        kinds = None if self.kinds is None else self.kinds[order]
        return Joined(self.ends[:, order], kinds, self.levels, self.columns.take(pa.array(order)))


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
        if kinds is not None and len(set(kinds)) > MOST_KINDS:
            kind, kinds = None, None
        if len(listed) > 1:
            label = Path(name).name.split(".")[0] if isinstance(origin, str | Path) else f"kind {number + 1}"
            kinds = np.full(table.num_rows, label, dtype=object)
        elif kinds is not None and len(set(kinds)) < 2:
            kinds = None
        rest = table.select([n for n in others if n != kind])
        names = (source, target, kind or "")
        found.append(EdgeTable(name, table.column(source), table.column(target), kinds, rest, names))
    return EdgeTables(found[0].name if len(found) == 1 else "the edge tables", tuple(found))


def all_ends(read: EdgeTables) -> pa.ChunkedArray:
    """Every node the edges name, once; as whole numbers where all of the tables have these."""
    chunks = [c for table in read.tables for side in (table.source, table.target) for c in as_text(side).chunks]
    found = pa.chunked_array([pa.chunked_array(chunks).unique()])
    are_whole = all(pa.types.is_integer(side.type) for table in read.tables for side in (table.source, table.target))
    return in_own_type(found) if are_whole else found


def join(read: EdgeTables, ids: pa.Array, known: list[str] | None, report: Report) -> Joined:
    """The edges of all tables as one; `known` are the kinds of edges a model was trained on."""
    ends, kinds, further = [], [], []
    for table in read.tables:
        counted = edge_positions(table.source, table.target, ids, table.name, report)
        ends.append(counted[0])
        if table.kinds is not None:
            kinds.append(table.kinds[counted[1]])
        further.append(table.columns if counted[1].all() else table.columns.filter(pa.array(counted[1])))
        report.note(f"{table.name}: {count(len(table.source), 'edge')}")
    joined, columns = np.concatenate(ends, axis=1), stacked(further)
    if known is not None and not known:
        return Joined(joined, None, [], columns)
    if not kinds or len(kinds) < len(read.tables):
        if known:
            report.problem(f"the model was trained on edges of the kinds {some(known, 8)}; these edges have no kind")
        return Joined(joined, None, [], columns)
    every = np.concatenate(kinds).tolist()
    levels = list(known) if known else sorted(set(every))
    if len(levels) < 2 and not known:
        report.note(f"all edge tables are called {levels[0]!r}, so their edges are of one kind")
        return Joined(joined, None, [], columns)
    place = {level: i for i, level in enumerate(levels)}
    numbers = np.array([place.get(value, -1) for value in every])
    if (numbers < 0).any():
        report.note(f"{count(int((numbers < 0).sum()), 'edge')} of kinds the model does not know count without a kind")
    if not known:
        report.note(f"{len(levels)} kinds of edges ({some(levels, 5)}): features of edges, and their shares at a node")
    return Joined(joined, numbers, levels, columns)


@dataclass(frozen=True)
class CleanEdges:
    """Edges sorted by their ends, each once: `edge_index` [2, E], `features` [E, kinds + columns], `weight` and `time`
    [E] where there are some."""

    edge_index: np.ndarray
    features: np.ndarray
    weight: np.ndarray | None
    time: np.ndarray | None


def clean(joined: Joined, values: EdgeValues, nodes: int, directed: bool, name: str, report: Report) -> CleanEdges:
    """Without self-loops, both ways unless `directed`.

    Repeated edges are one, of all their kinds: weights are added up, the latest time counts, columns are averaged.
    """
    ends, kinds = joined.ends, joined.kinds
    parts = [values.weight, values.time, values.features if values.features.shape[1] else None]
    loops = ends[0] == ends[1]
    if loops.any():
        report.repair(f"{count(int(loops.sum()), 'self-loop')} of {name} removed (every node gets one of its own)")
        ends, kinds = ends[:, ~loops], None if kinds is None else kinds[~loops]
        parts = [None if part is None else part[~loops] for part in parts]
    weight, time, features = parts
    key = Joined(ends, kinds, [], joined.columns).keys(nodes, directed)
    if kinds is None and all(part is None for part in parts):
        once, owner = np.unique(key), None
        distinct = len(once)
    else:
        once, owner = np.unique(key, return_inverse=True)
        owner = owner.reshape(-1)
        distinct = len(once) if kinds is None else len(np.unique(np.stack([key, kinds]), axis=1).T) if len(key) else 0
    if distinct < len(key):
        how = "" if directed else " (the same two nodes, either way round)"
        report.repair(f"{count(len(key) - distinct, 'repeated edge')}{how} of {name} merged")
    attributes = np.zeros((len(once), len(joined.levels)), dtype=np.float32)
    if owner is not None and kinds is not None:
        there = kinds >= 0
        attributes[owner[there], kinds[there]] = 1
    if owner is not None and features is not None:
        number = np.bincount(owner, minlength=len(once))
        means = [np.bincount(owner, weights=column, minlength=len(once)) / number for column in features.T]
        attributes = np.column_stack([attributes, *(column.astype(np.float32) for column in means)])
    if owner is not None and weight is not None:
        weight = np.bincount(owner, weights=weight, minlength=len(once))
    if owner is not None and time is not None:
        latest = np.full(len(once), np.nan)
        np.fmax.at(latest, owner, time)
        time = latest
    if not directed:
        source, target = np.divmod(once, nodes)
        both = np.concatenate([once, target * nodes + source])
        order = np.argsort(both, kind="stable") if owner is not None else None
        once = np.sort(both) if order is None else both[order]
        if order is not None:
            place = order % max(len(source), 1)
            attributes = attributes[place]
            weight, time = (None if part is None else part[place] for part in (weight, time))
    if not len(once):
        report.problem("there are no edges between two different nodes")
    edge_index = np.stack(np.divmod(once, nodes))
    if isolated := nodes - len(np.unique(edge_index)):
        whose = "its" if isolated == 1 else "their"
        report.note(f"{count(isolated, 'node has', 'nodes have')} no edges: embedded from {whose} features")
    return CleanEdges(edge_index, attributes, weight, time)
