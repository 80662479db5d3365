"""How a text column is read as numbers, where need be by what the other columns of the table do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError
from . import dates, notation
from .cells import as_text, is_missing
from .dates import DAY, MONTH
from .notation import COMMA, POINT, Reading
from .report import set_kind

NOTATIONS = {POINT: "1,234.5", COMMA: "1.234,5", DAY: "31/12/2021", MONTH: "12/31/2021"}  # each with an example
NUMBERS_AMONG_TEXT = 0.9  # a text column with this share of numbers is a column of numbers with some broken cells
SOME_NUMBERS = 0.5  # with this share it may be meant to be one
SAMPLE = 20_000


@dataclass(frozen=True)
class Habits:
    """What the clear columns of a table say about those that can be read in two ways."""

    table: pa.Table | None = None

    @cached_property
    def _clear(self) -> set[str]:
        if self.table is None:
            return set()
        found = set()
        for column in self.table.columns:
            if is_text(column.type):
                reading = first_reading(column)
                found |= {reading.notation} if reading.clear else set()
            elif self._separator and pa.types.is_floating(column.type):
                numbers = column.to_numpy()
                found |= {POINT} if np.any(np.isfinite(numbers) & (numbers != np.rint(numbers))) else set()
        return found

    @property
    def _separator(self) -> str:
        metadata = self.table.schema.metadata if self.table is not None else None
        return (metadata or {}).get(b"separator", b"").decode()

    def among(self, one: str, other: str) -> str:
        """The notation that other columns have, if they have one of the two alone."""
        found = self._clear & {one, other}
        return found.pop() if len(found) == 1 else ""

    @property
    def expects_commas(self) -> bool:
        """Files are separated by ";" where the comma is the decimal one."""
        return self._separator == ";"


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def first_reading(values: pa.ChunkedArray) -> Reading:
    """What the first cells of a text column can be read as; most texts have no digits, so this is quick."""
    missing = is_missing(values[:SAMPLE])
    return _reading(as_text(values[:SAMPLE].filter(pa.array(~missing))), NUMBERS_AMONG_TEXT)


def _reading(cells: pa.ChunkedArray, share: float) -> Reading:
    digits = pc.mean(pc.match_substring_regex(cells, r"\d").cast(pa.int8())).as_py() or 0.0
    if digits < min(share, SOME_NUMBERS):
        return Reading()
    found = notation.decide(cells)
    if found.share < share:
        found = max(dates.decide(cells), found, key=lambda reading: reading.share)
    return found if found.share >= share else Reading(share=found.share)


def reading_of(
    name: str, values: pa.ChunkedArray, missing: np.ndarray, asked: str, habits: Habits
) -> tuple[str, tuple[str, ...]]:
    """(the notation of a text column of numbers or dates, what people should know about it).

    `asked` is a notation that was set. A column that can be read in two ways is read as the others of the table; where
    they do not tell, numbers are refused and dates taken with the day first.
    """
    if asked in NOTATIONS:
        return asked, ()
    found = _reading(as_text(values.filter(pa.array(~missing))), 1e-9)
    remarks = found.remarks
    if found.clash:
        first, second = found.clash
        raise DataError(
            f"column {name!r} is written in two ways, as in {first!r} and in {second!r}; set "
            f'{set_kind(name, found.notation)} to read it in one and count the rest as missing, or "ignore"'
        )
    if not found.doubt:
        return found.notation, remarks
    is_date = found.notation in (DAY, MONTH)
    pair = (DAY, MONTH) if is_date else (POINT, COMMA)
    if usual := habits.among(*pair):
        return usual, (*remarks, f"{found.doubt!r} can be read in two ways; {usual}, as in other columns")
    if not is_date and ("," in found.doubt or habits.expects_commas):
        one, other = (f"{notation.numbers(pa.chunked_array([[found.doubt]]), way)[0]:g}" for way in pair)
        raise DataError(
            f"column {name!r}: {found.doubt!r} may be {one} or {other}, and no other cell tells; set "
            f'{set_kind(name, POINT)} for {one}, "{COMMA}" for {other}'
        )
    other = pair[pair[0] == found.notation]
    said = f"{found.doubt!r} can be read in two ways; {found.notation} was taken, {set_kind(name, other)} changes it"
    return found.notation, (*remarks, said)
