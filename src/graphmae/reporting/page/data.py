"""What the scripts of the page read: charts and maps as one JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .charts import Chart
from .levels import coded
from .pack import packed, quantised, whole_numbers
from .sheet import Facet, Points, Sheet

LONGEST = 200  # characters of a text


def page_data(sheets: Sequence[Sheet], charts: Sequence[Chart]) -> dict[str, Any]:
    """{"charts": {id: spec}, "maps": {number of the run: …}}."""
    maps = {str(number): {"name": s.name, **_map(s.points)} for number, s in enumerate(sheets) if s.points}
    return {"charts": {chart.id: chart.spec for chart in charts}, "maps": maps}


def _map(points: Points) -> dict[str, Any]:
    out: dict[str, Any] = {
        "what": points.what,
        "ids": [short(text) for text in points.ids],
        "projections": {name: packed(quantised(rows)) for name, rows in points.projections.items()},
        "facets": [_facet(facet) for facet in points.facets],
        "neighbours": packed(whole_numbers(points.neighbours)),
        "similarity": packed(np.rint(127 + 127 * np.clip(points.similarity, -1, 1)).astype(np.uint8)),
    }
    if points.errors is not None:
        out["errors"] = packed(points.errors.astype(np.float32))
    if points.drawings:
        ends = np.cumsum([len(each) for each in points.drawings], dtype=np.int64)
        out["drawings"] = {
            "ends": packed(ends.astype(np.uint32)),
            "bytes": packed(np.frombuffer(b"".join(points.drawings), dtype=np.uint8)),
            "symbols": list(points.symbols),
        }
    return out


def _facet(facet: Facet) -> dict[str, Any]:
    out: dict[str, Any] = {"name": short(facet.name), "kind": facet.kind}
    if facet.kind == "number":
        return {**out, "values": packed(np.asarray(facet.values, dtype=np.float32))}
    if facet.kind == "text":
        return {**out, "values": [None if value is None else short(str(value)) for value in facet.values]}
    texts = [None if value is None else str(value) for value in facet.values]
    levels, codes = coded(texts)
    return {**out, "levels": [short(level) for level in levels], "codes": packed(whole_numbers(codes))}


def short(text: str) -> str:
    """At most so long; what was cut is marked."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
