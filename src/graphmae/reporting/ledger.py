"""The ledger: one file for each table and data set, every experiment's scores by seed, and the commit that made them.

{"experiments": {"published": {"recipe", "changes", "rule", "metric", "published", "commit", "hardware", "seconds",
                               "peak_bytes", "seeds": [0, …], "rows": {"pretrained": {"folds": [88.3, …]}},
                               "folds": {"pretrained": [{…} per seed]}}}}
"""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..results import Result, deviation, interval
from ..runtime.files import write_text
from ..runtime.untrusted import read_object
from .paper import Experiment

SIGNIFICANT = 0.05
WIDE = 2.0  # points: an interval this wide agrees with nearly everything


@dataclass(frozen=True)
class Entry:
    """One experiment's part of the ledger.

    Attributes:
        rows: row → rule or check → one score per seed.
        folds: row → for every seed, what its ten folds chose and scored.
        unavailable: why there is no result, where there is none.
    """

    recipe: str
    changes: list[str] = field(default_factory=list)
    rule: str = ""
    metric: str = "accuracy"
    published: dict[str, Any] | None = None
    commit: str = ""
    hardware: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    peak_bytes: int = 0
    seeds: list[int] = field(default_factory=list)
    rows: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    folds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    note: str = ""
    unavailable: str = ""

    def scores(self, row: str = "", rule: str = "") -> list[float]:
        """One score per seed; empty where there are none."""
        row = row or ("pretrained" if "pretrained" in self.rows else "supervised")
        return self.rows.get(row, {}).get(rule or self.rule, [])

    def mean(self, row: str = "", rule: str = "") -> float:
        return statistics.fmean(self.scores(row, rule))


def entry_of(experiment: Experiment, result: Result, seconds: float | None = None) -> Entry:
    """What the ledger keeps of a result."""
    rows: dict[str, dict[str, list[float]]] = {}
    for row in result.runs[0]["rows"]:
        keys = result.runs[0]["rows"][row]
        rows[row] = {key: [round(value, 4) for value in result.column(row, key)] for key in keys}
    kept = result.runs[0].get("folds", {}) if experiment.table == "graph" else {}
    folds = {row: [run["folds"][row] for run in result.runs] for row in kept}
    return Entry(
        recipe=experiment.recipe,
        changes=experiment.settings,
        rule=result.rule,
        metric=result.metric,
        published=result.published,
        commit=result.commit,
        hardware=result.hardware,
        versions=result.versions,
        seconds=round(result.seconds if seconds is None else seconds, 1),
        peak_bytes=result.peak_bytes,
        seeds=result.seeds,
        rows=rows,
        folds=folds,
    )


def read_ledger(path: str | Path) -> dict[str, Entry]:
    """Experiment name → entry; empty where there is no file."""
    if not Path(path).is_file():
        return {}
    return {name: Entry(**values) for name, values in read_object(path)["experiments"].items()}


def write_ledger(path: str | Path, entries: dict[str, Entry]) -> None:
    """Sorted by name, a list of scores on one line."""
    plain = {
        name: {k: v for k, v in asdict(entry).items() if v or k == "rows"} for name, entry in sorted(entries.items())
    }
    text = json.dumps({"experiments": plain}, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda match: "[" + re.sub(r",\s+", ", ", match[1]) + "]", text)
    write_text(path, text + "\n")


def cell(scores: list[float], digits: int = 2) -> str:
    """Mean ± deviation (half the 95 % interval of the mean)."""
    if not scores:
        return "–"
    mean = f"{statistics.fmean(scores):.{digits}f}"
    return f"{mean} ± {deviation(scores):.{digits}f} ({interval(scores):.{digits}f})" if len(scores) > 1 else mean


def p_cell(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def published_cell(published: dict[str, Any] | None) -> str:
    if not published:
        return "–"
    std = published.get("std")
    return f"{published['mean']:g}" + (f" ± {std:g}" if std else "")


def compared(ours: list[float], published: dict[str, Any] | None) -> tuple[float, float, str]:
    """(difference from the published mean, half its 95 % interval, a verdict).

    The interval allows for our seeds, and for the published ones where their deviation is known.
    """
    if not published or not ours:
        return float("nan"), float("nan"), "no published number"
    difference = statistics.fmean(ours) - published["mean"]
    theirs = 1.96 * published.get("std", 0.0) / max(published.get("seeds", 1), 1) ** 0.5
    width = (interval(ours) ** 2 + theirs**2) ** 0.5
    if len(ours) < 2:
        return difference, float("nan"), "one seed: no verdict"
    verdict = "reproduced" if abs(difference) <= width else "above" if difference > 0 else "below"
    if verdict == "reproduced" and width > WIDE:
        verdict = "too few seeds to tell"
    return difference, width, verdict


def paired(ours: list[float], others: list[float]) -> tuple[float, float, float]:
    """(mean difference, half its 95 % interval, p of a paired t-test) over the same seeds."""
    differences = [a - b for a, b in zip(ours, others, strict=False)]  # both lists count their seeds from 0
    if len(differences) < 2:
        return statistics.fmean(differences) if differences else float("nan"), float("nan"), 1.0
    if deviation(differences) == 0:
        return differences[0], 0.0, 0.0 if differences[0] else 1.0
    from scipy.special import stdtr

    mean, count = statistics.fmean(differences), len(differences)
    t = mean / (deviation(differences) / count**0.5)
    return mean, interval(differences), 2 * float(stdtr(count - 1, -abs(t)))


def nested(folds: list[list[dict[str, Any]]]) -> list[float]:
    """One score per seed where every fold takes, of several experiments, what is best on its inner folds.

    `folds`: for every experiment, one entry per seed; fold k of a seed is the same division everywhere.
    """
    scores = []
    for experiments in zip(*folds, strict=False):
        taken = []
        for k in range(len(experiments[0]["chosen-test"])):
            best = max(experiments, key=lambda seed: seed["chosen-inner"][k])
            taken.append(best["chosen-test"][k])
        scores.append(statistics.fmean(taken))
    return scores
