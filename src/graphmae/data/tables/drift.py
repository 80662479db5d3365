"""Do new tables look like those a model was trained on? What was seen then, in a few numbers, and what has moved.

Everything is measured on features, so what is stored knows levels and words by their position alone. A move is reported
where it is both large and more than chance: bounds hold for all features at once, with probability 1 − CHANCE.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc

from ...runtime.errors import DataError

logger = logging.getLogger("graphmae")
CHANCE = 1e-3
MIN_MOVE = 0.1  # of the rows; smaller moves are not reported, however certain they are
MIN_DEGREE_RATIO = 3.0  # a random half of the rows halves the degrees
MIN_DEGREE_MOVE = 0.15
DEGREES = 64
MOST_LINES = 10


@dataclass(frozen=True)
class Moved:
    """One thing that moved: its `score` goes from 0 to 1, the share of rows that would have to change to undo it."""

    column: str
    measure: str
    before: float
    now: float
    score: float
    sentence: str


@dataclass(frozen=True)
class Drift:
    """What moved between the tables a model was trained on and new ones, the largest move first; false if nothing."""

    rows: tuple[Moved, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Moved]:
        return iter(self.rows)

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "nothing has moved"

    def lines(self) -> list[str]:
        return [row.sentence for row in self.rows]

    def refusal(self) -> str:
        return "the tables are not like those of training:" + "".join(f"\n  - {line}" for line in self.first_lines())

    def warn(self) -> None:
        for line in self.first_lines():
            logger.warning("drift: %s", line)

    def first_lines(self) -> list[str]:
        """The largest moves, and how many there are beside them."""
        lines = self.lines()
        more = [f"and {len(lines) - MOST_LINES:,} more (graphmae drift lists all)"] if len(lines) > MOST_LINES else []
        return lines[:MOST_LINES] + more

    def to_dict(self) -> dict[str, Any]:
        return {"moved": [asdict(row) for row in self.rows]}


@dataclass(frozen=True)
class Bounds:
    """How far chance alone takes what is measured on `before` and on `now` rows, `tests` times."""

    before: int
    now: int
    tests: int

    def of_share(self, before: float, now: float) -> Bounds:
        """For a part of the rows."""
        return Bounds(round(before * self.before), round(now * self.now), self.tests)

    @property
    def spread(self) -> float:
        return 1 / max(self.before, 1) + 1 / max(self.now, 1)

    @property
    def distance(self) -> float:
        """Of two distributions, by their largest gap."""
        return float(np.sqrt(0.5 * np.log(2 * self.tests / CHANCE) * self.spread))

    def share(self, before: Any, now: Any) -> Any:
        """Of two shares."""
        both = (before * self.before + now * self.now) / max(self.before + self.now, 1)
        return np.sqrt(2 * np.log(2 * self.tests / CHANCE) * both * (1 - both) * self.spread) + self.spread

    def is_rare(self, share: float, expected: float) -> bool:
        """Whether as large a share of the new rows is more than chance, where so much was expected."""
        seen = round(share * self.now)
        return seen > 0 and float(bdtrc(seen - 1, self.now, min(expected, 1.0))) < CHANCE / self.tests


def compared(moved: list[Moved], stored: Mapping[str, Any], now: Mapping[str, Any], strict: bool) -> Drift | None:
    """What moved in columns and edges, the largest first; refused if `strict`. None: nothing is stored."""
    before = stored.get("statistics")
    if before is None:
        if strict:
            raise DataError(
                "strict compares tables with those of training, and no model has stored what those were like; "
                "pre-train it again"
            )
        return None
    nodes = Bounds(before["nodes"], now["nodes"], 1)
    found = [*moved, *moved_degrees(before["degrees"], now["degrees"], nodes)]
    if kinds := stored["edge_kinds"]:
        edges = Bounds(before["edges"], now["edges"], len(kinds))
        found += moved_kinds(kinds, before["kinds"], now["kinds"], edges)
    drift = Drift(tuple(sorted(found, key=lambda each: -each.score)))
    if drift and strict:
        raise DataError(drift.refusal())
    return drift


def stored_degrees(edge_index: np.ndarray, nodes: int) -> dict[str, Any]:
    """The number of neighbours of `edge_index` [2, edges], without self-loops: its mean and evenly spaced quantiles."""
    degree = np.sort(np.bincount(edge_index[0], minlength=nodes))
    places = ((np.arange(DEGREES) + 0.5) / DEGREES * nodes).astype(np.int64)
    return {
        "mean": float(f"{degree.mean():.6g}"),
        "quantiles": degree[places].tolist(),
        "none": round(float((degree == 0).mean()), 6),
        "hubs": float(f"{np.linalg.norm(degree) / max(degree.sum(), 1):.4g}"),
    }


def moved_degrees(before: Mapping[str, Any], now: Mapping[str, Any], bounds: Bounds) -> Iterator[Moved]:
    """Three times as many or as few neighbours, or another distribution than a random part of the graph would have.

    For the distribution, the graph with more neighbours is thinned out at random to as many as the other has: a random
    half of the nodes or edges has not moved.
    """
    then, new = float(before["mean"]), float(now["mean"])
    if then == new == 0:
        return
    rate = min(then, new) / max(then, new)
    dense, sparse = (before, now) if then > new else (now, before)
    many, few = np.asarray(dense["quantiles"]), np.asarray(sparse["quantiles"])
    gap = _largest_gap(few, lambda at: bdtr(at[:, None], many[None], rate).mean(1))
    plain_gap = _largest_gap(few, lambda at: (many[None] <= at[:, None]).mean(1))
    # A random half that lacks the nodes with most of the edges has another distribution.
    hubs = float(before["hubs"]) if new < then else 0.0
    fewer = rate <= 1 / MIN_DEGREE_RATIO and plain_gap >= bounds.distance
    if fewer or gap >= max(MIN_DEGREE_MOVE + hubs, bounds.distance):
        yield Moved(
            "edges", "neighbours", then, new, max(gap, 1 - rate),
            f"edges: {new:.3g} neighbours per node where training had {then:.3g}; {now['none']:.0%} of the nodes have "
            f"none where training had {before['none']:.0%}",
        )  # fmt: skip


def _largest_gap(degrees: np.ndarray, up_to: Callable[[np.ndarray], np.ndarray]) -> float:
    """Between the shares of `degrees` up to each of their values, and those of another distribution."""
    at = np.unique(degrees)
    return float(np.abs(up_to(at) - (degrees[None] <= at[:, None]).mean(1)).max())


def moved_kinds(levels: Sequence[str], before: Sequence[float], now: Sequence[float], edges: Bounds) -> Iterator[Moved]:
    """Shares of the kinds of edges."""
    for level, then, new in zip(levels, before, now, strict=True):
        if abs(new - then) >= max(MIN_MOVE, edges.share(then, new)):
            text = f"edges: {level!r} is the kind of {new:.0%} of the edges where training had {then:.0%}"
            yield Moved("edges", str(level), then, new, abs(new - then), text)
