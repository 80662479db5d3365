"""From a column of a table to features: its kind, what was learned from it, and the numbers it becomes.

Everything learned (scale, categories, words) is plain JSON that travels with the checkpoint, so new data is treated the
same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError, unknown
from . import words
from .cells import as_text, floats, is_missing, is_numeric, strings
from .privacy import hashed, hide

KINDS = ("number", "boolean", "category", "text", "vector", "ignore")
MOST_CATEGORIES = 256
TRUE, FALSE = ("true", "yes", "y", "t", "1"), ("false", "no", "n", "f", "0")
LENGTH = 2.0  # of a row of text or of a vector; a number or a category has about 1
NUMBERS_AMONG_TEXT = 0.9  # a text column with this share of numbers is a column of numbers with some broken cells


@dataclass(frozen=True)
class Column:
    """One column: its kind and what was learned from it."""

    name: str
    kind: str
    learned: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # for people: what becomes of it, and why
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

    def hidden(self) -> Column:
        """The same, its words and categories hashed."""
        return replace(self, learned=hide(self.learned, self.name))

    def unknown(self, values: pa.ChunkedArray) -> np.ndarray:
        """[rows]: cells of a category that were not among those it was learned from."""
        known = pc.is_in(_levels(values, self.learned), pa.array(self.learned["levels"], pa.string()))
        return ~known.to_numpy(zero_copy_only=False) & (not self.learned["other"])

    def encode(self, values: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """Features [rows, width] float32, and which rows have no value here [rows]."""
        if self.kind == "text":
            found = words.encode(strings(values), self.learned)
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
        return Column(name, "ignore", note="ignored, as asked")
    missing = is_missing(values)
    if missing.all():
        return Column(name, "ignore", note="ignored: every cell is empty")
    chosen, why = (kind, "") if kind is not None else infer_kind(values, missing)
    column = {
        "number": _fit_number,
        "boolean": _fit_boolean,
        "category": _fit_category,
        "text": _fit_text,
        "vector": _fit_vector,
        "ignore": lambda name, *_: Column(name, "ignore", note=why),
    }[chosen](name, values, missing, most_words)
    if kind is not None and column.kind == "ignore":
        raise DataError(f"column {name!r} cannot be read as {kind}: {column.note}")
    return column


def infer_kind(values: pa.ChunkedArray, missing: np.ndarray) -> tuple[str, str]:
    """(kind, why, where it is ignored)."""
    kind = values.type
    if pa.types.is_dictionary(kind):  # declared to be categories, whatever they are
        return ("boolean" if pa.types.is_boolean(kind.value_type) else "category"), ""
    if pa.types.is_boolean(kind):
        return "boolean", ""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return "vector", ""
    if is_numeric(kind):
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
    lowered = {value.lower() for value in distinct[:20].tolist()}
    if len(distinct) <= 20 and lowered <= {*TRUE, *FALSE} and lowered & {*TRUE} and lowered & {*FALSE}:
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


def _parsed(text: np.ndarray) -> np.ndarray:
    found = floats(pa.chunked_array([pa.array(text[:20_000], pa.string())]))
    return np.isfinite(found)


def _share(missing: np.ndarray) -> str:
    part = missing.mean()
    return "" if not part else f", {part:.1%} missing" if part >= 0.001 else ", a few missing"


def _moments(numbers: np.ndarray) -> tuple[float, float]:
    return float(numbers.mean()), float(numbers.std())


def _fit_number(name: str, values: pa.ChunkedArray, missing: np.ndarray, _: int) -> Column:
    numbers = floats(values)
    usable = np.isfinite(numbers)
    if not usable.any():
        return Column(name, "ignore", note="ignored: no cell is a number")
    broken = int((~usable & ~missing).sum())
    there = numbers[usable]
    # Counts and amounts spread over orders of magnitude: on a logarithmic scale the small ones count too.
    logarithmic = bool(
        there.min() >= 0 and there.max() > 100 * max(float(np.median(there)), 1.0) and there.max() < 1e300
    )
    mean, std = _moments(np.log1p(there) if logarithmic else np.clip(there, -1e150, 1e150))
    says_missing = bool((~usable).any())
    if there.min() == there.max() and not says_missing:
        alike = pc.count_distinct(values).as_py() == 1
        why = "the same number in every row" if alike else "numbers too large to tell apart, like ids"
        return Column(name, "ignore", note=f"ignored: {why}")
    learned = {"mean": mean, "std": std or 1.0, "logarithmic": logarithmic, "says_missing": says_missing}
    scale = "standardised on a logarithmic scale" if logarithmic else "standardised"
    plural = "cell is not a finite number" if broken == 1 else "cells are not finite numbers"
    repaired = f"{broken:,} {plural} in {name!r}, counted as missing" if broken else ""
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
        return Column(name, "ignore", note="ignored: no cell says true or false")
    if flags[~unclear].min() == flags[~unclear].max() and not unclear.any():
        return Column(name, "ignore", note="ignored: the same in every row")
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
        return Column(name, "ignore", note="ignored: the same in every row")
    kept = sorted(levels[np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]].tolist())
    other = len(levels) > MOST_CATEGORIES
    learned = {"levels": kept, "other": other, "says_missing": bool(missing.any())}
    note = f"{len(kept)} categories" + (f" of {len(levels):,}, the rest as one" if other else "")
    return Column(name, "category", learned, note + _share(missing))


def _levels(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> pa.ChunkedArray:
    """Cells of a category as its levels are stored: their text, or its hash."""
    text = as_text(values)
    if "salt" not in learned:
        return text
    codes = text.dictionary_encode().combine_chunks()
    table = pa.array([hashed(value, learned["salt"]) for value in codes.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([table.take(codes.indices)])


def _encode_category(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    levels, missing = learned["levels"], is_missing(values)
    place = pc.fill_null(pc.index_in(_levels(values, learned), pa.array(levels, pa.string())), -1).to_numpy(
        zero_copy_only=False
    )
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
        return Column(name, "ignore", note="ignored: no word tells rows apart")
    learned = {"words": vocabulary, "weights": weights}
    return Column(name, "text", learned, f"bag of {len(vocabulary):,} words" + _share(missing))


def _fit_vector(name: str, values: pa.ChunkedArray, missing: np.ndarray, _: int) -> Column:
    rows, absent = _rows(values, None)
    if rows is None or absent.all():
        return Column(name, "ignore", note="ignored: lists of different lengths, or not of numbers")
    there = rows[~absent]
    mean = np.nan_to_num(_quietly(np.nanmean, there))
    spread = np.nan_to_num(_quietly(np.nanstd, there))
    # One scale for all: directions of an embedding keep their proportions.
    learned = {"mean": mean.tolist(), "std": float(spread.mean()) or 1.0, "says_missing": bool(absent.any())}
    return Column(name, "vector", learned, f"{rows.shape[1]} numbers, standardised" + _share(absent))


def _quietly(function: Any, rows: np.ndarray) -> np.ndarray:
    """Over the rows; a column without any number is NaN, and nobody need be warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(rows, axis=0)


