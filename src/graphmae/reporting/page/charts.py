"""What is drawn: every chart as numbers for the script, a sentence for screen readers, and a table behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...results import shown
from .levels import MOST_KINDS, ordered
from .predictions import calibration, number_errors, roc_curve
from .sheet import Curve, Points, Prediction, Score, Sheet, Spectrum, Table

MOST_STEPS = 300  # of a line
MOST_LINES = 10  # of one run
MOST_TARGETS = 12
MOST_MARKS = 2000  # of a scatter plot
MOST_ROWS = 60  # of a table behind a line
BINS = 40


@dataclass(frozen=True)
class Chart:
    """Attributes:
    section: where on the page it stands.
    summary: what a person hears who cannot see it.
    spec: what the script draws; `kind` is lines, intervals, bars, histogram or scatter.
    table: the numbers.
    """

    id: str
    section: str
    title: str
    summary: str
    spec: dict[str, Any]
    table: Table


def charts_of(sheets: Sequence[Sheet]) -> list[Chart]:
    """All charts of a page but the maps."""
    return [
        *_curve_charts(sheets),
        *_score_charts(sheets),
        *_spectrum_chart(sheets),
        *(
            _titled(chart, sheet.name if len(sheets) > 1 else "")
            for number, sheet in enumerate(sheets)
            for chart in (*_point_charts(number, sheet), *_prediction_charts(number, sheet))
        ),
    ]


def _titled(chart: Chart, run: str) -> Chart:
    """With the run's name in front, where there are several."""
    return replace(chart, title=f"{run}: {chart.title}") if run else chart


def _curve_charts(sheets: Sequence[Sheet]) -> Iterator[Chart]:
    titles = {"loss": ("Loss", "loss"), "lr": ("Learning rate", "learning rate")}
    for key, (title, label) in titles.items():
        series, ends = [], []
        for number, sheet in enumerate(sheets):
            curves = [curve for curve in sheet.curves if key in curve.values][:MOST_LINES]
            for place, curve in enumerate(curves):
                name = joined(sheet.name if len(sheets) > 1 else "", curve.name if len(curves) > 1 else "") or title
                colour = number if len(sheets) > 1 else place
                some = _some(len(curve.epochs), MOST_STEPS)
                values = [float(curve.values[key][i]) for i in some]
                series.append({"name": name, "colour": colour, "x": [curve.epochs[i] for i in some], "y": values})
                ends.append((name, curve, values))
        if not series:
            continue
        said = "; ".join(f"{name}: from {values[0]:.4g} to {values[-1]:.4g}" for name, _, values in ends[:4])
        spec = {"kind": "lines", "x": "epoch", "y": label, "series": series}
        yield Chart(key, "training", title, f"{title} by epoch. {said}.", spec, _curve_table(title, key, ends))


def _curve_table(title: str, key: str, lines: Sequence[tuple[str, Curve, list[float]]]) -> Table:
    epochs = sorted({epoch for _, curve, _ in lines for epoch in curve.epochs})
    rows = []
    for i in _some(len(epochs), MOST_ROWS):
        cells = []
        for _, curve, _ in lines:
            at = dict(zip(curve.epochs, curve.values[key], strict=True)).get(epochs[i])
            cells.append("" if at is None or math.isnan(at) else f"{at:.5g}")
        rows.append([str(epochs[i]), *cells])
    return Table(title, ["epoch", *(name for name, _, _ in lines)], rows)


def _score_charts(sheets: Sequence[Sheet]) -> Iterator[Chart]:
    """One for every metric, so that numbers on one axis mean the same."""
    metrics = list(dict.fromkeys(sheet.metric for sheet in sheets if sheet.scores))
    for place, metric in enumerate(metrics):
        rows, lines = list[dict[str, Any]](), []
        for sheet in sheets:
            if sheet.metric != metric:
                continue
            for score in sheet.scores:
                group = joined(sheet.name if len(sheets) > 1 else "", score.group)
                width = score.interval
                row = {
                    "label": score.label,
                    "mean": score.mean,
                    "text": shown(score.mean, metric),
                    "kind": score.kind,
                    "group": group,
                }
                rows.append(row if width is None else {**row, "low": score.mean - width, "high": score.mean + width})
                lines.append([joined(group, score.label), *_score_cells(score, metric)])
        best = max((row for row in rows if row["kind"] == "method"), key=lambda row: row["mean"], default=rows[0])
        unit = metric if metric == "rmse" else f"{metric}, %"
        several = any("low" in row for row in rows if row["kind"] != "published")
        lines_say = "Lines are 95 % intervals of the mean." if several else "One seed gives no interval."
        said = f"{best['label']}: {best['text']}. {lines_say}"
        table = Table(f"Scores, {metric}", ["", "mean", "95 % interval", "seeds"], lines)
        yield Chart(f"scores-{place}", "scores", f"Scores: {metric}", said,
                    {"kind": "intervals", "x": unit, "rows": rows}, table)  # fmt: skip


