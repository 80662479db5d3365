"""The charts of the page as figures for papers: PDF and SVG, by matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime.errors import InputError
from ..runtime.files import replacing
from .page import Points, Sheet
from .page.charts import Chart, charts_of, joined
from .page.levels import coded

FORMATS = ("pdf", "svg")
COLOURS = ("#0b62b0", "#c24b00", "#00795a", "#a8328f", "#8a6d00", "#5b46c2",
           "#b3243c", "#2a7f93", "#56752a", "#8d5a3b", "#3f6ad8", "#6b7280")  # fmt: skip
MOST_KINDS = 12
STYLE = {
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e9ec",
    "svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "graphmae",
}  # fmt: skip


def check_installed() -> None:
    """Refuse before any work what would fail in the end."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("figures need matplotlib: pip install 'graphmae[report]'") from None


def write_figures(sheets: Sequence[Sheet], folder: Path) -> list[Path]:
    """Every chart and map of the page in `folder`, as NAME.pdf and NAME.svg; returns the files."""
    check_installed()
    import matplotlib

    files: list[Path] = []
    with matplotlib.rc_context(STYLE):
        for chart in charts_of(sheets):
            files += _saved(folder, chart.id, partial(DRAW[chart.spec["kind"]], chart=chart))
        for number, sheet in enumerate(sheets):
            for name in sheet.points.projections if sheet.points is not None else ():
                files += _saved(folder, f"map-{number}-{name.lower()}", partial(_map, points=sheet.points, name=name))
    return files


def _saved(folder: Path, name: str, draw: Callable[[Any], None]) -> list[Path]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.4), layout="constrained")  # without pyplot: nothing of the caller's is touched
    axes = figure.subplots()
    draw(axes)
    files = [folder / f"{name}.{ending}" for ending in FORMATS]
    for file in files:
        with replacing(file) as unfinished:
            dated = {"CreationDate": None} if file.suffix == ".pdf" else {"Date": None}  # the same bytes every time
            figure.savefig(unfinished, format=file.suffix[1:], metadata=dated)
    return files


def _lines(axes: Any, chart: Chart) -> None:
    spec = chart.spec
    if spec.get("diagonal"):
        axes.plot([0, 1], [0, 1], color="#888888", linestyle="--", linewidth=1)
    for each in spec["series"]:
        values = [np.nan if value is None else value for value in each["y"]]
        axes.plot(
            each["x"], values, color=_colour(each["colour"]), label=_plain(each["name"]), linewidth=1.4,
            marker="o" if spec.get("points") else None, markersize=4,
        )  # fmt: skip
    _labels(axes, spec)
    if len(spec["series"]) > 1:
        axes.legend(frameon=False, fontsize=8)


def _intervals(axes: Any, chart: Chart) -> None:
    rows = chart.spec["rows"][::-1]
    for place, row in enumerate(rows):
        colour = {"method": COLOURS[0], "published": COLOURS[1]}.get(row["kind"], "#565d66")
        if "low" in row:
            axes.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=1.6)
        axes.plot([row["mean"]], [place], "D" if row["kind"] == "published" else "o", color=colour, markersize=5)
    axes.set_yticks(range(len(rows)), [_plain(joined(row["group"], row["label"])) for row in rows])
    _labels(axes, chart.spec)


def _bars(axes: Any, chart: Chart) -> None:
    bars = chart.spec["bars"][::-1]
    axes.barh(range(len(bars)), [bar["value"] for bar in bars], color=COLOURS[0], height=0.7)
    axes.plot(
        [bar["mark"] for bar in bars], range(len(bars)), "|", color="black", markersize=11, label=chart.spec["mark"]
    )
    axes.set_yticks(range(len(bars)), [_plain(bar["label"]) for bar in bars])
    axes.set_xlim(0, 100)
    axes.legend(frameon=False, fontsize=8)
    _labels(axes, chart.spec)


def _histogram(axes: Any, chart: Chart) -> None:
    spec = chart.spec
    axes.bar(spec["edges"][:-1], spec["counts"], np.diff(spec["edges"]), align="edge", color=COLOURS[0])
    axes.axvline(spec["middle"], color="black", linewidth=1.2, label="median")
    axes.legend(frameon=False, fontsize=8)
    _labels(axes, spec)


def _scatter(axes: Any, chart: Chart) -> None:
    x, y = (np.asarray(chart.spec["marks"][key], dtype=float) for key in ("x", "y"))
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    axes.plot(ends, ends, color="#888888", linestyle="--", linewidth=1)
    axes.scatter(x, y, s=8, color=COLOURS[0], alpha=0.55, linewidths=0, rasterized=len(x) > 1000)
    _labels(axes, chart.spec)


DRAW: dict[str, Callable[..., None]] = {
    "lines": _lines, "intervals": _intervals, "bars": _bars, "histogram": _histogram, "scatter": _scatter,
}  # fmt: skip


def _map(axes: Any, points: Points | None, name: str) -> None:
    """Coloured by the first column of kinds; points are one picture inside of the drawing, so that files stay small."""
    assert points is not None
    rows = points.projections[name]
    there = np.isfinite(rows).all(axis=1)
    facet = next((each for each in points.facets if each.kind == "category"), None)
    texts = [None] * len(rows) if facet is None else [None if v is None else str(v) for v in facet.values]
    levels, codes = coded(texts)
    size = max(1.5, 1200 / max(1, len(rows)) ** 0.75)
    for code in range(min(len(levels), MOST_KINDS)):
        mine = there & (codes == code)
        axes.scatter(*rows[mine].T, s=size, color=_colour(code), linewidths=0, alpha=0.85, label=_plain(levels[code]),
                     rasterized=True)  # fmt: skip
    rest = there & (codes >= min(len(levels), MOST_KINDS))
    axes.scatter(*rows[rest].T, s=size, color="#c9ced4", linewidths=0, rasterized=True, zorder=0)
    axes.set(xticks=[], yticks=[], title=name, aspect="equal")
    axes.grid(False)
    if levels:
        axes.legend(frameon=False, fontsize=7, markerscale=3, loc="center left", bbox_to_anchor=(1, 0.5),
                    title=_plain(facet.name) if facet is not None else None)  # fmt: skip


def _labels(axes: Any, spec: dict[str, Any]) -> None:
    axes.set_xlabel(spec["x"])
    if "y" in spec and isinstance(spec["y"], str):
        axes.set_ylabel(spec["y"])


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _plain(text: str) -> str:
    """Text that matplotlib does not take for a formula, nor for a label to hide."""
    return text.replace("\\", "\\\\").replace("$", r"\$").removeprefix("_") or " "
