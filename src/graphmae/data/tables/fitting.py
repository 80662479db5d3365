"""All columns of a node table: what kind each is, what is learned from it, and the report about them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ...runtime.errors import DataError
from .columns import Column, fit_column
from .habits import Habits
from .report import Report
from .text import one_line

MOST_TEXT_BYTES = 1 << 30


def fit_columns(table: pa.Table, kinds: Mapping[str, str], report: Report, rows: int | None = None) -> list[Column]:
    """Those that become features, in the order of their names. What cannot be read is a problem of the report.

    `rows`: how many there are, where the table has only some of them.
    """
    most_words = int(np.clip(MOST_TEXT_BYTES // (4 * max(rows or table.num_rows, 1)), 64, 1000))
    habits, columns = Habits(table), []
    for name, values in sorted(zip(table.column_names, table.columns, strict=True), key=lambda pair: pair[0]):
        try:
            column = fit_column(name, values, kinds.get(name), most_words, habits)
        except DataError as error:
            report.problem(str(error))
            continue
        except (pa.ArrowException, OverflowError) as error:
            report.problem(f"column {name!r} cannot be read: {one_line(error)[:200]}")
            continue
        report.column(column.name, column.kind, column.note)
        if column.repaired:
            report.repair(column.repaired)
        if column.lost:
            report.warn(column.lost)
        for remark in column.remarks:
            report.note(f"column {name!r}: {remark}")
        if column.width:
            columns.append(column)
    return columns
