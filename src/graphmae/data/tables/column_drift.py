"""One column of new tables compared with the same column in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from . import words
from .cells import is_date, is_missing, strings
from .columns import Column
from .drift import MIN_MOVE, Bounds, Moved

POINTS = (0.0, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 1.0)
QUARTERS = (0.25, 0.75)
SAMPLE = 20_000  # rows of text whose words are counted
LONG = 1e15  # from here on a number is written with an exponent
TOLERANCE = 1e-4  # features that differ by less are the same on another machine


@dataclass(frozen=True)
class Seen:
    """A column of a table: numbers of its rows, shares of its levels, and the share of empty cells.

    Numbers are those of the feature, the share of a text's words that are known, or the length of a vector.
    """

    numbers: np.ndarray
    shares: np.ndarray
    missing: float
    unknown: float = 0.0  # share of cells whose level has no feature

    @classmethod
    def of(cls, column: Column, values: pa.ChunkedArray, block: np.ndarray, absent: np.ndarray, learning: bool) -> Seen:
        """Of a column as it was encoded; `learning`: the encoding was learned from these rows."""
        there = ~absent
        rows, missing, nothing = block[there], float(absent.mean()), np.zeros(0)
        if not len(rows):
            return cls(nothing, nothing, missing)
        if column.kind == "number":
            return cls(rows[:, 0], nothing, missing)
        if column.kind == "boolean":
            return cls(nothing, rows[:, :1].mean(0), missing)
        if column.kind == "category":
            levels = rows[:, : len(column.learned["levels"]) + bool(column.learned["other"])]
            return cls(nothing, levels.mean(0), missing, float((levels.sum(1) == 0).mean()))
        if column.kind in ("text", "bag"):
            chosen = there.nonzero()[0][:: -(-len(rows) // SAMPLE)]
            counts = words.count(words.texts_of(values.take(pa.array(chosen))))
            # A word of two rows would not have been learned without this one, so rows to come do not know it.
            counted = np.count_nonzero(rows, axis=0) > 2 if learning else slice(None)
            known = np.count_nonzero(block[chosen][:, counted], axis=1)
            return cls((known / np.maximum(counts, 1))[counts > 0], (rows != 0).mean(0), missing)
        return cls(np.linalg.norm(rows, axis=1), rows[:, : len(column.learned["mean"])].mean(0), missing)

    def stored(self) -> dict[str, Any]:
        """As JSON: some quantiles and the share of rows up to each, shares by position."""
        ordered = np.sort(self.numbers)
        places = [round(point * (len(ordered) - 1)) for point in POINTS] if len(ordered) else []
        grid = sorted({float(f"{ordered[place]:.6g}") for place in places})
        quarters = [float(f"{ordered[places[POINTS.index(point)]]:.6g}") for point in QUARTERS] if len(ordered) else []
        return {
            "missing": round(self.missing, 6),
            "grid": grid,
            "up_to": np.round(_up_to(self.numbers, grid), 6).tolist(),
            "middle": quarters,
            "shares": [float(f"{share:.4g}") for share in self.shares],
        }


def moved_column(
    column: Column, before: Mapping[str, Any], seen: Seen, values: pa.ChunkedArray, bounds: Bounds
) -> Iterator[Moved]:
    """What moved in one column; `before` is what `Seen.stored` gave for the training data."""
    name = column.name
    low, high = float(before["missing"]), seen.missing
    if abs(high - low) >= max(MIN_MOVE, bounds.share(low, high)):
        text = f"{name}: {high:.0%} of the cells are empty where training had {low:.0%}"
        yield Moved(name, "missing", low, high, abs(high - low), text)
    bounds = bounds.of_share(1 - low, 1 - high)  # from here on, rows with a value
    if column.kind == "number":
        yield from _moved_numbers(column, before, seen, values, bounds)
    elif column.kind == "category":
        yield from _moved_levels(column, before, seen, values, bounds)
    elif column.kind == "boolean":
        yield from _moved_share(f"{name}: true in", name, "true", before["shares"], seen.shares, bounds)
    elif column.kind in ("text", "bag"):
        yield from _moved_words(column, before, seen, bounds)
    elif column.kind == "vector":
        yield from _moved_vectors(column, before, seen, bounds)


def _moved_numbers(
    column: Column, before: Mapping[str, Any], seen: Seen, values: pa.ChunkedArray, bounds: Bounds
) -> Iterator[Moved]:
    grid, numbers = before["grid"], seen.numbers
    if not grid or not len(numbers):
        return
    gap = float(np.abs(_gaps(numbers, before)).max())
    outside = _below(numbers, grid[0]) + _below(-numbers, -grid[-1])
    if not (gap >= max(MIN_MOVE, bounds.distance) or (
        outside >= MIN_MOVE and bounds.is_rare(outside, 2 / (bounds.before + 1))
    )):  # fmt: skip
        return
    shown = _plain_date if is_date(values) else _plain
    first, last = (shown(_raw(column, value)) for value in before["middle"])
    now, then = float(np.nanmedian(column.numbers(values))), _raw(column, _median(before))  # features are clipped
    text = f"{column.name}: median {shown(now)} where training had {first} to {last} (its middle half)"
    if outside >= 0.01:
        ends = f"{shown(_raw(column, grid[0]))} to {shown(_raw(column, grid[-1]))}"
        text += f"; {outside:.0%} of the rows are outside its range, {ends}"
    yield Moved(column.name, "median", then, now, max(gap, outside), text)


def _moved_levels(
    column: Column, before: Mapping[str, Any], seen: Seen, values: pa.ChunkedArray, bounds: Bounds
) -> Iterator[Moved]:
    then = np.asarray(before["shares"])
    if not len(then) or not len(seen.shares):
        return
    once = float((np.rint(then * bounds.before) == 1).sum() + 1) / max(bounds.before, 1)
    if seen.unknown >= MIN_MOVE and bounds.is_rare(seen.unknown, once):
        strange = strings(values)[column.unknown(values) & ~is_missing(values)].tolist()
        often = Counter(sorted(strange)).most_common(1)[0]
        share = often[1] / len(strange) * seen.unknown
        yield Moved(
            column.name, "unknown levels", 0.0, seen.unknown, seen.unknown,
            f"{column.name}: {seen.unknown:.0%} of the rows have a level that training did not have "
            f"({often[0]!r} {share:.0%})",
        )  # fmt: skip
    if seen.unknown == 1:
        return
    shares = seen.shares / (1 - seen.unknown)  # among the levels that are known
    # The distance by chance alone grows with the number of levels.
    noise = 0.4 * float(np.sqrt(then * (1 - then) * bounds.spread).sum())
    gap = 0.5 * float(np.abs(shares - then).sum())
    if gap >= max(MIN_MOVE, noise + bounds.distance):
        most = int((shares - then).argmax())
        level = repr(column.learned["levels"][most]) if most < len(column.learned["levels"]) else "rare levels"
        yield from _moved_share(
            f"{column.name}: {level} in", column.name, level, then[[most]], shares[[most]], bounds, gap
        )


def _moved_words(column: Column, before: Mapping[str, Any], seen: Seen, bounds: Bounds) -> Iterator[Moved]:
    name, grid = column.name, before["grid"]
    if grid and len(seen.numbers):
        gap = float(_gaps(seen.numbers, before).max())  # fewer words known than then
        now, then = float(np.median(seen.numbers)), _median(before)
        none = float((seen.numbers == 0).mean())
        none_then = float(before["up_to"][0]) if grid[0] == 0 else 0.0
        lost = none - none_then >= MIN_MOVE and bounds.is_rare(none, none_then + 1 / max(bounds.before, 1))
        if (then - now >= MIN_MOVE and gap >= max(MIN_MOVE, bounds.distance)) or lost:
            text = f"{name}: {now:.0%} of a row's words are known (median) where training had {then:.0%}"
            text += f"; {none:.0%} of the rows have none" if none >= 0.01 else ""
            yield Moved(name, "known words", then, now, max(gap, none - none_then), text)
    then_, now_ = np.asarray(before["shares"]), seen.shares
    if len(then_) and len(now_):
        gaps = now_ - then_
        found = (gaps >= np.maximum(MIN_MOVE, bounds.share(then_, now_))).nonzero()[0]
        if len(found):
            most = int(found[gaps[found].argmax()])
            word = repr(column.learned["words"][most])
            others = f"; {len(found) - 1} other words became more frequent" if len(found) > 1 else ""
            text = f"{name}: {word} in {now_[most]:.0%} of the rows where training had {then_[most]:.0%}{others}"
            yield Moved(name, word, float(then_[most]), float(now_[most]), float(gaps[most]), text)


def _moved_vectors(column: Column, before: Mapping[str, Any], seen: Seen, bounds: Bounds) -> Iterator[Moved]:
    if not before["grid"] or not len(seen.numbers):
        return
    now, then = float(np.median(seen.numbers)), _median(before)
    length = max(then, 1e-9)
    shift = float(np.linalg.norm(seen.shares - np.asarray(before["shares"]))) / length
    gap = float(np.abs(_gaps(seen.numbers, before)).max())
    if gap >= max(MIN_MOVE, bounds.distance) or shift >= max(3 * MIN_MOVE, 4 * np.sqrt(bounds.spread)):
        text = f"{column.name}: vectors of length {now:.3g} (median, scaled) where training had {then:.3g}"
        text += f"; their mean moved by {shift:.0%} of that"
        yield Moved(column.name, "length", then, now, min(1.0, max(gap, shift)), text)


def _moved_share(
    text: str, name: str, what: str, before: Any, now: Any, bounds: Bounds, score: float | None = None
) -> Iterator[Moved]:
    if not len(before) or not len(now):
        return
    then, new = float(before[0]), float(now[0])
    if score is None and abs(new - then) < max(MIN_MOVE, bounds.share(then, new)):
        return
    sentence = f"{text} {new:.0%} of the rows where training had {then:.0%}"
    yield Moved(name, what, then, new, abs(new - then) if score is None else score, sentence)


def _up_to(numbers: np.ndarray, grid: Sequence[float]) -> np.ndarray:
    """The share of the numbers up to each point of the grid."""
    points = np.asarray(grid, dtype=np.float64)
    ordered = np.sort(numbers)
    return np.searchsorted(ordered, points + TOLERANCE * (1 + np.abs(points)), side="right") / max(len(ordered), 1)


def _below(numbers: np.ndarray, point: float) -> float:
    """The share of the numbers below a point."""
    return 1 - float(_up_to(-numbers, [-point])[0])


def _gaps(numbers: np.ndarray, before: Mapping[str, Any]) -> np.ndarray:
    """How many more of the numbers than then are below the least, or up to a point of the grid; shares."""
    grid = before["grid"]
    return np.append(_up_to(numbers, grid) - before["up_to"], _below(numbers, grid[0]))


def _median(before: Mapping[str, Any]) -> float:
    return float(before["grid"][min(int(np.searchsorted(before["up_to"], 0.5)), len(before["grid"]) - 1)])


def _raw(column: Column, value: float) -> float:
    """A feature as the number it stands for."""
    with np.errstate(over="ignore"):
        number = np.float64(value) * column.learned["std"] + column.learned["mean"]
        return float(np.expm1(number)) if column.learned["logarithmic"] else float(number)


def _plain(number: float) -> str:
    return f"{number:,.0f}" if 1000 <= abs(number) < LONG else f"{number:.3g}"


def _plain_date(seconds: float) -> str:
    if not abs(seconds) < LONG / 1000:  # no year of the calendar
        return _plain(seconds)
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))