def _score_cells(score: Score, metric: str) -> list[str]:
    half = "–" if score.interval is None else f"± {shown(score.interval, metric)}"
    return [shown(score.mean, metric), half, str(score.seeds)]


def _spectrum_chart(sheets: Sequence[Sheet]) -> Iterator[Chart]:
    there: list[tuple[int, Sheet, Spectrum]] = [(i, s, s.spectrum) for i, s in enumerate(sheets) if s.spectrum]
    if not there:
        return
    series = []
    for number, sheet, spectrum in there:
        total = np.cumsum(spectrum.shares)
        some = _some(len(total), MOST_STEPS)
        name = sheet.name if len(sheets) > 1 else "embedding"
        series.append(
            {"name": name, "colour": number, "x": [i + 1 for i in some], "y": [100 * float(total[i]) for i in some]}
        )
    lines = [
        [sheet.name, str(s.width), f"{s.effective_rank:.1f}", *(f"{_needed(s, share)}" for share in (0.5, 0.9, 0.99))]
        for _, sheet, s in there
    ]
    said = "; ".join(
        joined(sheet.name if len(sheets) > 1 else "", f"effective rank {s.effective_rank:.1f} of {s.width}")
        for _, sheet, s in there
    )
    head = ["", "width", "effective rank", "directions for 50 %", "for 90 %", "for 99 % of the variance"]
    spec = {"kind": "lines", "x": "directions, the largest first", "y": "share of the variance, %", "series": series,
            "from": 0, "to": 100}  # fmt: skip
    yield Chart(
        "spectrum", "quality", "Directions the embedding uses", said + ".", spec, Table("Effective rank", head, lines)
    )


def _needed(spectrum: Spectrum, share: float) -> int:
    total = np.cumsum(spectrum.shares)
    return int(np.searchsorted(total, share * total[-1] - 1e-9)) + 1 if len(total) else 0


def _point_charts(number: int, sheet: Sheet) -> Iterator[Chart]:
    if (points := sheet.points) is None:
        return
    for place, purity in enumerate(points.purity):
        order = {name: place for place, name in enumerate(ordered({name: n for name, n, *_ in purity.levels}))}
        levels = sorted(purity.levels, key=lambda level: order[level[0]])
        bars = [
            {"label": name, "value": 100 * share, "mark": 100 * chance, "colour": min(order[name], MOST_KINDS)}
            for name, _, share, chance in levels
        ]
        lines = [[name, f"{n:,}", percent(share), percent(chance)] for name, n, share, chance in levels]
        said = (
            f"Of the {purity.k} nearest neighbours of a {points.what}, {percent(purity.mean)} have the same "
            f"{purity.facet}; by chance it would be {percent(purity.chance)}."
        )
        spec = {"kind": "bars", "x": "neighbours of the same kind, %", "bars": bars, "mark": "by chance"}
        head = [purity.facet, f"{points.what}s", "same kind", "by chance"]
        yield Chart(f"purity-{number}-{place}", "quality", f"Neighbourhood purity by {purity.facet}", said, spec,
                    Table("Neighbourhood purity", head, lines))  # fmt: skip
    if points.errors is not None and np.isfinite(points.errors).any():
        yield _histogram(f"errors-{number}", points)


