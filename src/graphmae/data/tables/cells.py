"""Cells of a column as text or as numbers, whatever type it has."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import dates, notation
from .reading import MISSING


def strings(values: pa.ChunkedArray) -> np.ndarray:
    """Canonical text of every cell, [rows] of str: 1, 1.0 and "1" are the same; "" where there is none."""
    return as_text(values).to_numpy(zero_copy_only=False).astype(object)


def as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same as Arrow strings."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return as_text(values.cast(kind.value_type))
    if pa.types.is_floating(kind):
        whole = pc.and_kleene(pc.is_finite(values), pc.less(pc.abs(values), 2.0**53))
        floats = values.to_numpy(zero_copy_only=False)
        if bool(
            pc.all(pc.if_else(whole, pc.equal(pc.round(values), values), pc.is_null(values, nan_is_null=True))).as_py()
        ):
            numbers = pa.array(np.where(np.isfinite(floats), floats, 0).astype(np.int64), mask=~np.isfinite(floats))
            return as_text(pa.chunked_array([numbers]))
    try:
        text = values.cast(pa.string())
    except pa.ArrowException:
        text = pa.chunked_array([pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())])
    return pc.fill_null(pc.utf8_trim_whitespace(text), "")


def floats(values: pa.ChunkedArray, written: str = "") -> np.ndarray:
    """Every cell as a number, [rows] float64, dates as seconds since 1970; NaN where there is none.

    `written` is the notation of text cells, where one is known (`notation.decide`, `dates.decide`).
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return floats(values.cast(kind.value_type), written)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        values = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    elif pa.types.is_time(kind) or pa.types.is_duration(kind):
        values = values.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
    elif pa.types.is_decimal(kind):
        values = values.cast(pa.float64(), safe=False)
    if is_numeric(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    text = as_text(values)
    if written in (dates.DAY, dates.MONTH):
        return _seconds(text, written)
    found = notation.numbers(text, written)
    return _seconds(text, "") if not written and np.isnan(found).all() else found


def _seconds(text: pa.ChunkedArray, order: str) -> np.ndarray:
    """Dates in the order they have, and where they leave it open in `order`."""
    found = dates.decide(text)
    return dates.seconds(text, (found.notation if found.clear or not order else order) or dates.DAY)


def folded(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without what categories may differ by: case, blanks."""
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(pc.utf8_lower(text), r"[\s\x{a0}]+", " "))


def is_date(values: pa.ChunkedArray) -> bool:
    """Whether the numbers of the column are seconds since 1970."""
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        return True
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return False
    first = next((text for text in as_text(values.slice(0, 1000)).to_pylist() if text), "")
    return re.match(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b", first) is not None


def is_numeric(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_missing(values: pa.ChunkedArray) -> np.ndarray:
    """[rows]: null, NaN, or a text that says so."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_dictionary(values.type):
        lowered = pc.utf8_lower(as_text(values))
        return pc.is_in(lowered, pa.array(MISSING)).to_numpy(zero_copy_only=False)
    return pc.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False)
