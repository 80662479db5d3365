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
from .cells import as_text, floats, folded, is_missing, is_numeric, strings
from .column_names import is_called_number_of_thing
from .dates import DAY, MONTH
from .habits import NOTATIONS, Habits, is_text, reading_of
from .kinds import FALSE, KINDS, TRUE, infer_kind
from .levels import distinct_levels, spellings_merged
from .notation import COMMA
from .numbers import are_plain, codes_for_missing, encode_number, look_like_days, moments, read_numbers
from .privacy import hashed, hide
from .report import set_kind, toml_key

MOST_CATEGORIES = 256
MIN_STEPS = 4096  # of 64-bit numbers between the smallest and the largest of a column, beyond 9e15
MUCH_LOST = 0.1  # of the rows: as many without any word of the bag are worth a warning
LENGTH = 2.0  # of a row of text or of a vector; a number or a category has about 1


@dataclass(frozen=True)
class Column:
    """One column: its kind and what was learned from it."""

    name: str
    kind: str
    learned: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # for people: what becomes of it, and why
    repaired: str = ""  # cells that were set aside or merged
    lost: str = ""  # what is not among the features, though it may tell rows apart
    remarks: tuple[str, ...] = ()  # what was decided for cells that leave it open

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
            key = {"category": "levels", "text": "words", "bag": "words", "vector": "mean"}[self.kind]
            wide = len(learned[key]) + bool(learned.get("other"))
        return wide + bool(learned.get("says_missing"))

    @property
    def feature_names(self) -> list[str]:
        """One per feature, as `column` or `column: level`."""
        inner = self.learned.get("levels") or self.learned.get("words")
        if self.kind == "vector":
            inner = range(len(self.learned["mean"]))
        names = [self.name] if inner is None else [f"{self.name}: {each}" for each in inner]
        names += [f"{self.name}: other"] * bool(self.learned.get("other"))
        return names + [f"{self.name} is missing"] * bool(self.learned.get("says_missing"))

    def hidden(self) -> Column:
        """The same, its words and categories hashed."""
        learned = self.learned
        if learned.get("folded"):
            levels = folded(pa.chunked_array([pa.array(learned["levels"], pa.string())]))
            learned = {**learned, "levels": levels.to_pylist()}
        return replace(self, learned=hide(learned, self.name))

    def unknown(self, values: pa.ChunkedArray) -> np.ndarray:
        """[rows]: cells of a category that were not among those it was learned from."""
        return (_places(values, self.learned) < 0) & (not self.learned["other"])

    def numbers(self, values: pa.ChunkedArray) -> np.ndarray:
        """The cells of a column of numbers, [rows] float64, in the notation they were learned in; NaN where none."""
        return read_numbers(values, self.learned)

    def spellings(self, values: pa.ChunkedArray) -> np.ndarray:
        """The cells of a category as its levels are written, [rows] of str; others as they are."""
        texts, places = strings(values), _places(values, self.learned)
        levels = np.array([*self.learned["levels"], ""], dtype=object)
        return np.where(places >= 0, levels[places], texts)

    def encode(self, values: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """Features [rows, width] float32, and which rows have no value here [rows]."""
        if self.kind in ("text", "bag"):
            if (self.kind == "bag") != pa.types.is_nested(values.type):
                raise DataError(f"the column {self.name!r} was {self.kind} in training and holds {values.type} now")
            found = words.encode(words.texts_of(values), self.learned)
            return LENGTH * found, is_missing(values)
        block, missing = _BLOCKS[self.kind](values, self.learned)
        if self.learned.get("says_missing"):
            block = np.column_stack([block, missing.astype(np.float32)])
        return np.ascontiguousarray(block, dtype=np.float32), missing


def fit_column(
    name: str,
    values: pa.ChunkedArray,
    kind: str | None = None,
    most_words: int = 1000,
    habits: Habits = Habits(),  # noqa: B008 (it is frozen)
) -> Column:
    """Decide what a column is (unless `kind` says so) and learn what its encoding needs.

    `kind` may also be a notation, such as decimal-comma. `habits` are those of the table, for cells that leave open how
    they are written.
    """
    if kind is not None and kind not in (*KINDS, *NOTATIONS):
        raise DataError(f"column {name!r}: {unknown('kind', kind, (*KINDS, *NOTATIONS))}")
    if kind == "ignore":
        return Column(name, "ignore", note="ignored, as asked")
    missing = is_missing(values)
    if missing.all():
        return Column(name, "ignore", note="ignored: every cell is empty")
    chosen, why = (kind, "") if kind is not None else infer_kind(values, missing)
    if chosen == "ignore":
        return Column(name, "ignore", note=why)
    if kind is None and chosen == "number" and _is_another_id(name, values, missing):
        how = f'data.kinds = {{ {toml_key(name)} = "number" }} uses it'
        return Column(name, "ignore", note=f"ignored: called an id, and another number in every row; {how}")
    if chosen == "number" or chosen in NOTATIONS:
        notation, remarks = "", tuple[str, ...]()
        if is_text(values.type):
            notation, remarks = reading_of(name, values, missing, chosen, habits)
        column = _fit_number(name, values, missing, notation, kind is not None)
        column = replace(column, remarks=(*remarks, *column.remarks))
    elif chosen in ("text", "bag"):
        column = _fit_words(name, chosen, values, missing, most_words)
    else:
        column = {"boolean": _fit_boolean, "category": _fit_category, "vector": _fit_vector}[chosen](
            name, values, missing
        )
    if kind is not None and column.kind == "ignore":
        raise DataError(f"column {name!r} cannot be read as {kind}: {column.note}")
    if kind is not None:
        column = replace(column, learned={**column.learned, "kind_was_set": True})
    return replace(column, remarks=(*column.remarks, why)) if why else column


def _share(missing: np.ndarray) -> str:
    part = missing.mean()
    return "" if not part else f", {part:.1%} missing" if part >= 0.001 else ", a few missing"


def _fit_number(name: str, values: pa.ChunkedArray, missing: np.ndarray, notation: str, was_asked: bool) -> Column:
    numbers = floats(values, notation)
    usable = np.isfinite(numbers)
    if not usable.any():
        return Column(name, "ignore", note="ignored: no cell is a number")
    broken = int((~usable & ~missing).sum())
    codes, remarks = list[float](), tuple[str, ...]()
    if are_plain(values, notation) and not was_asked:
        codes, found = codes_for_missing(numbers[usable])
        remarks = tuple(f"{text}: counted as missing; {set_kind(name, 'number')} keeps them" for text in found)
        usable &= ~np.isin(numbers, codes)
    there = numbers[usable]
    if are_plain(values, notation) and look_like_days(there):
        remarks += (f"numbers such as {there[0]:.0f} look like days: as 2020-01-31 they would be read as dates",)
    # Counts and amounts spread over orders of magnitude: on a logarithmic scale the small ones count too.
    low, high = float(there.min()), float(there.max())
    logarithmic = low >= 0 and 100 < high < 1e300 and high > 100 * max(float(np.median(there)), 1.0)
    mean, std = moments(np.log1p(there) if logarithmic else np.clip(there, -1e150, 1e150))
    says_missing = bool((~usable).any())
    if low == high and not says_missing:
        alike = pc.count_distinct(values).as_py() == 1
        why = "the same number in every row" if alike else "numbers too large to tell apart, like ids"
        return Column(name, "ignore", note=f"ignored: {why}")
    if max(abs(low), abs(high)) >= 2.0**53 and high - low < MIN_STEPS * np.spacing(max(abs(low), abs(high))):
        why = f"numbers beyond 9e15 too close together to tell apart ({low:.16g} to {high:.16g})"
        return Column(name, "ignore", note=f"ignored: {why}; subtract the smallest one")
    learned: dict[str, Any] = {"mean": mean, "std": std or 1.0, "logarithmic": logarithmic}
    if codes:
        learned["codes_for_missing"] = codes
    learned["says_missing"] = says_missing
    if notation:
        learned["notation"] = notation
    scale = "standardised on a logarithmic scale" if logarithmic else "standardised"
    scale = {DAY: "dates, ", MONTH: "dates, ", COMMA: "with decimal commas, "}.get(notation, "") + scale
    plural = "cell is not a finite number" if broken == 1 else "cells are not finite numbers"
    repaired = f"{broken:,} {plural} in {name!r}, counted as missing" if broken else ""
    return Column(name, "number", learned, scale + _share(~usable), repaired, remarks=remarks)


def _fit_boolean(name: str, values: pa.ChunkedArray, missing: np.ndarray) -> Column:
    flags, unclear = _flags(values)
    if unclear.all():
        return Column(name, "ignore", note="ignored: no cell says true or false")
    if flags[~unclear].min() == flags[~unclear].max() and not unclear.any():
        return Column(name, "ignore", note="ignored: the same in every row")
    broken = int((unclear & ~missing).sum())
    repaired = f"{broken:,} cells of {name!r} are neither true nor false and count as missing" if broken else ""
    return Column(name, "boolean", {"says_missing": bool(unclear.any())}, "0 or 1" + _share(unclear), repaired)


def _flags(values: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    if is_numeric(values.type):
        numbers = floats(values)
        return (numbers == 1).astype(np.float32), (numbers != 0) & (numbers != 1)
    lowered = pc.utf8_lower(as_text(values))
    true = pc.is_in(lowered, pa.array(TRUE)).to_numpy(zero_copy_only=False)
    false = pc.is_in(lowered, pa.array(FALSE)).to_numpy(zero_copy_only=False)
    return true.astype(np.float32), ~(true | false)


def _encode_boolean(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    flags, unclear = _flags(values)
    return flags[:, None], unclear


def _fit_category(name: str, values: pa.ChunkedArray, missing: np.ndarray) -> Column:
    levels, counts, spellings = distinct_levels(as_text(values).filter(pa.array(~missing)))
    if len(levels) == 1 and not missing.any():
        return Column(name, "ignore", note="ignored: the same in every row")
    kept = sorted(levels[np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]].tolist())
    other = len(levels) > MOST_CATEGORIES
    learned = {"levels": kept, "other": other, "says_missing": bool(missing.any()), "folded": True}
    note = f"{len(kept)} categories" + (f" of {len(levels):,}, the rest as one" if other else "")
    merged = spellings_merged(name, spellings) if spellings else ""
    rest = 1 - np.sort(counts)[-MOST_CATEGORIES:].sum() / counts.sum()
    lost = (
        f"column {name!r}: only {len(kept)} of {len(levels):,} categories are told apart; the others, {rest:.0%} of "
        "the rows, count as one"
    )
    return Column(name, "category", learned, note + _share(missing), merged, lost if other else "")


def _places(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> np.ndarray:
    """Which level each cell is, [rows]; -1 where it is none."""
    text, levels = as_text(values), pa.chunked_array([pa.array(learned["levels"], pa.string())])
    if learned.get("folded"):
        text = folded(text)
    if "salt" in learned:
        codes = text.dictionary_encode().combine_chunks()
        table = pa.array([hashed(value, learned["salt"]) for value in codes.dictionary.to_pylist()], pa.string())
        text = pa.chunked_array([table.take(codes.indices)])
    elif learned.get("folded"):
        levels = folded(levels)
    return pc.fill_null(pc.index_in(text, levels.combine_chunks()), -1).to_numpy(zero_copy_only=False)


def _encode_category(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    levels, missing = learned["levels"], is_missing(values)
    place = np.where(missing, -1, _places(values, learned))
    block = np.zeros((len(place), len(levels) + bool(learned["other"])), dtype=np.float32)
    known = place >= 0
    block[known.nonzero()[0], place[known]] = 1
    if learned["other"]:
        block[~known & ~missing, -1] = 1
    return block, missing


def _fit_words(name: str, kind: str, values: pa.ChunkedArray, missing: np.ndarray, most: int) -> Column:
    if (kind == "bag") != pa.types.is_nested(values.type):
        return Column(name, "ignore", note=f"ignored: a column of {values.type} is no {kind}")
    found = words.learn(words.texts_of(values), most)
    if not found.words:
        return Column(name, "ignore", note=f"ignored: no {'word' if kind == 'text' else 'thing'} tells rows apart")
    what = "words" if kind == "text" else "things"
    is_cut = len(found.words) == most and found.of > most
    number = f"{len(found.words):,} of {found.of:,}" if is_cut else f"{len(found.words):,}"
    lost = [f"a bag of {number} {what}, which are {found.share:.0%} of all that its rows have"] * is_cut
    lost += [f"{found.without:.0%} of the rows have none of the {what} in the bag"] * (found.without >= MUCH_LOST)
    text = f"column {name!r}: {'; '.join(lost)}" if lost else ""
    learned = {"words": found.words, "weights": found.weights}
    return Column(name, kind, learned, f"bag of {number} {what}" + _share(missing), lost=text)


def _is_another_id(name: str, values: pa.ChunkedArray, missing: np.ndarray) -> bool:
    """Whether a column of whole numbers is called an id, and has another one in every row."""
    if not is_called_number_of_thing(name):
        return False
    numbers = floats(values)[~missing]
    is_whole = bool(np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all())
    return (
        is_whole and len(numbers) > 1 and pc.count_distinct(values.filter(pa.array(~missing))).as_py() == len(numbers)
    )


def _fit_vector(name: str, values: pa.ChunkedArray, missing: np.ndarray) -> Column:
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
    "number": encode_number,
    "boolean": _encode_boolean,
    "category": _encode_category,
    "vector": _encode_vector,
}
