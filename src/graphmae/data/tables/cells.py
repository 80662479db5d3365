"""Cells of a column as text or as numbers, whatever type it has."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .reading import MISSING

DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M")


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


def floats(values: pa.ChunkedArray) -> np.ndarray:
    """Every cell as a number, [rows] float64; NaN where there is none."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return floats(values.cast(kind.value_type))
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
    numbers = _numbers_of(strings(values))
    if np.isnan(numbers).all():
        return _dates(as_text(values))
    return numbers


def _dates(text: pa.ChunkedArray) -> np.ndarray:
    """Seconds since 1970 of dates as ISO writes them; NaN for anything else."""
    out = pc.strptime(text, format=DATES[0], unit="s", error_is_null=True)
    for form in DATES[1:]:
        out = pc.coalesce(out, pc.strptime(text, format=form, unit="s", error_is_null=True))
    return np.asarray(out.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _numbers_of(text: np.ndarray) -> np.ndarray:
    try:
        return text.astype(np.float64)
    except (ValueError, TypeError):
        return np.array([_number(value) for value in text.tolist()])


def _number(cell: str) -> float:
    try:
        return float(cell) if "_" not in cell else np.nan  # Python reads 1_000; nobody else does
    except ValueError:
        return np.nan


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