def _histogram(name: str, points: Points) -> Chart:
    assert points.errors is not None
    known = points.errors[np.isfinite(points.errors)]
    low, high = float(known.min()), float(known.max())
    counts, edges = np.histogram(known, BINS, (low, high if high > low else low + 1))
    middle = float(np.median(known))
    lines = [[f"{a:.3g} – {b:.3g}", f"{c:,}"] for a, b, c in zip(edges[:-1], edges[1:], counts.tolist(), strict=True)]
    said = (
        f"Reconstruction errors of {len(known):,} {points.what}s: half are below {middle:.3g}, "
        f"a tenth above {np.quantile(known, 0.9):.3g}."
    )
    spec = {"kind": "histogram", "x": "reconstruction error, 1 − cosine", "y": f"{points.what}s",
            "edges": edges.tolist(), "counts": counts.tolist(), "middle": middle}  # fmt: skip
    table = Table("Reconstruction errors", ["error", f"{points.what}s"], lines)
    return Chart(name, "quality", "Reconstruction error", said, spec, table)


def _prediction_charts(number: int, sheet: Sheet) -> Iterator[Chart]:
    classes = [p for p in sheet.predictions if p.kind == "classification" and 0 < (p.measured == 1).mean() < 1]
    if classes:
        yield from _class_charts(number, classes[:MOST_TARGETS])
    for place, each in enumerate([p for p in sheet.predictions if p.kind == "regression"][:MOST_TARGETS]):
        errors = number_errors(each.measured, each.predicted)
        some = _some(len(each.measured), MOST_MARKS)
        said = ", ".join(f"{key} {value:.3g}" for key, value in errors.items())
        spec = {"kind": "scatter", "x": "measured", "y": "predicted", "square": True,
                "marks": {"x": each.measured[some].tolist(), "y": each.predicted[some].tolist()}}  # fmt: skip
        lines = [[f"{each.measured[i]:.4g}", f"{each.predicted[i]:.4g}"] for i in some[:MOST_ROWS]]
        yield Chart(f"numbers-{number}-{place}", "predictions", f"{each.target}: predicted against measured",
                    f"{len(each.measured):,} test molecules: {said}.", spec,
                    Table(f"{each.target}, the first test molecules", ["measured", "predicted"], lines))  # fmt: skip


def _class_charts(number: int, classes: Sequence[Prediction]) -> Iterator[Chart]:
    roc, marks, areas, wrong = [], [], [], []
    for colour, each in enumerate(classes):
        false, true, area = roc_curve(each.measured, each.predicted)
        bins = calibration(each.measured, each.predicted)
        roc.append({"name": each.target, "colour": colour, "x": false.tolist(), "y": true.tolist()})
        marks.append({"name": each.target, "colour": colour, "x": bins.predicted.tolist(), "y": bins.observed.tolist(),
                      "size": bins.counts.tolist()})  # fmt: skip
        share = float((each.measured == 1).mean())
        areas.append([each.target, f"{area:.3f}", f"{len(each.measured):,}", percent(share)])
        wrong += [
            [each.target, f"{p:.2f}", f"{o:.2f}", f"{c:,}"]
            for p, o, c in zip(bins.predicted, bins.observed, bins.counts, strict=True)
        ]
    unit = {"from": 0, "to": 1, "left": 0, "right": 1, "diagonal": True, "square": True}
    said = "; ".join(f"{name}: area {area}" for name, area, *_ in areas)
    yield Chart(f"roc-{number}", "predictions", "ROC on test molecules", said + ".",
                {"kind": "lines", "x": "false positive rate", "y": "true positive rate", "series": roc, **unit},
                Table("ROC", ["target", "ROC-AUC", "test molecules", "of class 1"], areas))  # fmt: skip
    yield Chart(f"calibration-{number}", "predictions", "Calibration on test molecules",
                "On the diagonal, a predicted probability is the share that was measured as class 1.",
                {"kind": "lines", "points": True, "x": "predicted probability", "y": "share of class 1",
                 "series": marks, **unit},
                Table("Calibration", ["target", "predicted", "measured", "molecules"], wrong))  # fmt: skip


def percent(share: float) -> str:
    """
    >>> percent(0.724)
    '72 %'
    """
    return f"{100 * share:.0f} %"


def _some(count: int, most: int) -> list[int]:
    """Positions spread evenly, the first and the last among them."""
    return (
        list(dict.fromkeys(np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist())) if count else []
    )


def joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
