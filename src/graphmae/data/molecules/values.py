"""What was measured: the cells of a column as numbers or classes, with what is censored, missing or not readable."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from ...runtime.errors import DataError
from ..tables import notation
from ..tables.habits import Habits
from ..tables.notation import COMMA, POINT
from ..tables.reading import MISSING
from .units import without_unit

Kind = Literal["classification", "regression"]
LARGEST = 1e15  # squares of larger numbers leave float32
BROKEN = 0.1  # of the cells: as many may be unreadable and are left out; with more the column is refused
NOT_MEASURED = frozenset((
    "n.d.", "n.d", "nd", "n/d", "n.t.", "n.t", "nt", "n.m.", "n.a.", "n.a", "not determined", "not tested",
    "not measured", "not available", "not active/not determined", "unknown", "untested", "missing",
    "inconclusive", "unspecified", "ambiguous", "equivocal", "undetermined", "insoluble at test concentration",
    "tbd", "pending", "failed", "void", "invalid", "err", "error",
))  # fmt: skip
# (class 0, class 1) as people write them.
PAIRS = (
    ("inactive", "active"), ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("negative", "positive"),
    ("neg", "pos"), ("-", "+"), ("nontoxic", "toxic"), ("non-toxic", "toxic"), ("not toxic", "toxic"),
    ("nonmutagen", "mutagen"), ("nonmutagenic", "mutagenic"), ("non-mutagenic", "mutagenic"),
    ("non-mutagen", "mutagen"), ("insoluble", "soluble"), ("impermeable", "permeable"), ("nonhit", "hit"),
    ("non-hit", "hit"), ("nonbinder", "binder"), ("non-binder", "binder"), ("low", "high"), ("nein", "ja"),
    ("inaktiv", "aktiv"), ("decoy", "active"), ("decoy", "ligand"), ("unstable", "stable"),
    ("noninhibitor", "inhibitor"), ("non-inhibitor", "inhibitor"), ("nonsubstrate", "substrate"),
    ("non-substrate", "substrate"), ("not active", "active"), ("non-active", "active"),
    ("nonactive", "active"), ("fail", "pass"), ("safe", "toxic"), ("0", "1"),
)  # fmt: skip
CODES = ((0.0, 1.0), (-1.0, 1.0), (1.0, 2.0))
SIGN = re.compile(r"^(?P<sign>>=|=>|<=|=<|>>|<<|≥|≤|⩾|⩽|>|<|~|≈|∼|ca\.?\s|circa\s|about\s|=)\s*(?P<rest>.*\d.*)$")
BOUNDS = {">": 1, "<": -1, "≥": 1, "≤": -1, "⩾": 1, "⩽": -1}
MINUS = ("-", "−", "–", "—")


@dataclass
class Column:
    """A target as it was read.

    Attributes:
        values: [rows] float64, classes 0 and 1; NaN where nothing was measured.
        bounds: [rows] int8: 1 where the true value is above the one given (">10000"), −1 below, 0 elsewhere.
        units: [rows] of the cells themselves, "" where they have none.
        refused: row → why its cell was left out.
        notes: what people should know.
    """

    name: str
    kind: Kind
    values: np.ndarray
    bounds: np.ndarray
    units: np.ndarray
    refused: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_column(
    name: str,
    cells: Sequence[str],
    codes: np.ndarray,
    kind: Literal["auto", "classification", "regression"] = "auto",
    positive: str = "",
    habits: Habits | None = None,
    typed: bool = False,
) -> Column:
    """`cells` are the different ones of the column, `codes` [rows] say which every row has.

    Words and numbers that stand for two classes become 0 and 1; `positive` names the cell that is class 1.
    """
    lowered = [cell.lower() for cell in cells]
    signs_alone = "+" in lowered and all(cell in ("", "+", *MINUS) for cell in lowered)
    missing = np.array([cell in MISSING and not (signs_alone and cell) for cell in lowered], dtype=bool)
    absent = np.array([cell in NOT_MEASURED for cell in lowered], dtype=bool)
    counts = np.bincount(codes, minlength=len(cells))
    there = ~missing & ~absent
    notes = _absent(name, cells, counts, absent & (counts > 0))
    if not counts[there].sum():
        raise DataError(f"no molecule has a value for {name!r}")
    numbers, bounds, units, about = _numbers(name, cells, there, habits, typed)
    unread = there & np.isnan(numbers)
    words = {lowered[i]: i for i in np.flatnonzero(there & (counts > 0)).tolist()}
    if counts[unread].sum() > BROKEN * counts[there].sum():
        if kind == "regression":
            raise DataError(_not_numbers(name, cells, counts, unread, codes))
        numbers, more = _from_words(name, cells, counts, words, positive, unread, codes)
        column = Column(name, "classification", numbers[codes], np.zeros(len(codes), np.int8), np.full(len(codes), ""))
        column.notes = [*notes, *more]
        return column
    column = Column(name, "regression", numbers[codes], bounds[codes], units[codes], notes=[*notes, *about])
    for row in np.flatnonzero(unread[codes]):
        column.refused[int(row)] = f"{cells[codes[row]][:40]!r} is not a number, or too large"
    if kind != "regression":
        _as_classes(column, kind, positive)
    return column


def _absent(name: str, cells: Sequence[str], counts: np.ndarray, absent: np.ndarray) -> list[str]:
    if not absent.any():
        return []
    words = ", ".join(f"{cells[i]!r} ({counts[i]:,})" for i in np.flatnonzero(absent)[:5])
    return [f"{name!r}: {counts[absent].sum():,} cells say that nothing was measured: {words}"]


def _numbers(
    name: str, cells: Sequence[str], there: np.ndarray, habits: Habits | None, typed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """(numbers, NaN where a cell is none; bounds; units; notes), of the different cells."""
    bounds, units = np.zeros(len(cells), np.int8), np.full(len(cells), "", dtype=object)
    bare = []
    for i, cell in enumerate(cells):
        text = cell.strip("'\"")
        if found := SIGN.match(text):
            bounds[i], text = BOUNDS.get(found["sign"].replace("=", "")[:1], 0), found["rest"]
        text, units[i] = without_unit(text)
        bare.append(text if there[i] else "")
    known = pa.chunked_array([[text for text in bare if text]], type=pa.string())
    found_in = notation.decide(known)
    used, about = found_in.notation or POINT, list(found_in.remarks)
    if found_in.clash:
        raise DataError(
            f"column {name!r} is written in two ways, as in {found_in.clash[0]!r} and in {found_in.clash[1]!r}; "
            "write all of it with a point, or all of it with a comma"
        )
    if found_in.doubt and not typed and habits is not None:
        usual = habits.among(POINT, COMMA)
        if not usual and ("," in found_in.doubt or habits.expects_commas):
            one, other = (
                f"{notation.numbers(pa.chunked_array([[found_in.doubt]]), way)[0]:g}" for way in (POINT, COMMA)
            )
            raise DataError(
                f"column {name!r}: {found_in.doubt!r} may be {one} or {other}, and no other cell tells: write all "
                "numbers of the column without separators of thousands, as 4300 or 4.3"
            )
        used = usual or used
    if used == COMMA:
        about.append(f"{name!r}: numbers with a decimal comma")
    values = notation.numbers(pa.chunked_array([bare], type=pa.string()), used)
    values = np.where(np.abs(values) < LARGEST, values, np.nan)
    return values, bounds, units, about


def _from_words(
    name: str,
    cells: Sequence[str],
    counts: np.ndarray,
    words: Mapping[str, int],
    positive: str,
    unread: np.ndarray,
    codes: np.ndarray,
) -> tuple[np.ndarray, list[str]]:
    """Classes of words: two of them, of which it is known, or was said, which one is class 1."""
    distinct = {re.sub(r"[−–—]", "-", word): i for word, i in words.items()}
    pair = None
    if positive and positive.strip().lower() in distinct and len(distinct) == 2:
        one = positive.strip().lower()
        pair = (next(word for word in distinct if word != one), one)
    else:
        seen = set(distinct)
        pair = next((two for two in PAIRS if seen <= set(two) or set(two) <= seen <= {*two, "0", "1"}), None)
    if pair is None:
        if len(distinct) == 2 and all(unread[i] for i in distinct.values()):
            first, second = (cells[i] for i in distinct.values())
            raise DataError(
                f"{name!r} holds two words, {first!r} and {second!r}: say which is class 1 "
                f"(--set data.positive={second})"
            )
        raise DataError(_not_numbers(name, cells, counts, unread, codes))
    numbers = np.full(len(cells), np.nan)
    for word in words:  # "Active" and "ACTIVE" are two cells and one word
        is_one = re.sub(r"[−–—]", "-", word) in (pair[1], "1")
        numbers[[j for j, cell in enumerate(cells) if cell.lower() == word]] = float(is_one)
    totals = [int(counts[numbers == value].sum()) for value in (0, 1)]
    return numbers, [f"{name!r}: words as classes, {pair[0]} → 0 ({totals[0]:,}), {pair[1]} → 1 ({totals[1]:,})"]


def _not_numbers(name: str, cells: Sequence[str], counts: np.ndarray, unread: np.ndarray, codes: np.ndarray) -> str:
    most = Counter({cells[i]: int(counts[i]) for i in np.flatnonzero(unread & (counts > 0)).tolist()})
    row = int(np.flatnonzero(unread[codes])[0]) + 1
    first = cells[int(codes[row - 1])][:40]
    shown = ", ".join(f"{cell[:40]!r} ({count:,})" for cell, count in most.most_common(5))
    return (
        f"row {row}, column {name!r}: {first!r} is not a number, or too large, like {sum(most.values()):,} "
        f"of {len(codes):,} cells: {shown}. Two words such as Active and Inactive are classes, >10000 and n.d. are "
        "understood, and a cell is left empty if nothing was measured"
    )


def _as_classes(column: Column, kind: str, positive: str) -> None:
    """Two numbers that stand for classes become 0 and 1."""
    seen = np.unique(column.values[~np.isnan(column.values)]).tolist()
    pair = next((codes for codes in CODES if set(seen) <= set(codes)), None)
    if pair == (1.0, 2.0) and len(seen) < 2:
        pair = None
    if pair is None and kind == "classification" and len(seen) == 2 and all(value == round(value) for value in seen):
        pair = (seen[0], seen[1])
    if pair is None or column.bounds.any():
        if kind == "classification":
            odd = next((value for value in seen if value not in (0.0, 1.0)), seen[0])
            raise DataError(
                f"{column.name!r}: classes must be 0 and 1, not {odd:g}; for numbers take the kind 'regression'"
            )
        return
    if positive and positive in (f"{pair[0]:g}", f"{pair[1]:g}"):
        pair = pair if positive == f"{pair[1]:g}" else (pair[1], pair[0])
    known = ~np.isnan(column.values)
    column.values = np.where(known, (column.values == pair[1]).astype(np.float64), np.nan)
    column.kind, column.units = "classification", np.full(len(column.values), "")
    if pair not in ((0.0, 1.0),):
        totals = [int((column.values == value).sum()) for value in (0, 1)]
        column.notes.append(
            f"{column.name!r}: classes, {pair[0]:g} → 0 ({totals[0]:,}), {pair[1]:g} → 1 ({totals[1]:,}); "
            "--set data.kind=regression reads them as numbers"
        )
