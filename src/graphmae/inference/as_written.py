"""Numbers and dates written as a column writes them: the same decimals, separators, signs and forms of dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np

SAMPLE = 500  # known cells a notation is found from
MIN_SHARE = 0.5  # of them must come out as they are written
DATES = (
    "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M", "%d.%m.%Y",
    "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M",
)  # fmt: skip
STEPS = (86_400, 3_600, 60, 1)  # of dates, in seconds
_PARTS = re.compile(r"^(\D*?)([+-]?\d[\d.,'\u00a0\u202f ]*)(\D*)$")
Write = Callable[[float], str]


def decimals_of(values: np.ndarray) -> int:
    """How many decimals the numbers of a column have, 1 % of them aside; no more than tell its values apart.

    >>> decimals_of(np.array([5.0, 7.25, 3.5])), decimals_of(np.array([1990.0, 2003.0]))
    (2, 0)
    """
    shown = [np.format_float_positional(value, trim="-") for value in values[:SAMPLE]]
    usual = int(np.quantile([len(text.partition(".")[2]) for text in shown], 0.99, method="higher"))
    spread = float(np.std(values)) or 1.0
    return int(np.clip(usual, 0, max(0, 4 - int(np.floor(np.log10(spread))))))


def date_step(seconds: np.ndarray) -> int:
    """The largest of a day, an hour, a minute and a second that all dates are whole numbers of."""
    return next(step for step in STEPS if step == 1 or not np.any(seconds % step))


def writer(written: Sequence[str], values: np.ndarray) -> Write:
    """From a number (of a date: seconds since 1970) to text, as the known cells `written` show their `values`.

    >>> writer(["5.0", "7.0", "12.0"], np.array([5.0, 7, 12]))(4)
    '4.0'
    >>> writer(["1.250,50 €", "3,00 €"], np.array([1250.5, 3]))(2000)
    '2.000,00 €'
    >>> writer(["03.02.2020", "28.11.2021"], np.array([1580688000.0, 1638057600]))(0)
    '01.01.1970'
    """
    cells = [(text.strip(), float(value)) for text, value in zip(written[:SAMPLE], values[:SAMPLE], strict=True)]
    tried = [*_numbers([text for text, _ in cells]), *map(_date, DATES)]
    shares = [np.mean([_same(write, value, text) for text, value in cells]) for write in tried]
    best = int(np.argmax(shares))
    return tried[best] if shares[best] >= MIN_SHARE else _number("", ".", "", "", 0, 1)


def _same(write: Write, value: float, text: str) -> bool:
    try:
        return write(value) == text
    except (OverflowError, ValueError, OSError):  # a date beyond what the calendar has
        return False


def _numbers(written: Sequence[str]) -> list[Write]:
    """Notations these cells might be in."""
    parts = [match.groups() for text in written if (match := _PARTS.match(text))]
    if not parts:
        return []
    before = Counter(before for before, _, _ in parts).most_common(1)[0][0]
    after = Counter(digits[len(digits.rstrip()) :] + after for _, digits, after in parts).most_common(1)[0][0]
    found = []
    for point, groups in ((".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'")):
        lengths = [len(digits.rstrip().rpartition(point)[2]) if point in digits else 0 for _, digits, _ in parts]
        factors = (1, 100) if "%" in after else (1,)
        found += [_number(groups, point, before, after, min(lengths), factor) for factor in factors]
    return found


def _number(groups: str, point: str, before: str, after: str, decimals: int, factor: int) -> Write:
    """At least so many decimals; more where the number has them. `factor` 100: 5 % is 0.05."""

    def write(value: float) -> str:
        value = round(value * factor, 10) if factor > 1 else value
        whole, _, fraction = np.format_float_positional(value, trim="-").partition(".")
        sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
        digits = f"{int(digits):,}".replace(",", groups) if groups else digits
        fraction = fraction.ljust(decimals, "0")
        return f"{before}{sign}{digits}{point if fraction else ''}{fraction}{after}"

    return write


def _date(form: str) -> Write:
    return lambda value: datetime.fromtimestamp(value, UTC).strftime(form)
