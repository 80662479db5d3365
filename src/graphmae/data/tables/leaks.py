"""Columns that say what the label says: with one among the features, a score is that of the column.

A column is compared as the features it became, alone and, where several each say a part, together. How well it tells
classes is counted row by row, each row being left out of what tells it: a column with another value in every row tells
nothing. Numbers are compared by their ranks, so that a logarithm or another unit makes no difference. What random
labels would do as well (with a chance of one in a million) is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import gammaln
from scipy.stats import rankdata

from ...runtime.errors import DataError
from .cells import floats
from .columns import Column
from .report import Report, toml_key

TARGET_NAMES = ("target", "targets", "label", "labels", "y", "class", "classes", "outcome")
MAX_ROWS = 4_000  # that are compared, drawn from all rows
MIN_ROWS = 10  # with a label and a value: fewer agree by chance
MAX_CLASSES_AS_NUMBERS = 20  # so many different numbers may be classes; more are numbers, whose order counts
MAX_LOG_CHANCE = float(np.log(1e-6))
MIN_AGREEMENT = 0.95  # of the rows whose class a column tells, before that is reported
MIN_GAIN = 0.6  # of the rows that the most frequent class gets wrong
MIN_PART = 0.97  # of the rows where the class tells a column, before it counts as a part of the label
MIN_PART_GAIN = 0.9
MIN_MONOTONE = 0.99  # rank correlation of a column that says the same as a number
REPEATS = 4  # rows per value on average, below which values are compared by their order
MAX_BINS, ROWS_PER_BIN = 64, 8


@dataclass(frozen=True)
class Leak:
    """Columns that tell the label; `is_same` where one column says just the same, and nobody set its kind."""

    columns: tuple[str, ...]
    sentence: str
    is_same: bool


@dataclass(frozen=True)
class Evidence:
    """What a column has in each row, as one number, and in which rows."""

    column: Column
    values: np.ndarray
    has_value: np.ndarray
    subject: str


def find_leaks(columns: Sequence[Column], x: np.ndarray, y: np.ndarray, label: str) -> list[Leak]:
    """The columns that tell `y` [rows]: names of classes or numbers, which messages call `label`.

    `x` [rows, features] begins with the features of `columns`, one after the other.
    """
    numbers = _as_numbers(y)
    labelled = np.isfinite(numbers).nonzero()[0] if numbers is not None else np.arange(len(y))
    if len(labelled) > MAX_ROWS:
        labelled = np.sort(np.random.default_rng(0).choice(labelled, MAX_ROWS, replace=False))
    if len(labelled) < MIN_ROWS:
        return []
    x, y = x[labelled], y[labelled]
    texts = list(map(str, y))  # no array of texts, which is as wide as the longest
    class_numbers = {text: number for number, text in enumerate(sorted(set(texts)))}
    classes = np.array([class_numbers[text] for text in texts])
    if numbers is not None:
        numbers = numbers[labelled]
        classes = np.unique(numbers, return_inverse=True)[1]
    many, leaks, parts = int(classes.max()) + 1, dict[str, Leak](), list[Evidence]()
    are_numbers = numbers is not None and many > MAX_CLASSES_AS_NUMBERS
    are_classes = many <= max(2, len(y) // 2)
    if many < 2:
        return []
    for evidence in _evidence_of(columns, x, classes, classes if numbers is None else numbers):
        name, rows = evidence.column.name, evidence.has_value
        if rows.sum() < MIN_ROWS or (name in leaks and leaks[name].is_same):
            continue
        leak = None
        if are_classes:
            leak = _compare_classes(evidence, classes[rows], label)
            if leak is None and _is_part(evidence, classes):
                parts.append(evidence)
        if leak is None and are_numbers and numbers is not None:
            leak = _compare_numbers(evidence, numbers[rows], label)
        if leak is not None:
            leaks[name] = leak
    if joint := _compare_together([part for part in parts if part.column.name not in leaks], classes, label):
        leaks[", ".join(joint.columns)] = joint
    return list(leaks.values())


def report_leaks(
    columns: Sequence[Column], x: np.ndarray, y: np.ndarray, label: str, advice: str, report: Report
) -> None:
    """Warn of columns that tell the column `label`; refuse one that says the same, with what to do about it."""
    for leak in find_leaks(columns, x, y, f"the label {label!r}"):
        remedy = set_ignored(leak.columns)
        if leak.is_same:
            raise DataError(
                f"{report.name}: {leak.sentence}, so scores would be those of the column. {advice}: {remedy}. "
                'To keep it as a feature, name its kind there instead of "ignore"'
            )
        text = f"{leak.sentence}. If it is made from the label, leave it out: {remedy}"
        if text not in report.warnings:
            report.warn(text)


def warn_of_targets(columns: Sequence[Column], report: Report) -> None:
    """Warn of features that are called as what is predicted, where no label was named and nobody set their kind."""
    for column in columns:
        if column.name.lower() in TARGET_NAMES and not column.learned.get("kind_was_set"):
            report.warn(
                f"the column {column.name!r} becomes a feature. If it is what you want to predict, keep it out: "
                f"--label {column.name} for classes, {set_ignored([column.name])} for numbers"
            )


def label_values(classes: Sequence[str]) -> np.ndarray:
    """The names of classes as numbers, where all of them are numbers."""
    numbers = floats(pa.chunked_array([pa.array(classes, pa.string())]))
    return np.array(classes, dtype=object) if np.isnan(numbers).any() else numbers


def set_ignored(names: Sequence[str]) -> str:
    """The option that leaves columns out of the features."""
    kinds = ", ".join(f'{toml_key(name)}="ignore"' for name in names)
    return f"--set 'data.kinds={{{kinds}}}'"


def _as_numbers(y: np.ndarray) -> np.ndarray | None:
    if y.dtype == object:
        if any(isinstance(value, str | bytes) for value in y):  # an array of texts is as wide as the longest
            return None
        y = np.asarray(y.tolist())
    if y.dtype.kind in "mM":
        return np.where(np.isnat(y), np.nan, y.astype(np.int64).astype(np.float64))
    return y.astype(np.float64) if y.dtype.kind in "iuf" else None


def _evidence_of(columns: Sequence[Column], x: np.ndarray, classes: np.ndarray, y: np.ndarray) -> Iterator[Evidence]:
    """Every feature that may tell something. Of words and columns of 0 and 1 there may be thousands that do not."""
    begins = np.cumsum([0, *(column.width for column in columns)])
    flags = [number for number, column in enumerate(columns) if column.kind == "boolean" and column.width == 1]
    idle = {flags[i] for i in (~_may_tell(x[:, begins[flags]] != 0, classes, y)).nonzero()[0]} if flags else set()
    for number, column in enumerate(columns):
        if number in idle:
            continue
        block = x[:, begins[number] : begins[number + 1]]
        has_value = np.ones(len(x), dtype=bool)
        if column.learned.get("says_missing"):
            has_value = block[:, -1] == 0
            yield Evidence(column, block[:, -1], np.ones(len(x), dtype=bool), f"whether {column.name!r} is empty")
            block = block[:, :-1]
        subject = f"the column {column.name!r}"
        if column.kind == "category":
            has_value = has_value & block.any(1)
            yield Evidence(column, block.argmax(1), has_value, subject)
        elif column.kind == "text":
            for values in (block != 0).T[_may_tell(block != 0, classes, y)]:
                yield Evidence(column, values, has_value, f"a word of {column.name!r}")
        else:
            for values in block.T:
                yield Evidence(column, values, has_value, subject)


def _may_tell(words: np.ndarray, classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[words]: those that tell classes, that classes tell, or that stand where the numbers `y` are high or low."""
    sizes = np.bincount(classes)
    here = words.T.astype(np.float32) @ np.eye(len(sizes), dtype=np.float32)[classes]  # [words, classes]
    tells = here.max(1) + (sizes - here).max(1)
    tells = (tells - sizes.max()) / (len(y) - sizes.max())
    usual = np.maximum(here.sum(1), len(y) - here.sum(1))
    is_told = (np.maximum(here, sizes - here).sum(1) - usual) / np.maximum(len(y) - usual, 1)
    cuts = np.diff(words[np.argsort(y, kind="stable")], axis=0).sum(0)
    return (np.maximum(tells, is_told) >= MIN_GAIN) | (cuts == 1)


