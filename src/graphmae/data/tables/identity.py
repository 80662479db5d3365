"""Which columns are ids, which row an id means, and an order of nodes that does not depend on the file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .cells import as_text
from .report import Report, count, some

ID_NAMES = ("id", "node_id", "nodeid", "node", "key", "uid", "uuid", "index", "name")
ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("source_id", "target_id"),
    ("src_id", "dst_id"),
    ("from_id", "to_id"),
    ("u", "v"),
    ("head", "tail"),
    ("start", "end"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("citing", "cited"),
)
SAMPLE = 10_000
MOST_UNKNOWN = 0.1  # a larger share of edges that lead nowhere is a wrong column or a wrong file, not a slip


def guess_id(names: Sequence[str]) -> str | None:
    """The column that is obviously the nodes' id, by its name."""
    lowered = {name.strip().lower().replace(" ", "_"): name for name in reversed(names)}
    for wanted in ID_NAMES:
        if wanted in lowered:
            return lowered[wanted]
    ending = [name for name in names if name.strip().lower().endswith(("_id", " id"))]
    return ending[0] if len(ending) == 1 else None


def guess_ends(names: Sequence[str], by_name: bool = False) -> tuple[str, str] | None:
    """The two columns that are obviously an edge's ends, by their names, or because there are no others."""
    lowered = {name.strip().lower().replace(" ", "_"): name for name in reversed(names)}
    for source, target in ENDS:
        if source in lowered and target in lowered:
            return lowered[source], lowered[target]
    return (names[0], names[1]) if len(names) == 2 and not by_name else None


def without_point(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Whole numbers that were written as 7.0, all of them, as 7; None where they were not."""
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        return None  # other types have one text for 7 and 7.0
    for part in (values[:1000], values):
        text = as_text(part)
        if not pc.all(pc.or_(pc.match_substring_regex(text, r"^-?\d+\.0+$"), pc.equal(text, ""))).as_py():
            return None
    return pc.replace_substring_regex(text, r"\.0+$", "")


def as_ids(values: pa.ChunkedArray) -> pa.Array:
    """Cells as ids are compared while it is not yet known which columns hold them.

    00779 may have been read as a number in one table and, beside other text, as it is written in the other.
    """
    text = pc.replace_substring_regex(as_text(values).combine_chunks(), r"\.0+$", "")
    return pc.replace_substring_regex(text, "^0+([0-9]+)$", r"\1")


def share_among(values: pa.ChunkedArray, ids: pa.Array) -> float:
    """How many of the cells (of at most 10,000) are among ids, from 0 to 1."""
    rows = np.linspace(0, len(values) - 1, min(len(values), SAMPLE)).astype(np.int64)
    return float(pc.mean(pc.is_in(as_ids(values.take(pa.array(rows))), ids).cast(pa.int8())).as_py() or 0.0)


def node_order(ids: pa.ChunkedArray, column: str, report: Report) -> tuple[pa.Array, np.ndarray]:
    """(the ids in canonical order, for each of them the row it came from); rows repeated word for word are left out.

    The order is that of the ids as text: it, and so every random draw, is the same however the file is sorted and
    whatever type the ids have.
    """
    text = as_text(ids).combine_chunks()
    empty = int(pc.sum(pc.equal(text, "")).as_py() or 0)
    if empty:
        report.problem(f"{count(empty, 'row')} without an id in the column {column!r}")
    order = pc.sort_indices(text).to_numpy().astype(np.int64)
    return text.take(pa.array(order)), order


def first_of_each(sorted_ids: pa.Array) -> np.ndarray:
    """[rows] bool: false where the id before is the same."""
    if len(sorted_ids) < 2:
        return np.ones(len(sorted_ids), dtype=bool)
    changed = pc.not_equal(sorted_ids.slice(1), sorted_ids.slice(0, len(sorted_ids) - 1))
    return np.concatenate([[True], changed.to_numpy(zero_copy_only=False)])


def positions(values: pa.ChunkedArray, ids: pa.Array) -> np.ndarray:
    """Where each value stands among the ids, [rows] int64; -1 where it is none of them."""
    found = pc.index_in(as_text(values), ids)
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def edge_positions(
    source: pa.ChunkedArray, target: pa.ChunkedArray, ids: pa.Array, table: str, report: Report
) -> tuple[np.ndarray, np.ndarray]:
    """([2, edges] of nodes' positions, which rows they are of).

    Edges that name unknown nodes are left out; where there are many, they are a problem.
    """
    ends = np.stack([positions(source, ids), positions(target, ids)])
    unknown = np.any(ends < 0, axis=0)
    if unknown.any():  # ids that went through a column of floats on their way: 12.0 for 12
        shorter = [pc.replace_substring_regex(as_text(side), r"\.0+$", "") for side in (source, target)]
        again = np.stack([positions(side, ids) for side in shorter])
        if np.any(again < 0, axis=0).sum() < unknown.sum():
            fixed = int(unknown.sum() - np.any(again < 0, axis=0).sum())
            report.repair(
                f"{count(fixed, 'edge')} of {table} name ids with a trailing .0 (12.0 for 12); it was cut off"
            )
            ends, unknown = again, np.any(again < 0, axis=0)
    lost = int(unknown.sum())
    if not lost:
        return ends, ~unknown
    column = [source, target][int((ends[0] >= 0)[unknown][0])]
    row = int(unknown.nonzero()[0][0])
    example = some([str(as_text(column.slice(row, 1))[0].as_py())]).replace("''", "an empty cell")
    text = (
        f"{count(lost, 'edge')} of {len(unknown):,} in {table} name nodes that are not in the node table "
        f"(first: {example})"
    )
    if lost > MOST_UNKNOWN * len(unknown):
        known = some([str(value) for value in ids.slice(0, 3).to_pylist()])
        report.problem(
            f"{text}; ids there look like {known}. Are --id, --source and --target the right columns? "
            "Nodes that are only in the edge table need a row in the node table, or leave that table out"
        )
    else:
        report.repair(f"{text}; those edges were left out")
    return ends[:, ~unknown], ~unknown
