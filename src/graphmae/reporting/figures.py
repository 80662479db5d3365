"""Curves as SVG, written by hand: the same bytes wherever they are made, so a test can compare them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..results import interval
from .ledger import Entry, read_ledger
from .paper import ABLATION_SETS, GAMMAS, GRAPH_SETS, MASK_RATES, NO_DECAY, NODE_SETS

WIDTH, HEIGHT = 240, 190
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 26, 34
COLOUR = "#2563a8"
OTHER_COLOUR = "#b26a00"


@dataclass(frozen=True)
class Curve:
    """One panel: means with their 95 % intervals.

    Attributes:
        points: (x, mean, half the interval).
        marked: the x of the published setting.
        seeds: how many there are for each point.
        others: the same without weight decay, where it was run.
    """

    title: str
    points: Sequence[tuple[float, float, float]]
    marked: float
    seeds: int
    others: Sequence[tuple[float, float, float]] = ()


def figures(results: Path) -> dict[str, str]:
    """File name → SVG, for the mask rate and for γ."""
    marks = {"rate": (0.5, 0.75, 0.75, 0.5), "gamma": (3, 3, 2, 1)}
    out = {}
    for kind, values, label in (("rate", MASK_RATES, "mask rate"), ("gamma", GAMMAS, "γ")):
        curves = []
        for name, mark in zip(ABLATION_SETS, marks[kind], strict=True):
            ledger = read_ledger(results / f"ablation-{name}.json")
            keys = {float(value): f"{kind}-{value}" for value in values}
            points, others = (
                [(x, *_mean(ledger[key + ending])) for x, key in keys.items() if key + ending in ledger]
                for ending in ("", NO_DECAY)
            )
            seeds = max((len(ledger[key].scores()) for key in keys.values() if key in ledger), default=0)
            curves.append(Curve({**NODE_SETS, **GRAPH_SETS}[name], points, mark, seeds, others))
        out[f"ablation-{kind}.svg"] = svg(curves, label, [float(value) for value in values])
    return out


def _mean(entry: Entry) -> tuple[float, float]:
    scores = entry.scores()
    return statistics.fmean(scores), interval(scores) if len(scores) > 1 else 0.0


def svg(curves: Sequence[Curve], label: str, ticks: Sequence[float]) -> str:
    """Panels side by side; `ticks` are the marks of the x axis, the same for all."""
    size = f'width="{WIDTH * len(curves)}" height="{HEIGHT}" viewBox="0 0 {WIDTH * len(curves)} {HEIGHT}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="10">']
    parts.append(f'<rect width="{WIDTH * len(curves)}" height="{HEIGHT}" fill="white"/>')
    for number, curve in enumerate(curves):
        parts.append(f'<g transform="translate({number * WIDTH} 0)">{_panel(curve, label, ticks)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(curve: Curve, label: str, ticks: Sequence[float]) -> str:
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    drawn = [*curve.points, *curve.others]
    lows = [mean - width for _, mean, width in drawn] or [0.0]
    highs = [mean + width for _, mean, width in drawn] or [1.0]
    bottom, top = min(lows), max(highs)
    margin = max(0.05 * (top - bottom), 0.5)
    bottom, top = bottom - margin, top + margin

    def x(value: float) -> float:
        return LEFT + inner_width * (value - ticks[0]) / (ticks[-1] - ticks[0])

    def y(value: float) -> float:
        return TOP + inner_height * (top - value) / (top - bottom)

    seeds = f"{curve.seeds} seeds" if curve.points else "not run yet"
    out = [
        f'<text x="{LEFT}" y="15" font-size="12" font-weight="bold">{escape(curve.title)}'
        f'<tspan font-weight="normal" fill="#666"> · {seeds}</tspan></text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{inner_width}" height="{inner_height}" fill="none" stroke="#bbb"/>',
        f'<text x="{LEFT + inner_width / 2:.0f}" y="{HEIGHT - 5}" text-anchor="middle">{escape(label)}</text>',
    ]
    for tick in ticks:
        out.append(f'<text x="{x(tick):.1f}" y="{HEIGHT - 19}" text-anchor="middle" fill="#444">{tick:g}</text>')
    if not curve.points:
        return "".join(out)
    for step in range(4):
        value = bottom + (top - bottom) * (step + 0.5) / 4
        out.append(f'<text x="{LEFT - 5}" y="{y(value) + 3:.1f}" text-anchor="end" fill="#444">{value:.1f}</text>')
        line = f'x1="{LEFT}" x2="{LEFT + inner_width}" y1="{y(value):.1f}" y2="{y(value):.1f}"'
        out.append(f'<line {line} stroke="#eee"/>')
    line = f'x1="{x(curve.marked):.1f}" x2="{x(curve.marked):.1f}" y1="{TOP}" y2="{TOP + inner_height}"'
    out.append(f'<line {line} stroke="#c33" stroke-dasharray="3 3"/>')
    for points, colour in ((curve.others, OTHER_COLOUR), (curve.points, COLOUR)):
        band = [(at, mean + width) for at, mean, width in points]
        band += [(at, mean - width) for at, mean, width in reversed(points)]
        line = _path([(at, mean) for at, mean, _ in points], x, y)
        if points:
            out.append(f'<polygon points="{_path(band, x, y)}" fill="{colour}" fill-opacity="0.15"/>')
            out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out += [f'<circle cx="{x(at):.1f}" cy="{y(mean):.1f}" r="2.5" fill="{colour}"/>' for at, mean, _ in points]
    if curve.others:
        out.append(f'<text x="{LEFT + 5}" y="{TOP + inner_height - 6}" fill="{OTHER_COLOUR}">no weight decay</text>')
    return "".join(out)


def _path(points, x, y):  # type: ignore[no-untyped-def]
    return " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in points)
