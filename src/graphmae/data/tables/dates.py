"""Dates as people write them; day first or month first is decided for a column as a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .notation import BROKEN, Reading

PIVOT = 69  # of two digits: lower ones are of this century
DAY, MONTH = "day-first", "month-first"
MONTHS = (
    ("january", "januar", "jänner"), ("february", "februar"), ("march", "märz", "maerz", "mrz"), ("april",),
    ("may", "mai"), ("june", "juni"), ("july", "juli"), ("august",), ("september", "sept"), ("october", "oktober"),
    ("november",), ("december", "dezember"),
)  # fmt: skip
TIME = (
    r"(?:(?:T|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|UTC|GMT|[-+]\d{2}:?\d{2})?)?$"
)
WEEKDAY = r"^(?:[A-Za-z]{2,9}\.?,\s*)?"
YEAR_FIRST = rf"^(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){TIME}"
NUMBERS = rf"{WEEKDAY}(?P<one>\d{{1,2}})(?P<mark>[-/.])(?P<two>\d{{1,2}})[-/.](?P<year>\d{{4}}|\d{{2}}){TIME}"
NAMED = rf"{WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s.-]*(?P<name>\p{{L}}{{3,9}})\.?[\s,.-]+(?P<year>\d{{4}}){TIME}"
NAME_FIRST = rf"{WEEKDAY}(?P<name>\p{{L}}{{3,9}})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}}){TIME}"

IN_EVERY_DATE = r"\d{4}|\d[-/.]\d{1,2}[-/.]\d{2}"


def decide(cells: pa.ChunkedArray) -> Reading:
    """How dates among cells that are not missing are written.

    >>> decide(pa.chunked_array([["03/12/2021", "25/12/2021"]])).notation
    'day-first'
    """
    found = _decide(cells)
    return replace(found, remarks=_remarks(cells)) if found.share else found


def _decide(cells: pa.ChunkedArray) -> Reading:
    read = {order: seconds(cells, order) for order in (DAY, MONTH)}
    there = {order: np.isfinite(values) for order, values in read.items()}
    either = there[DAY] | there[MONTH]
    share = float(either.mean()) if len(either) else 0.0
    if not share:
        return Reading()
    only = {DAY: there[DAY] & ~there[MONTH], MONTH: there[MONTH] & ~there[DAY]}
    counts = {order: int(mask.sum()) for order, mask in only.items()}
    if not any(counts.values()):
        two_ways = either & (read[DAY] != read[MONTH])
        if not two_ways.any():
            return Reading(DAY, share)
        if _has_points(cells, two_ways):
            return Reading(DAY, share, True)
        return Reading(_usual(cells, two_ways), share, doubt=str(cells[int(two_ways.argmax())].as_py()))
    more, less = sorted(counts, key=lambda order: -counts[order])
    if counts[less] > BROKEN * either.sum():
        clash = tuple(str(cells[int(only[order].argmax())].as_py()) for order in (more, less))
        return Reading(more, share, clash=clash)
    return Reading(more, float(there[more].mean()), True)


def _remarks(cells: pa.ChunkedArray) -> tuple[str, ...]:
    """What is decided about dates that their cells leave open: the century, the zone."""
    found, text = [], cells.combine_chunks()
    parts = pc.extract_regex(text, NUMBERS)
    short = np.asarray(pc.fill_null(pc.equal(pc.utf8_length(pc.struct_field(parts, "year")), 2), False))
    if short.any():
        years = np.where(short, _whole(pc.struct_field(parts, "year")), -1)
        highest, lowest = (np.where(short & here, years, -1) for here in (years < PIVOT, years >= PIVOT))
        said = [
            f"{text[int(each.argmax())].as_py()!r} is read as {each.max() + century}"
            for each, century in ((highest, 2000), (lowest, 1900))
            if each.max() >= 0
        ]
        found.append(f"{int(short.sum()):,} years have two digits: {' and '.join(said)}; write four to be sure")
    zones = pc.struct_field(pc.extract_regex(text, rf"\d{TIME}"), "zone")
    zoned = np.asarray(pc.fill_null(pc.not_equal(zones, ""), False))
    if zoned.any() and not zoned.all():
        without = text[int((~zoned).argmax())].as_py()
        found.append(f"{int((~zoned).sum()):,} times have no zone, others have: {without!r} is read as UTC")
    return tuple(found)


def seconds(cells: pa.ChunkedArray, order: str = DAY) -> np.ndarray:
    """Seconds since 1970 of every cell, [rows] float64; NaN where it is not a date.

    03/04/2021 is read in the `order`; 2021-03-04 and 4 Mar 2021 need none.
    """
    text = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    found = np.full(len(text), np.nan)
    if not pc.any(pc.match_substring_regex(text, IN_EVERY_DATE)).as_py():
        return found  # most columns of text: the forms below take longer to compile than to look for
    for form in (YEAR_FIRST, NUMBERS, NAMED, NAME_FIRST):
        parts = pc.extract_regex(text, form)
        rows = np.asarray(parts.is_valid().to_numpy(zero_copy_only=False)).nonzero()[0]
        if not len(rows):
            continue
        fields = {name: pc.struct_field(parts, name).take(pa.array(rows)) for name in (f.name for f in parts.type)}
        found[rows] = _moment(fields, order)
    return found


def _moment(fields: dict[str, pa.Array], order: str) -> np.ndarray:
    year = _whole(fields["year"])
    short = np.asarray(pc.equal(pc.utf8_length(fields["year"]), 2).to_numpy(zero_copy_only=False))
    year = np.where(short, year + np.where(year < PIVOT, 2000, 1900), year)
    if "one" in fields:
        one, two = _whole(fields["one"]), _whole(fields["two"])
        day, month = (one, two) if order == DAY else (two, one)
    else:
        day = _whole(fields["day"])
        month = _whole(fields["month"]) if "month" in fields else _month(fields["name"])
    hour, minute, second = (_whole(fields[part]) for part in ("hour", "minute", "second"))
    half = pc.utf8_lower(fields["half"])
    afternoon = np.asarray(pc.starts_with(half, "p").to_numpy(zero_copy_only=False))
    morning = np.asarray(pc.starts_with(half, "a").to_numpy(zero_copy_only=False))
    hour = np.where(afternoon & (hour < 12), hour + 12, np.where(morning & (hour == 12), 0, hour))
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31) & (hour < 25) & (minute < 60) & (second < 62)
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    valid &= days.astype("datetime64[M]") == months  # no 31st of April
    moment = days.astype(np.int64) * 86400.0 + hour * 3600 + minute * 60 + second - _offset(fields["zone"])
    return np.where(valid, moment, np.nan)


def _offset(zone: pa.Array) -> np.ndarray:
    """Seconds a zone such as +02:00 is ahead."""
    parts = pc.extract_regex(zone, r"^(?P<sign>[-+])(?P<hours>\d{2}):?(?P<minutes>\d{2})$")
    hours, minutes = (_whole(pc.struct_field(parts, name)) for name in ("hours", "minutes"))
    behind = np.asarray(pc.fill_null(pc.equal(pc.struct_field(parts, "sign"), "-"), False).to_numpy(False))
    return (hours * 3600 + minutes * 60) * np.where(behind, -1, 1)


def _whole(digits: pa.Array) -> np.ndarray:
    """Of digits or nothing, which is 0."""
    numbers = pc.if_else(pc.equal(digits, ""), "0", digits)
    return np.asarray(pc.fill_null(numbers, "0").cast(pa.int64()).to_numpy(zero_copy_only=False))


def _month(names: pa.Array) -> np.ndarray:
    """1 to 12 for a month's name or the beginning of one, in English or German; 0 for another word."""
    place = {}
    for name in pc.unique(names).to_pylist():
        lowered = str(name).lower()
        alike = (i for i, month in enumerate(MONTHS, 1) if any(full.startswith(lowered) for full in month))
        place[name] = next(alike, 0)
    return np.array([place[name] for name in names.to_pylist()], dtype=np.int64)


def _has_points(cells: pa.ChunkedArray, two_ways: np.ndarray) -> bool:
    """Whether one is written as 3.12.2021: nobody writes the month first so."""
    found = pc.match_substring_regex(cells.combine_chunks().filter(pa.array(two_ways)), r"^[^/-]*\d\.\d{1,2}\.\d")
    return bool(pc.any(found).as_py())


def _usual(cells: pa.ChunkedArray, two_ways: np.ndarray) -> str:
    """The order of dates that can be read both ways: that which makes firsts of months of them, else day first."""
    parts = pc.extract_regex(cells.combine_chunks().filter(pa.array(two_ways)), NUMBERS)
    one, two = (_whole(pc.struct_field(parts, part)) for part in ("one", "two"))
    return MONTH if (two == 1).all() and not (one == 1).all() else DAY
