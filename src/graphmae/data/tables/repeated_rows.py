"""Rows of a node table that repeat an id."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import InputError, unknown
from .cells import as_text, is_numeric
from .identity import first_of_each
from .report import Report, count, some

DUPLICATES = ("first", "last", "refuse")


def keep_one_row_per_id(
    ids: pa.Array, order: np.ndarray, table: pa.Table | None, duplicates: str, report: Report, id_name: str = ""
) -> tuple[pa.Array, np.ndarray]:
    """Every id once; rows that differ under one id are a problem, unless `duplicates` says which of them counts."""
    if duplicates not in DUPLICATES:
        raise InputError(unknown("value of --duplicates", duplicates, DUPLICATES))
    first = first_of_each(ids)
    if first.all():
        return ids, order
    if table is not None:
        again = (~first).nonzero()[0]
        group = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))[again]
        differing, example = _differing_rows(table, order[group], order[again])
        is_long = 2 * int(differing.sum()) > len(first)
        if differing.any() and duplicates == "refuse":
            place = int(differing.argmax())
            advice = "Take the first or the last of them with --duplicates first or --duplicates last"
            if is_long:
                advice = _unfold(table, id_name)
            report.problem(
                f"{count(int(differing.sum()), 'row repeats', 'rows repeat')} an id with other values (first: "
                f"{ids[again[place]].as_py()!r}, {example}); every node needs one row. {advice}"
            )
        elif differing.any():
            many = count(int(differing.sum()), "row repeats", "rows repeat")
            text = f"{many} an id with other values (first: {example}): the {duplicates} row of each id counts"
            if is_long:
                report.warn(f"{text}, and more than half of the table is left out. {_unfold(table, id_name)}")
            else:
                report.repair(text)
        if not differing.all():
            same = count(int((~differing).sum()), "row")
            report.repair(f"{same} repeated word for word left out, here and in what comes out")
    if duplicates == "last":
        first = np.append(first[1:], True)
    return ids.filter(pa.array(first)), order[first]


def _differing_rows(table: pa.Table, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, str]:
    """(which of the pairs of rows differ, the first cell of the first of them that does, both ways)."""
    differing, example = np.zeros(len(one), dtype=bool), ""
    left, right, least = table.take(pa.array(one)), table.take(pa.array(other)), len(one)
    for name in table.column_names:
        cells = left.column(name), right.column(name)
        if pa.types.is_nested(cells[0].type):
            apart = np.array([a != b for a, b in zip(*(side.to_pylist() for side in cells), strict=True)])
        else:
            cells = as_text(cells[0]), as_text(cells[1])
            apart = pc.not_equal(*cells).to_numpy(zero_copy_only=False)
        if apart.any() and int(apart.argmax()) < least:
            least = int(apart.argmax())
            values = (str(side[least].as_py()) for side in cells)
            example = f"{name!r} is " + " and ".join(repr(v if len(v) <= 40 else f"{v[:40]}…") for v in values)
        differing |= apart
    return differing, example


def _unfold(table: pa.Table, id_name: str) -> str:
    """What to do where most rows repeat an id: the table has a row for each thing known of a node."""
    others = [name for name in table.column_names if name != id_name]
    varying = [name for name in others if not _is_constant(table.column(name))]
    if len(varying) == 1:
        line = f"table.groupby({id_name!r})[{varying[0]!r}].agg(list).reset_index()"
    elif len(varying) == 2 and is_numeric(table.column(varying[1]).type):
        line = (
            f"table.pivot_table(index={id_name!r}, columns={varying[0]!r}, values={varying[1]!r}, fill_value=0)"
            f".add_prefix('{varying[0]} ').reset_index()"
        )
    else:
        line = (
            f"table.pivot_table(index={id_name!r}, columns=…, values=…, fill_value=0).reset_index(), of the columns "
            f"{some(others, 6)}"
        )
    return (
        "Most rows do, so this may be a long table, with several rows per node. Make one row per node of it first, "
        f"with pandas: {line}"
    )


def _is_constant(values: pa.ChunkedArray) -> bool:
    return not pa.types.is_nested(values.type) and pc.count_distinct(values).as_py() < 2
