"""From a column of a table to features: its kind, what was learned from it, and the numbers it becomes.

Everything learned (scale, categories, words) is plain JSON that travels with the checkpoint, so new data is treated the
same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError, unknown
from . import words
from .reading import MISSING

KINDS = ("number", "boolean", "category", "text", "vector", "ignore")
MOST_CATEGORIES = 256
TRUE, FALSE = ("true", "yes", "y", "t", "1"), ("false", "no", "n", "f", "0")
LENGTH = 2.0  # of a row of text or of a vector; a number or a category has about 1
NUMBERS_AMONG_TEXT = 0.9  # a text column with so many numbers is a column of numbers with some broken cells


@dataclass(frozen=True)
class Column:
    """One column: its kind and what was learned from it."""

    name: str
    kind: str
    learned: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""  # for people: what becomes of it, and why
    repaired: str = ""  # cells that were set aside

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, **self.learned}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Column:
        return cls(stored["name"], stored["kind"], {k: v for k, v in stored.items() if k not in ("name", "kind")})

    @property
    def width(self) -> int:
        """How many features it becomes."""
        learned = self.learned
        wide = {"number": 1, "boolean": 1, "ignore": 0}.get(self.kind)
        if wide is None:
            key = {"category": "levels", "text": "words", "vector": "mean"}[self.kind]
            wide = len(learned[key]) + bool(learned.get("other"))
        return wide + bool(learned.get("says_missing"))

    def encode(self, values: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """Features [rows, width] float32, and which rows have no value here [rows]."""
        if self.kind == "text":
            found = words.encode(strings(values), self.learned["words"], self.learned["weights"])
            return LENGTH * found, is_missing(values)
        block, missing = _BLOCKS[self.kind](values, self.learned)
        if self.learned.get("says_missing"):
            block = np.column_stack([block, missing.astype(np.float32)])
        return np.ascontiguousarray(block, dtype=np.float32), missing


def fit_column(name: str, values: pa.ChunkedArray, kind: str | None = None, most_words: int = 1000) -> Column:
    """Decide what a column is (unless `kind` says so) and learn what its encoding needs."""
    if kind is not None and kind not in KINDS:
        raise DataError(f"column {name!r}: {unknown('kind', kind, KINDS)}")
    if kind == "ignore":
        return Column(name, "ignore", said="ignored, as asked")
    missing = is_missing(values)
    if missing.all():
        return Column(name, "ignore", said="ignored: every cell is empty")
    chosen, why = (kind, "") if kind is not None else infer_kind(values, missing)
    column = {
        "number": _fit_number,
        "boolean": _fit_boolean,
        "category": _fit_category,
        "text": _fit_text,
        "vector": _fit_vector,
        "ignore": lambda name, *_: Column(name, "ignore", said=why),
    }[chosen](name, values, missing, most_words)
    if kind is not None and column.kind == "ignore":
        raise DataError(f"column {name!r} cannot be read as {kind}: {column.said}")
    return column


def infer_kind(values: pa.ChunkedArray, missing: np.ndarray) -> tuple[str, str]:
    """(kind, why, where it is ignored)."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return "boolean", ""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return "vector", ""
    if _is_numeric(kind):
        seen = set(
            pc.unique(values.cast(pa.float64(), safe=False) if pa.types.is_decimal(kind) else values).to_pylist()
        )
        return ("boolean" if seen - {None} == {0, 1} and pa.types.is_integer(kind) else "number"), ""
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "ignore", f"ignored: a column of {kind} is not read"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return "number", ""
    text = strings(values)
    shown = text[~missing]
    distinct = np.unique(shown.astype(str)) if len(shown) < 200_000 else np.unique(shown[:200_000].astype(str))
    lowered = {value.lower() for value in distinct[:5].tolist()}
    if len(distinct) == 2 and lowered <= {*TRUE, *FALSE}:
        return "boolean", ""
    if _parsed(shown).mean() >= NUMBERS_AMONG_TEXT:
        return "number", ""
    rows = min(len(shown), 200_000)
    several_words = np.mean([" " in value.strip() for value in shown[:2000].tolist()]) > 0.5
    if several_words and len(distinct) > min(50, 0.5 * rows):
        return "text", ""
    if len(distinct) > 50 and len(distinct) > 0.9 * rows:
        return "ignore", "ignored: a different text in nearly every row, like a name or an id"
    return "category", ""


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
    if _is_numeric(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    return _numbers_of(strings(values))


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


def _parsed(text: np.ndarray) -> np.ndarray:
    return np.isfinite(_numbers_of(text[:20_000]))


def _is_numeric(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_missing(values: pa.ChunkedArray) -> np.ndarray:
    """[rows]: null, NaN, or a text that says so."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_dictionary(values.type):
        lowered = pc.utf8_lower(as_text(values))
        return pc.is_in(lowered, pa.array(MISSING)).to_numpy(zero_copy_only=False)
    return pc.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False)


def _share(missing: np.ndarray) -> str:
    part = missing.mean()
    return "" if not part else f", {part:.1%} missing" if part >= 0.001 else ", a few missing"


def _moments(numbers: np.ndarray) -> tuple[float, float]:
    return float(numbers.mean()), float(numbers.std())


def _fit_number(name: str, values: pa.ChunkedArray, missing: np.ndarray, _: int) -> Column:
    numbers = floats(values)
    usable = np.isfinite(numbers)
    if not usable.any():
        return Column(name, "ignore", said="ignored: no cell is a number")
    broken = int((~usable & ~missing).sum())
    there = numbers[usable]
    # Counts and amounts spread over orders of magnitude: on a logarithmic scale the small ones count too.
    logarithmic = bool(
        there.min() >= 0 and there.max() > 100 * max(float(np.median(there)), 1.0) and there.max() < 1e300
    )
    mean, std = _moments(np.log1p(there) if logarithmic else np.clip(there, -1e150, 1e150))
    says_missing = bool((~usable).any())
    if (
        std <= 1e-12 * max(1.0, abs(mean)) or len(np.unique(there[:1000])) == 1 == len(np.unique(there))
    ) and not says_missing:
        return Column(name, "ignore", said="ignored: the same number in every row")
    learned = {"mean": mean, "std": std or 1.0, "logarithmic": logarithmic, "says_missing": says_missing}
    scale = "standardised on a logarithmic scale" if logarithmic else "standardised"
    repaired = f"{broken:,} cells of {name!r} are no finite numbers and count as missing" if broken else ""
    return Column(name, "number", learned, scale + _share(~usable), repaired)


def _encode_number(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    numbers = floats(values)
    missing = ~np.isfinite(numbers)
    numbers = np.where(missing, 0.0, np.clip(numbers, -1e150, 1e150))
    if learned["logarithmic"]:
        numbers = np.log1p(np.maximum(numbers, 0))
    scaled = (numbers - learned["mean"]) / learned["std"]
    return np.where(missing, 0.0, np.clip(scaled, -1e4, 1e4))[:, None], missing


def _fit_boolean(name: str, values: pa.ChunkedArray, missing: np.ndarray, _: int) -> Column:
    flags, unclear = _flags(values)
    if unclear.all():
        return Column(name, "ignore", said="ignored: no cell says true or false")
    if flags[~unclear].min() == flags[~unclear].max() and not unclear.any():
        return Column(name, "ignore", said="ignored: the same in every row")
    broken = int((unclear & ~missing).sum())
    repaired = f"{broken:,} cells of {name!r} are neither true nor false and count as missing" if broken else ""
    return Column(name, "boolean", {"says_missing": bool(unclear.any())}, "0 or 1" + _share(unclear), repaired)


def _flags(values: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    lowered = pc.utf8_lower(as_text(values))
    true = pc.is_in(lowered, pa.array(TRUE)).to_numpy(zero_copy_only=False)
    false = pc.is_in(lowered, pa.array(FALSE)).to_numpy(zero_copy_only=False)
    return true.astype(np.float32), ~(true | false)


def _encode_boolean(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    flags, unclear = _flags(values)
    return flags[:, None], unclear


def _fit_category(name: str, values: pa.ChunkedArray, missing: np.ndarray, _: int) -> Column:
    levels, counts = np.unique(strings(values)[~missing].astype(str), return_counts=True)
    if len(levels) == 1 and not missing.any():
        return Column(name, "ignore", said="ignored: the same in every row")
    kept = sorted(levels[np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]].tolist())
    other = len(levels) > MOST_CATEGORIES
    learned = {"levels": kept, "other": other, "says_missing": bool(missing.any())}
    said = f"{len(kept)} categories" + (f" of {len(levels):,}, the rest as one" if other else "")
    return Column(name, "category", learned, said + _share(missing))


def _encode_category(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    levels, missing = learned["levels"], is_missing(values)
    place = pc.fill_null(pc.index_in(as_text(values), pa.array(levels, pa.string())), -1).to_numpy(zero_copy_only=False)
    place = np.where(missing, -1, place)
    block = np.zeros((len(place), len(levels) + bool(learned["other"])), dtype=np.float32)
    known = place >= 0
    block[known.nonzero()[0], place[known]] = 1
    if learned["other"]:
        block[~known & ~missing, -1] = 1
    return block, missing


def _fit_text(name: str, values: pa.ChunkedArray, missing: np.ndarray, most: int) -> Column:
    vocabulary, weights = words.learn(strings(values), most)
    if not vocabulary:
        return Column(name, "ignore", said="ignored: no word tells rows apart")
    learned = {"words": vocabulary, "weights": weights}
    return Column(name, "text", learned, f"bag of {len(vocabulary):,} words" + _share(missing))


def _fit_vector(name: str, values: pa.ChunkedArray, missing: np.ndarray, _: int) -> Column:
    rows, absent = _rows(values, None)
    if rows is None:
        return Column(name, "ignore", said="ignored: lists of different lengths, or not of numbers")
    there = rows[~absent]
    learned = {
        "mean": there.mean(0).tolist(),
        # One scale for all: directions of an embedding keep their proportions.
        "std": float(there.std(0).mean()) or 1.0,
        "says_missing": bool(absent.any()),
    }
    return Column(name, "vector", learned, f"{rows.shape[1]} numbers, standardised" + _share(absent))


def _rows(values: pa.ChunkedArray, width: int | None) -> tuple[np.ndarray | None, np.ndarray]:
    """Lists of one length as a matrix [rows, width]; rows that have none, or anything else in them, are absent."""
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    if width is None:
        sizes = np.unique(lengths[lengths > 0])
        if len(sizes) != 1:
            return None, lengths == 0
        width = int(sizes[0])
    absent = lengths != width
    out = np.zeros((len(lengths), width))
    flat = pc.list_flatten(values.filter(pa.array(~absent)))
    if not (_is_numeric(flat.type) or pa.types.is_null(flat.type)):
        return None, absent
    out[~absent] = flat.to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, width)
    absent = absent | ~np.isfinite(out).all(1)
    out[absent] = 0
    return out, absent


def _encode_vector(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    mean = np.asarray(learned["mean"])
    try:
        rows, absent = _rows(values, len(mean))
    except pa.ArrowException:
        rows, absent = None, np.ones(len(values), dtype=bool)
    if rows is None:
        raise DataError(f"a column that held lists of {len(mean)} numbers in training holds {values.type} now")
    return np.where(absent[:, None], 0.0, (rows - mean) * (LENGTH / (learned["std"] * np.sqrt(len(mean))))), absent


_BLOCKS = {
    "number": _encode_number,
    "boolean": _encode_boolean,
    "category": _encode_category,
    "vector": _encode_vector,
}
