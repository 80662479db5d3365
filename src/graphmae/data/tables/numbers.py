"""Columns of numbers: which are no measurements (codes for "missing", absurd ones), their scale, their feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from .cells import floats, is_numeric
from .dates import DAY, MONTH
from .habits import is_text
from .report import count

NEGATIVE = (-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, -999999.0)
POSITIVE = (99.0, 999.0, 9999.0, 99999.0, 999999.0)
HUGE = 1e20  # such as 9.97e36 in climate data
MIN_REPEATS = 2
MIN_OTHERS = 5  # different other numbers, to know what is far from them
FAR = 5  # ranges of the other numbers, from a code to the nearest of them
ABSURD = 1e6  # times as far from the median as the next one
MAX_ABSURD_SHARE = 0.01


def read_numbers(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> np.ndarray:
    """[rows] float64, NaN where a cell has no number or one that means "missing"."""
    numbers = floats(values, learned.get("notation", ""))
    codes = learned.get("codes_for_missing")
    return np.where(np.isin(numbers, codes), np.nan, numbers) if codes else numbers


def stand_for_missing(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> np.ndarray:
    """[rows]: cells with a number that means "missing" in this column, such as -999."""
    codes = learned.get("codes_for_missing")
    if not codes:
        return np.zeros(len(values), dtype=bool)
    return np.isin(floats(values, learned.get("notation", "")), codes)


def new_codes(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> list[str]:
    """A sentence for each number of new cells that seems to mean "missing", and was no such in training."""
    if learned.get("kind_was_set") or not are_plain(values, learned.get("notation", "")):
        return []
    numbers = read_numbers(values, learned)
    return codes_for_missing(numbers[np.isfinite(numbers)])[1]


def are_plain(values: pa.ChunkedArray, notation: str) -> bool:
    """Whether the numbers of a column are neither dates nor times."""
    return notation not in (DAY, MONTH) and (is_numeric(values.type) or is_text(values.type))


def moments(numbers: np.ndarray) -> tuple[float, float]:
    """Mean and deviation, also of numbers whose squares are 0 or infinite."""
    size = float(np.abs(numbers).max())
    if 1e-100 < size < 1e100 or not size:
        return float(numbers.mean()), float(numbers.std())
    return float((numbers / size).mean() * size), float((numbers / size).std() * size)


def encode_number(values: pa.ChunkedArray, learned: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The standardised feature [rows, 1], and which rows have none."""
    numbers = read_numbers(values, learned)
    missing = ~np.isfinite(numbers)
    numbers = np.where(missing, 0.0, np.clip(numbers, -1e150, 1e150))
    if learned["logarithmic"]:
        numbers = np.log1p(np.maximum(numbers, 0))
    scaled = (numbers - learned["mean"]) / learned["std"]
    return np.where(missing, 0.0, np.clip(scaled, -1e4, 1e4))[:, None], missing


def codes_for_missing(numbers: np.ndarray) -> tuple[list[float], list[str]]:
    """(the numbers that are no measurements, a sentence about each kind): typical codes that repeat far from all
    others, and a few cells that are a million times as far from the middle as all others.

    >>> codes_for_missing(np.array([31.0, 45, -999, 27, 52, 64, -999, 18]))[0]
    [-999.0]
    """
    if not len(numbers):
        return [], []
    values, counts = np.unique(numbers, return_counts=True)
    absurd = _absurd(values, counts, numbers)
    values, counts = values[~absurd], counts[~absurd]
    may_be = (np.isin(values, (*NEGATIVE, *POSITIVE)) | (np.abs(values) >= HUGE)) & (counts >= MIN_REPEATS)
    others = values[~may_be]
    is_code = np.zeros(len(values), dtype=bool)
    if len(others) > 1:
        low, high = float(others[0]), float(others[-1])
        gap = np.maximum(low - values, values - high)
        # Below numbers that are never negative a code stands out more.
        alone = (values < 0) & (low >= 0)
        enough = (len(others) >= MIN_OTHERS) | (alone & (values <= -99))
        is_code = may_be & enough & (gap > np.where(alone, 1, FAR) * (high - low))
    sentences = [
        f"{count(int(times), 'cell is', 'cells are')} {value:g}, far from all others and always the same"
        for value, times in zip(values[is_code], counts[is_code], strict=True)
    ]
    every, times = np.unique(numbers, return_counts=True)
    sentences += [
        f"{count(int(number), 'cell is', 'cells are')} {value:g}, a million times as far from the middle as all others"
        for value, number in zip(every[absurd], times[absurd], strict=True)
    ]
    return [*values[is_code].tolist(), *every[absurd].tolist()], sentences


def _absurd(values: np.ndarray, counts: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """[values]: the few beyond a jump in the distances from the median."""
    with np.errstate(over="ignore"):
        distance = np.abs(values - np.median(numbers))
    order = np.argsort(distance, kind="stable")
    away, beyond = distance[order], np.cumsum(counts[order][::-1])[::-1]
    jumps = (away[1:] > ABSURD * away[:-1]) & (beyond[1:] <= max(1, MAX_ABSURD_SHARE * len(numbers)))
    jumps[: MIN_OTHERS - 1] = False
    out = np.zeros(len(values), dtype=bool)
    if jumps.any():
        out[order[int(jumps.argmax()) + 1 :]] = True
    return out


def look_like_days(numbers: np.ndarray) -> bool:
    """Whether all are whole numbers such as 20200131, a year, a month and a day."""
    if not len(numbers) or numbers.min() < 1900_01_01 or numbers.max() > 2100_12_31 or (numbers % 1).any():
        return False
    days, months = numbers % 100, numbers // 100 % 100
    return bool(((days >= 1) & (days <= 31) & (months >= 1) & (months <= 12)).all())
