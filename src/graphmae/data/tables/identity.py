"""Whether cells are ids, which row an id means, and an order of nodes that does not depend on the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .cells import as_text, strings
from .habits import is_text
from .report import Report, count, some

WHOLE = r"^(?:0|-?[1-9][0-9]{0,17})$"
SAMPLE = 10_000
SURE_NATS = 12.0  # evidence that cells are ids by more than chance: one in 160,000
MOST_UNKNOWN = 0.1  # a larger share of edges that lead nowhere is a wrong column or a wrong file, not a slip


def without_point(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Whole numbers that were written as 7.0, all of them, as 7; None where they were not."""
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        return None  # other types have one text for 7 and 7.0
    for part in (values[:1000], values):
        text = as_text(part)
        if not pc.all(pc.or_(pc.match_substring_regex(text, r"^-?\d+\.0+$"), pc.equal(text, ""))).as_py():
            return None
    return pc.replace_substring_regex(text, r"\.0+$", "")


def in_own_type(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text of a file as whole numbers, where all of it is written as those are: 12, but neither 007 nor 1e3."""
    if not is_text(values.type) or not pc.all(pc.match_substring_regex(values[:1000], WHOLE)).as_py():
        return values
    return values.cast(pa.int64()) if pc.all(pc.match_substring_regex(values, WHOLE)).as_py() else values


def own_values(ids: pa.ChunkedArray) -> list[Any]:
    """Ids as Python has them: integers, or text."""
    return ids.to_pylist() if pa.types.is_integer(ids.type) else strings(ids).tolist()


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


def hold_by_chance(values: pa.ChunkedArray, ids: pa.Array) -> bool:
    """Whether other numbers would be ids just as well: whole numbers in a row, as rows are often numbered.

    Every number of the column is moved by a few steps; a step is what all of its numbers differ by. Where that makes
    as many ids, the numbers need not be ids: items 1 to 50 are no users 1 to 50. Text that is no number tells.
    """
    cells = as_ids(pa.chunked_array([values.combine_chunks().unique()]))
    cells = cells.filter(pc.not_equal(cells, ""))
    numbers = _whole_numbers(cells)
    if 2 * len(numbers) < len(cells):
        return False
    known = _whole_numbers(ids.unique())
    inside = np.isin(numbers, known)
    low, high = (numbers[inside].min(), numbers[inside].max()) if inside.any() else (0, 0)
    numbers = numbers[
        (low <= numbers) & (numbers <= high)
    ]  # a few that stand for something else, such as 9999, are out
    if len(numbers) < 2:
        return True
    step = np.gcd.reduce(np.diff(numbers))
    share = float(np.isin(numbers, known).mean())
    moved = np.concatenate([numbers + offset * step for offset in (-3, -2, -1, 1, 2, 3)])
    usual = float(np.isin(moved[(low <= moved) & (moved <= high)], known).mean())
    if share <= usual:
        return True
    # The chance that of so many numbers this share are ids is below exp(−evidence) (Chernoff).
    usual = max(usual, 1e-9)
    evidence = share * np.log(share / usual)
    if share < 1:
        evidence += (1 - share) * np.log((1 - share) / (1 - usual))
    return bool(len(numbers) * evidence < SURE_NATS)


def _whole_numbers(text: pa.Array) -> np.ndarray:
    """Those of the texts that are whole numbers, sorted, each once."""
    digits = text.filter(pc.match_substring_regex(text, "^-?[0-9]{1,17}$"))
    return np.unique(digits.cast(pa.int64()).to_numpy(zero_copy_only=False))


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
    text = f"{unknown_ends(lost, len(unknown), table)} (first: {example})"
    shift = _shift(source, target, ids)
    if lost > MOST_UNKNOWN * len(unknown):
        known = some([str(value) for value in ids.slice(0, 3).to_pylist()])
        report.problem(
            f"{text}; ids there look like {known}. Are --id, --source and --target the right columns? "
            f"Nodes that are only in the edge table need a row in the node table, or leave that table out{shift}"
        )
    elif shift:
        report.warn(f"{text}; those edges were left out{shift}")
    else:
        report.repair(f"{text}; those edges were left out")
    return ends[:, ~unknown], ~unknown


def unknown_ends(edges: int, of: int, table: str) -> str:
    """'2 edges of 30 in e.csv name nodes that are not in the node table'."""
    what = "names a node that is" if edges == 1 else "name nodes that are"
    return f"{count(edges, 'edge')} of {of:,} in {table} {what} not in the node table"


def _shift(source: pa.ChunkedArray, target: pa.ChunkedArray, ids: pa.Array) -> str:
    """What to do where the ends count from 1 and the ids from 0, or the other way round; "" where they do not.

    The ids are numbers in a row. The only end that is none of them is the next one, and the one at the other side is
    never named.
    """
    known = _whole_numbers(ids)
    if not len(known) or len(known) != len(ids) or known[0] not in (0, 1) or known[-1] - known[0] != len(known) - 1:
        return ""
    ends = pa.concat_arrays([as_ids(pa.chunked_array([side.combine_chunks().unique()])) for side in (source, target)])
    named = _whole_numbers(ends)
    first, last = int(known[0]), int(known[-1])
    if not len(named) or named[0] != 1 - first or named[-1] != last + 1 - 2 * first:
        return ""
    sign = "-" if first == 0 else "+"
    return (
        f". The ids go from {first} to {last:,}, and the ends of edges from {named[0]} to {named[-1]:,}. If the edges "
        f"count from {1 - first}, all of them join the wrong nodes. In that case, correct both columns, with pandas: "
        f"edges[column] {sign}= 1"
    )