def _compare_classes(evidence: Evidence, classes: np.ndarray, label: str) -> Leak | None:
    values = evidence.values[evidence.has_value]
    groups, y = (np.unique(each, return_inverse=True)[1] for each in (values, classes))
    sizes, class_sizes = np.bincount(groups), np.bincount(y)
    if len(sizes) < 2 or len(class_sizes) < 2:
        return None
    if len(sizes) > len(groups) / REPEATS and evidence.column.kind in ("number", "vector"):
        in_order = y[np.argsort(values, kind="stable")]
        is_cut = (np.diff(in_order) != 0).sum() == len(class_sizes) - 1
        if is_cut and gammaln(len(class_sizes) + 1) - _log_ways(class_sizes) < MAX_LOG_CHANCE:
            return _leak(evidence, f"tells {label} in every row, by where it is cut", False)
        bins = int(np.clip(len(values) // ROWS_PER_BIN, 2, MAX_BINS))
        groups = (rankdata(values, "ordinal") - 1).astype(np.int64) * bins // len(values)
    elif len(sizes) == len(class_sizes) == len(np.unique(groups * len(class_sizes) + y)):
        log_chance = len(class_sizes) * np.log(len(sizes)) - _log_ways(sizes)
        if log_chance < MAX_LOG_CHANCE:
            return _leak(evidence, f"says the same as {label}", True)
    right, gain = _agreement(groups, y)
    if len(y) >= 2 * MIN_ROWS and right >= MIN_AGREEMENT and gain >= MIN_GAIN:
        return _leak(evidence, f"tells {label} in {_percent(right)} of the rows", False)
    return None


def _compare_numbers(evidence: Evidence, y: np.ndarray, label: str) -> Leak | None:
    values = evidence.values[evidence.has_value].astype(np.float64)
    if values.min() == values.max() or y.min() == y.max():
        return None
    is_ordered = evidence.column.kind in ("number", "vector")
    ranks, y_ranks = rankdata(values), rankdata(y)
    if is_ordered:
        correlation = float(np.corrcoef(ranks, y_ranks)[0, 1])
        signed = values * np.sign(correlation)
        in_order = signed[np.lexsort((signed, y))]
        slack = 1e-6 * max(1.0, float(np.abs(values).max()))  # features are rounded to 32 bits
        if abs(correlation) >= MIN_MONOTONE and (np.diff(in_order) >= -slack).all():
            return _leak(evidence, f"says the same as {label}: one rises or falls with the other", True)
    groups = np.unique(values, return_inverse=True)[1]
    sizes = np.bincount(groups)
    if len(sizes) <= len(groups) / REPEATS:
        in_order = groups[np.lexsort((groups, y))]
        is_cut = (np.diff(in_order) != 0).sum() == len(sizes) - 1
        if is_cut and gammaln(len(sizes) + 1) - _log_ways(sizes) < MAX_LOG_CHANCE:
            return _leak(evidence, f"is made from {label} by cutting it into {len(sizes)} ranges", False)
        told = _told_by_groups(groups, y_ranks)
    else:
        told = max(_told_by_order(values, y_ranks), _told_by_order(y, ranks)) if is_ordered else 0.0
    if len(y) >= 2 * MIN_ROWS and told >= MIN_AGREEMENT:
        return _leak(evidence, f"tells {_percent(told)} of the differences in {label}", False)
    return None


def _is_part(evidence: Evidence, classes: np.ndarray) -> bool:
    """Whether the class tells, in nearly every row, which of a few values the column has."""
    rows = evidence.has_value
    groups = np.unique(evidence.values[rows], return_inverse=True)[1]
    sizes = np.bincount(groups)
    if len(sizes) < 2 or len(sizes) > len(groups) / REPEATS or len(groups) - sizes.max() < MIN_ROWS / 2:
        return False
    right, gain = _agreement(np.unique(classes[rows], return_inverse=True)[1], groups)
    return right >= MIN_PART and gain >= MIN_PART_GAIN


def _compare_together(parts: Sequence[Evidence], classes: np.ndarray, label: str) -> Leak | None:
    if len(parts) < 2 or len(classes) < 2 * MIN_ROWS:
        return None
    rows = np.column_stack([np.where(part.has_value, part.values.astype(np.float64), -1e9) for part in parts])
    groups = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    right, gain = _agreement(groups, classes)
    if right < MIN_AGREEMENT or gain < MIN_GAIN:
        return None
    names = list(dict.fromkeys(part.column.name for part in parts))
    shown = ", ".join(repr(name) for name in names[:5]) + (", …" if len(names) > 5 else "")
    subject = f"the columns {shown} together tell" if len(names) > 1 else f"the words of {shown} tell"
    return Leak(tuple(names), f"{subject} {label} in {_percent(right)} of the rows", False)


def _leak(evidence: Evidence, says: str, is_same: bool) -> Leak:
    was_set = bool(evidence.column.learned.get("kind_was_set"))
    return Leak((evidence.column.name,), f"{evidence.subject} {says}", is_same and not was_set)


def _agreement(groups: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(share of the rows whose class is the most frequent of the others in their group, that gain over guessing)."""
    many = int(y.max()) + 1
    pairs, counts = np.unique(groups * many + y, return_counts=True)
    order = np.lexsort((-counts, pairs // many))
    group, counts = (pairs // many)[order], counts[order]
    first = np.flatnonzero(np.r_[True, np.diff(group) != 0])
    second = np.zeros(len(first), dtype=np.int64)
    has_second = np.diff(np.r_[first, len(group)]) > 1
    second[has_second] = counts[first[has_second] + 1]
    right = float(counts[first][counts[first] - 1 > second].sum() / len(y))
    usual = float(np.bincount(y).max() / len(y))
    return right, (right - usual) / max(1 - usual, 1e-12)


def _told_by_groups(groups: np.ndarray, y: np.ndarray) -> float:
    """R² of the mean of the other rows of a group."""
    sizes, sums = np.bincount(groups), np.bincount(groups, weights=y)
    rest = np.maximum(sizes[groups] - 1, 1)
    guess = np.where(sizes[groups] > 1, (sums[groups] - y) / rest, y.mean())
    return 1 - float(((guess - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def _told_by_order(values: np.ndarray, y: np.ndarray) -> float:
    """R² of the mean of the two rows before and the two after, in the order of `values`."""
    if np.ptp(y) == 0:
        return 0.0
    in_order = y[np.argsort(values, kind="stable")]
    inner = in_order[2:-2]
    guess = (in_order[:-4] + in_order[1:-3] + in_order[3:-1] + in_order[4:]) / 4
    return 1 - float(((guess - inner) ** 2).sum() / ((in_order - in_order.mean()) ** 2).sum())


def _log_ways(sizes: np.ndarray) -> float:
    """Logarithm of the number of ways to deal rows to groups of these sizes."""
    return float(gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum())


def _percent(share: float) -> str:
    return f"{min(share, 0.99) if share < 1 else 1:.0%}"
