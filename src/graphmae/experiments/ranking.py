"""Tables that are sorted part by part, merged into one."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import numpy as np

from ..runtime.files import replacing
from ..runtime.lines import line_writer

MOST_OPEN = 256  # files that are merged at a time: a process may hold only so many open


@dataclass(frozen=True)
class Order:
    """By which target rows are sorted, which come first, and how many of them are wanted; 0: all."""

    target: int
    descending: bool = True
    top: int = 0

    def of(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the keys of [n, T] predictions in ascending order, their rows); what is not a molecule comes last."""
        keys = values[:, self.target] * np.float32(-1 if self.descending else 1)
        keys = np.where(np.isnan(keys), np.float32(np.inf), keys)
        rows = np.argsort(keys, kind="stable")[: self.top or None].astype(np.int32)
        return keys[rows], rows


@dataclass(frozen=True)
class Sorted:
    """A file whose lines are sorted: those of rows with predictions `values` [n, T], of which the first one is the row
    `first` of the whole table. Of `top` rows that are wanted it may hold no more."""

    path: Path
    values: np.ndarray
    first: int

    def lines(self, order: Order, delimiter: str) -> Iterator[tuple[float, int, str]]:
        """(what it is sorted by, which row of the whole table it is, the line)."""
        keys, rows = order.of(self.values)
        with self.path.open(encoding="utf-8", newline="") as file:
            records = csv.reader(file, delimiter=delimiter)  # a cell may hold the end of a line
            line = line_writer(delimiter)
            for key, row, record in zip(keys, rows, records, strict=True):  # one at a time: as lists they are large
                yield float(key), self.first + int(row), line(record)


def merged(files: Sequence[Sorted], order: Order, delimiter: str, folder: Path) -> Iterator[str]:
    """The lines of all `files`, sorted; of very many, some are first merged into files in `folder`."""
    for step in count():
        if len(files) <= MOST_OPEN:
            break
        cuts = range(0, len(files), MOST_OPEN)
        joins = [(folder / f"joined-{step}-{cut}.csv", files[cut : cut + MOST_OPEN]) for cut in cuts]
        files = [_join(path, some, order, delimiter) for path, some in joins]
    yield from _merge(files, order, delimiter)


def _merge(files: Sequence[Sorted], order: Order, delimiter: str) -> Iterator[str]:
    lines = heapq.merge(*(file.lines(order, delimiter) for file in files))
    yield from (line for _, _, line in islice(lines, order.top or None))


def _join(path: Path, files: Sequence[Sorted], order: Order, delimiter: str) -> Sorted:
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as out:
        out.writelines(_merge(files, order, delimiter))
    return Sorted(path, np.concatenate([file.values for file in files]), files[0].first)
