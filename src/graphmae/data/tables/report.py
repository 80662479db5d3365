"""What was found in the tables: notes, repairs and problems, all in one report."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...runtime.errors import DataError


@dataclass
class Report:
    """Collected while a graph is made; problems stop it, all of them in one message."""

    name: str
    notes: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def repair(self, text: str) -> None:
        self.repairs.append(text)

    def problem(self, text: str) -> None:
        self.problems.append(text)

    def stop_on_problems(self) -> None:
        """Raise with everything that was found, repairs included: they explain."""
        if not self.problems:
            return
        text = f"{self.name}: " + (self.problems[0] if len(self.problems) == 1 else f"{len(self.problems)} problems")
        if len(self.problems) > 1:
            text += "".join(f"\n  - {problem}" for problem in self.problems)
        raise DataError(text)

    def lines(self) -> list[str]:
        return [*self.notes, *(f"repaired: {text}" for text in self.repairs)]


def count(number: int, what: str, plural: str = "") -> str:
    """'1 edge', '2,000 edges'."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def some(values: list[str], most: int = 3) -> str:
    """'a, b, c, …': enough to find the rest."""
    shown = ", ".join(repr(value) for value in values[:most])
    return f"{shown}, …" if len(values) > most else shown
