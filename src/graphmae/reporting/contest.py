"""What `graphmae compare` prints: methods beside each other, and which differences are real."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..results import METHOD_LABELS, ROW_LABELS, deviation, interval
from ..runtime.files import write_json, write_text
from ..runtime.untrusted import read_object
from .comparison import markdown
from .ledger import SIGNIFICANT, p_cell, paired

GROUPS = {
    "baseline": "without training",
    "same": "the same encoder for all",
    "own": "each with its published encoder and settings",
}
COLUMNS = {  # of the first table, as far as there is something to show
    "score": "",
    "links": "links, ROC-AUC",
    "nmi": "clusters, NMI",
    "knn": "k-NN",
}
READINGS = {  # of the second: the same encoders, read in other ways
    "score": "as the recipe reads it",
    "all-layers": "all layers",
    "l2": "rows of length 1",
    "smooth": "averaged over 10 hops, added",
    "converged": "converged probe",
}


@dataclass(frozen=True)
class Line:
    """One method, or a row without training.

    Attributes:
        scores: column → one number per seed.
        seconds, peak_bytes: of one pre-training.
        settings: what the trials on validation chose, of `trials` settings tried.
        problem: why there are no scores, where there are none.
    """

    name: str
    group: str
    scores: dict[str, list[float]] = field(default_factory=dict)
    seconds: float = 0.0
    peak_bytes: int = 0
    settings: list[str] = field(default_factory=list)
    trials: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""

    @property
    def label(self) -> str:
        return METHOD_LABELS.get(self.name, ROW_LABELS.get(self.name) or self.name)

    @property
    def main(self) -> list[float]:
        return self.scores.get("score") or self.scores.get("links") or []


@dataclass(frozen=True)
class Contest:
    """Methods side by side on one data set."""

    data: str
    metric: str
    seeds: list[int]
    lines: list[Line]
    hardware: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Accuracy, links, clusters, time and memory; ± is the deviation, in brackets half the 95 % interval."""
        keys = self._present(COLUMNS)
        titles = {**COLUMNS, "score": self.metric}

        def cells(line: Line) -> list[str]:
            seconds = f"{line.seconds:.1f}" if line.seconds else ""
            size = f"{line.peak_bytes / 1e6:.0f}" if line.peak_bytes else ""
            return [*(_cell(line.scores.get(key, [])) for key in keys), seconds, size]

        return ["", *(titles[key] for key in keys), "seconds", "MB"], self._grouped(self.lines, cells)

    def readings(self) -> tuple[list[str], list[list[str]]]:
        """The same encoders, read in other ways: what published tables often hide."""
        keys = self._present(READINGS)
        lines = [line for line in self.lines if line.group != "baseline" and not line.problem]

        def cells(line: Line) -> list[str]:
            return [_cell(line.scores.get(key, [])) for key in keys]

        return ["", *(READINGS[key] for key in keys)], self._grouped(lines, cells)

    def choices(self) -> list[str]:
        """What the trials on validation chose, and why a method has no scores."""
        out = []
        for line in self.lines:
            if line.problem:
                out.append(f"{line.label} could not be run: {line.problem}")
            elif line.trials:
                chosen = " ".join(line.settings) or "its defaults"
                out.append(f"{line.label}: {chosen}, of {len(line.trials)} settings tried")
        return out

    def _grouped(self, lines: list[Line], cells: Callable[[Line], list[str]]) -> list[list[str]]:
        """Lines of text, every group below its title."""
        out: list[list[str]] = []
        for group, title in GROUPS.items():
            mine = [[f"  {line.label}", *cells(line)] for line in lines if line.group == group]
            out += [[f"{title}:", *[""] * (len(mine[0]) - 1)], *mine] if mine else []
        return out

    def sentences(self) -> list[str]:
        """Which differences are real: the best method against every other line, paired over the seeds."""
        methods = [line for line in self.lines if line.group == "same" and line.main]
        if not methods:
            return []
        best = max(methods, key=lambda line: statistics.fmean(line.main))
        what = self.metric if best.scores.get("score") else "ROC-AUC of links"
        out = [f"With the same encoder {best.label} has the highest {what}: {statistics.fmean(best.main):.1f}."]
        if len(self.seeds) < 2:
            return [*out, "One seed does not say whether that is more than chance: add --seeds 0-4."]
        real, open_ = list[str](), list[str]()
        for line in self.lines:
            if line is best or not line.main or line.group == "own":
                continue
            mean, width, p = paired(best.main, line.main)
            text = f"{line.label} ({mean:+.1f} ± {width:.1f}, p {p_cell(p)})"
            (real if p < SIGNIFICANT and mean > 0 else open_).append(text)
        count = len(self.seeds)
        if real:
            out.append(f"Over these {count} seeds that is more than chance against {', '.join(real)}.")
        if open_:
            out.append(f"Not shown to be better than {', '.join(open_)}.")
        return [
            *out,
            "± is half the 95 % interval of the paired difference; the tests are not corrected for their number.",
        ]

    def text(self) -> str:
        """The tables and sentences in Markdown."""
        tables = [markdown(*self.table())]
        if len(self._present(READINGS)) > 1:
            tables.append(f"The same encoders, read in other ways ({self.metric}):\n\n" + markdown(*self.readings()))
        chosen = "\n".join(f"- {text}" for text in self.choices())
        return (
            "\n\n".join([f"# {self.data}", *tables, *([chosen] if chosen else []), " ".join(self.sentences())]) + "\n"
        )

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sentences": self.sentences()}

    def save(self, folder: Path) -> None:
        """compare.json and compare.md."""
        write_json(folder / "compare.json", self.to_dict())
        write_text(folder / "compare.md", self.text())

    @classmethod
    def load(cls, path: str | Path) -> Contest:
        values = read_object(path)
        values.pop("sentences", None)
        return cls(**{**values, "lines": [Line(**line) for line in values["lines"]]})

    def _present(self, keys: Mapping[str, str]) -> list[str]:
        return [key for key in keys if any(line.scores.get(key) for line in self.lines)]


def _cell(scores: list[float]) -> str:
    if not scores:
        return "–"
    mean = f"{statistics.fmean(scores):.1f}"
    return f"{mean} ± {deviation(scores):.1f} ({interval(scores):.1f})" if len(scores) > 1 else mean
