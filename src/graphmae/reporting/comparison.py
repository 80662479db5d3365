"""What `graphmae reproduce` prints: every experiment next to the published number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .ledger import Entry, cell, compared, published_cell, read_ledger
from .paper import Experiment

HEADER = ("experiment", "seeds", "ours ± deviation (95 %)", "published", "difference", "verdict", "hardware", "time")


@dataclass(frozen=True)
class Comparison:
    """Experiments of one table, and what the ledger has of them."""

    rows: tuple[tuple[Experiment, Entry | None], ...]

    @classmethod
    def of(cls, experiments: Sequence[Experiment], results: Path) -> Comparison:
        return cls(tuple((e, read_ledger(results / e.file).get(e.name)) for e in experiments))

    def lines(self) -> list[list[str]]:
        found = []
        for experiment, entry in self.rows:
            name = f"{experiment.group}, {experiment.name}"
            if entry is None or entry.unavailable:
                reason = "not run" if entry is None else entry.unavailable
                found.append([name, "", "–", "", "", reason, "", ""])
                continue
            scores = entry.scores()
            difference, width, verdict = compared(scores, entry.published)
            gap = (
                "–"
                if math.isnan(difference)
                else f"{difference:+.2f}" + ("" if math.isnan(width) else f" ± {width:.2f}")
            )
            found.append(
                [
                    name,
                    str(len(entry.seeds)),
                    cell(scores),
                    published_cell(entry.published),
                    gap,
                    verdict,
                    entry.hardware,
                    f"{entry.seconds:.0f} s",
                ]
            )
        return found

    def text(self) -> str:
        """The table in Markdown."""
        return markdown(list(HEADER), self.lines())

    def as_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            f"{e.group}/{e.name}": dict(zip(HEADER[1:], line[1:], strict=True))
            for (e, _), line in zip(self.rows, self.lines(), strict=True)
        }


def markdown(header: list[str], lines: list[list[str]]) -> str:
    """A table whose columns line up."""
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    rows = [header, ["-" * width for width in widths], *lines]
    return (
        "\n".join("| " + " | ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) + " |" for row in rows)
        + "\n"
    )
