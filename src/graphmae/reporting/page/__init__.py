"""One HTML file that shows runs: `render` turns sheets into it. Nothing is fetched when it is opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import resources
from typing import Any

from .charts import Chart, charts_of
from .data import page_data
from .pack import base64_text, json_for_html, sha256_source
from .sheet import Curve, Explained, Facet, Points, Prediction, Purity, Score, Setting, Sheet, Spectrum, Table

__all__ = [
    "Curve", "Explained", "Facet", "Points", "Prediction", "Purity", "Score", "Setting", "Sheet", "Spectrum", "Table",
    "asset", "render",
]  # fmt: skip
# In the order they are joined: each may use what those before it define.
SCRIPTS = ("base.js", "charts.js", "molecule.js", "canvas.js", "groups.js", "search.js", "map.js", "main.js")
SECTIONS = {
    "scores": "Scores",
    "map": "Embedding map",
    "quality": "The embedding",
    "predictions": "Predictions",
    "atoms": "Which atoms",
    "training": "Training",
}


def asset(name: str) -> str:
    """A file of this package: a script, the style, the template."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def render(sheets: Sequence[Sheet], title: str = "", made: datetime | None = None, version: str = "") -> str:
    """The page of some runs, as HTML.

    >>> page = render([Sheet("mine", "GraphMAE on <b>nodes</b>")])
    >>> "&lt;b&gt;nodes&lt;/b&gt;" in page and "<b>nodes" not in page
    True
    """
    from jinja2 import DictLoader, Environment, StrictUndefined

    names = unique([sheet.name for sheet in sheets])
    named = [Sheet(**{**sheet.__dict__, "name": name}) for sheet, name in zip(sheets, names, strict=True)]
    charts = charts_of(named)
    style = asset("style.css")
    script = "'use strict';\n(() => {\n" + "\n".join(asset(name) for name in SCRIPTS) + "\n})();\n"
    loader = DictLoader({name: asset(name) for name in ("page.html", "parts.html")})
    environment = Environment(autoescape=True, undefined=StrictUndefined, loader=loader, trim_blocks=True,
                              lstrip_blocks=True)  # fmt: skip
    environment.filters["base64"] = base64_text
    return environment.get_template("page.html").render(
        title=title or " · ".join(sheet.title for sheet in named[:3]) or "graphmae",
        policy=policy(style, script),
        style=style,
        script=script,
        data=json_for_html(page_data(named, charts)),
        sheets=named,
        charts=by_section(charts),
        sections={key: text for key, text in SECTIONS.items() if _has(key, charts, named)},
        facts=_side_by_side([sheet.facts for sheet in named]),
        machine=_side_by_side([sheet.machine for sheet in named]),
        settings=settings_table(named),
        made=(made or datetime.now().astimezone()).strftime("%Y-%m-%d %H:%M"),
        version=version,
    )


def policy(style: str, script: str) -> str:
    """The content-security policy: this style, this script, images inside of the file, and nothing else."""
    return (
        f"default-src 'none'; script-src {sha256_source(script)}; style-src {sha256_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def by_section(charts: Iterable[Chart]) -> dict[str, list[Chart]]:
    out: dict[str, list[Chart]] = {key: [] for key in SECTIONS}
    for chart in charts:
        out[chart.section].append(chart)
    return out


def settings_table(sheets: Sequence[Sheet]) -> list[dict[str, Any]]:
    """One row per key: its values by run, whether they differ, whether it comes first, and where it is from."""
    keys = list(dict.fromkeys(setting.key for sheet in sheets for setting in sheet.settings))
    rows = []
    for key in keys:
        found = [next((each for each in sheet.settings if each.key == key), None) for sheet in sheets]
        values = ["" if each is None else each.value for each in found]
        reasons = list(dict.fromkeys(each.why for each in found if each is not None and each.why))
        differs = len(set(values)) > 1
        first = differs or (len(sheets) == 1 and any(each is not None and each.is_changed for each in found))
        rows.append({"key": key, "values": values, "differs": differs, "first": first, "why": "; ".join(reasons)})
    return rows


def unique(names: Sequence[str]) -> list[str]:
    """The same names, with a number where one is there already.

    >>> unique(["cora", "cora", "mine"])
    ['cora', 'cora (2)', 'mine']
    """
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def _side_by_side(columns: Sequence[Sequence[tuple[str, str]]]) -> list[tuple[str, list[str]]]:
    """Label → one text per run."""
    labels = list(dict.fromkeys(label for column in columns for label, _ in column))
    return [(label, [dict(column).get(label, "") for column in columns]) for label in labels]


def _has(section: str, charts: Sequence[Chart], sheets: Sequence[Sheet]) -> bool:
    if section == "map":
        return any(sheet.points for sheet in sheets)
    if section == "atoms":
        return any(sheet.explained for sheet in sheets)
    if section == "scores":
        return any(sheet.scores or sheet.tables for sheet in sheets)
    return any(chart.section == section for chart in charts)