def _rows(values: pa.ChunkedArray, width: int | None) -> tuple[np.ndarray | None, np.ndarray]:
    """Lists of one length as a matrix [rows, width], NaN where a number is not finite; which rows have no list."""
    try:
        lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    except pa.ArrowException:  # no lists
        return None, np.ones(len(values), dtype=bool)
    if width is None:
        sizes = np.unique(lengths[lengths > 0])
        if len(sizes) != 1:
            return None, lengths == 0
        width = int(sizes[0])
    absent = lengths != width
    out = np.full((len(lengths), width), np.nan)
    flat = pc.list_flatten(values.filter(pa.array(~absent)))
    if not (is_numeric(flat.type) or pa.types.is_null(flat.type)):
        return None, absent
    out[~absent] = flat.to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, width)
    out[~np.isfinite(out)] = np.nan
    return out, absent | np.isnan(out).all(1)


def _encode_vector(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    mean = np.asarray(learned["mean"])
    rows, absent = _rows(values, len(mean))
    if rows is None:
        raise DataError(f"a column that held lists of {len(mean)} numbers in training holds {values.type} now")
    scaled = (rows - mean) * (LENGTH / (learned["std"] * np.sqrt(len(mean))))
    return np.nan_to_num(np.clip(scaled, -1e4, 1e4)), absent


_BLOCKS = {
    "number": _encode_number,
    "boolean": _encode_boolean,
    "category": _encode_category,
    "vector": _encode_vector,
}
