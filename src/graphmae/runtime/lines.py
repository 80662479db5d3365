"""Lines of .csv and .tsv files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import Any


class _Returned:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


def line_writer(delimiter: str = ",") -> Callable[[Iterable[Any]], str]:
    r"""A function from the cells of a row to its line, which ends in "\n".

    Cells with an end of a line in them are quoted. A `csv.writer` whose lines end in "\n" may leave a carriage return
    as it is, and whoever reads the file takes it for the end of the line.

    >>> line_writer()(["a", "b, c", "d\re", 1.5])
    'a,"b, c","d\re",1.5\n'
    """
    writer = csv.writer(_Returned(), delimiter=delimiter, lineterminator="\r\n")

    def line(cells: Iterable[Any]) -> str:
        text: Any = writer.writerow(cells)
        return f"{text[:-2]}\n"

    return line
