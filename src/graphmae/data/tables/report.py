"""What was found in the tables: notes, repairs and problems, all in one report."""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import dataclass, field

from ...runtime.errors import DataError

logger = logging.getLogger("graphmae")
MOST_COLUMNS, SHOWN = 20, 10  # a table with more columns is shown by its first ones and a count


@dataclass
class Report:
    """Collected while a graph is made; problems stop it, all of them in one message."""

    name: str
    notes: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    columns: list[tuple[str, str, str]] = field(default_factory=list)  # (name, kind, what becomes of it)
    before: int = 0  # notes that come before the columns
    elsewhere: set[str] = field(default_factory=set)  # problems that name their table themselves

    def note(self, text: str) -> None:
        self.notes.append(text)

    def column(self, name: str, kind: str, text: str) -> None:
        self.before = self.before if self.columns else len(self.notes)
        self.columns.append((name, kind, text))

    def repair(self, text: str) -> None:
        self.repairs.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def problem(self, text: str, table: str = "") -> None:
        """`table` is the one it is of, if that is not the one the report is called by."""
        if table and table != self.name:
            text = f"{table}: {text}"
            self.elsewhere.add(text)
        self.problems.append(text)

    def failed(self, error: DataError) -> None:
        """A problem that was raised, with the name of its table in it."""
        self.elsewhere.add(str(error))
        self.problems.append(str(error))

    def stop_on_problems(self) -> None:
        """Raise with everything that was found."""
        if not self.problems:
            return
        if len(self.problems) == 1:
            text = self.problems[0]
            raise DataError(text if text in self.elsewhere else f"{self.name}: {text}")
        listed = "".join(f"\n  - {problem}" for problem in self._few(self.problems))
        raise DataError(f"{self.name}: {len(self.problems)} problems{listed}")

    def log(self) -> None:
        for line in self.lines():
            logger.info("%s", line)
        self.log_warnings()

    def log_warnings(self) -> None:
        for text in self.warnings:
            logger.warning("%s: %s", self.name, text)

    def lines(self) -> list[str]:
        first, rest = self.notes[: self.before], self.notes[self.before :]
        repairs = [f"repaired: {text}" for text in self._few(self.repairs)]
        return [*first, *self._columns(), *self._few(rest), *repairs]

    def _columns(self) -> list[str]:
        shown = self.columns if len(self.columns) <= MOST_COLUMNS else self.columns[:SHOWN]
        lines = [f"  {name:20} {'' if kind == 'ignore' else f'{kind:9} '}{text}" for name, kind, text in shown]
        if rest := self.columns[len(shown) :]:
            kinds = Counter("ignored" if kind == "ignore" else kind for _, kind, _ in rest)
            many = ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())
            lines.append(f"  … and {len(rest):,} more columns: {many}")
        return lines

    def _few(self, texts: list[str]) -> list[str]:
        """As they are, unless there are very many: hundreds of columns may have the same fault."""
        if len(texts) <= MOST_COLUMNS:
            return texts
        return [*texts[:SHOWN], f"… and {len(texts) - SHOWN:,} more like these"]


def toml_key(name: str) -> str:
    """A column's name as a key of TOML, for options that people copy."""
    return name if name.replace("_", "").isalnum() and name.isascii() else json.dumps(name, ensure_ascii=False)


def count(number: int, what: str, plural: str = "") -> str:
    """'1 edge', '2,000 edges'."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def some(values: list[str], most: int = 3) -> str:
    """'a, b, c, …': enough to find the rest."""
    shown = ", ".join(repr(value) for value in values[:most])
    return f"{shown}, …" if len(values) > most else shown
