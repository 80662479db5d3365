"""The HTML page: what is in it is data, whatever it is called, and nothing else can run in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from browser.handmade import HOSTILE, SVG, points, sheet
from graphmae.reporting import page
from graphmae.reporting.page import Curve, Score, Setting, Sheet
from graphmae.reporting.page.charts import charts_of
from graphmae.reporting.page.data import page_data
from graphmae.reporting.page.levels import coded, ordered
from graphmae.reporting.page.pack import json_for_html, packed, quantised, whole_numbers
from graphmae.reporting.page.predictions import calibration, number_errors, roc_curve

NAMES = [HOSTILE, "<!--", "]]>", "\u2028", "\u2029", "&lt;b&gt;", "a\x00b", "\ud800", "{{ 7 * 7 }}", "'\"`${x}"]


class Seen(HTMLParser):
    """The elements of a page, and the text in the script that holds the data."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data, self.inside = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script" and dict(attrs).get("id") == "data"

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        self.data += data if self.inside else ""


def seen(text: str) -> Seen:
    parser = Seen()
    parser.feed(text)
    return parser


@pytest.mark.parametrize("name", NAMES)
def test_json_in_a_page_says_the_same_and_ends_no_script(name: str) -> None:
    text = json_for_html({name: [name, float("nan"), 1.5, np.float32(2.0)]})
    assert not set("<>&\u2028\u2029") & set(text)
    known = name.encode("utf-8", "replace").decode()
    assert json.loads(text) == {known: [known, None, 1.5, 2.0]}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_text_everywhere(name: str) -> None:
    plain, hostile = seen(page.render([sheet("a", "b")])), seen(page.render([sheet("a", name)]))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags], "a name made an element"
    handlers = [key for _, attributes in hostile.tags for key in attributes if key.startswith("on") or key == "style"]
    assert not handlers
    ids = json.loads(hostile.data)["maps"]["0"]["ids"]
    assert ids[0] == f"0 {name}".strip().encode("utf-8", "replace").decode()


def test_pictures_of_molecules_are_images_that_the_policy_allows() -> None:
    found = seen(page.render([sheet(hostile=HOSTILE)])).tags
    images = [attributes for tag, attributes in found if tag == "img"]
    assert len(images) == 2 and all((each["src"] or "").startswith("data:image/svg+xml;base64,") for each in images)
    assert base64.b64decode((images[0]["src"] or "").partition(",")[2]).decode() == SVG
    assert (images[0]["alt"] or "").startswith(HOSTILE)


def test_the_policy_allows_this_script_this_style_and_nothing_else() -> None:
    text = page.render([sheet()])
    policy = next(a["content"] for tag, a in seen(text).tags if tag == "meta" and "http-equiv" in a)
    assert policy is not None and policy.startswith("default-src 'none'")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(script) == len(style) == 1
    for kind, content in (("script-src", script[0]), ("style-src", style[0])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy


def test_nothing_is_fetched_evaluated_or_read_as_html() -> None:
    scripts = "".join(page.asset(name) for name in page.SCRIPTS)
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "Function(",
        "fetch(",
        "XMLHttp",
    ):
        assert word not in scripts
    text = re.sub(r"<script.*?</script>", "", page.render([sheet()]), flags=re.DOTALL)
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)""", text)
    assert "url(" not in page.asset("style.css") and "@import" not in page.asset("style.css")


def test_files_of_the_page_are_short() -> None:
    for name in (*page.SCRIPTS, "style.css", "page.html", "parts.html"):
        assert len(page.asset(name).splitlines()) < 350, name


def test_twenty_thousand_points_stay_below_five_megabytes() -> None:
    """With the widest arrays a map has: two projections, ten neighbours, errors, a column of each kind."""
    rng, count = np.random.default_rng(0), 20_000
    few = points(300)
    many = page.Points(
        what="node",
        total=count,
        ids=[f"node-{i:06d}" for i in range(count)],
        projections={name: rng.normal(size=(count, 2)) for name in ("PCA", "t-SNE")},
        facets=[
            page.Facet("kind", "category", [f"kind {i % 7}" for i in range(count)]),
            *(page.Facet(f"amount {i}", "number", rng.normal(size=count)) for i in range(4)),
            page.Facet("name", "text", [f"a name of some length, {i}" for i in range(count)]),
        ],
        neighbours=rng.integers(0, count, (count, 10)),
        similarity=rng.random((count, 10)),
        errors=rng.random(count),
        purity=few.purity,
    )
    assert len(page.render([Sheet("big", "big", points=many)]).encode()) < 5e6


def test_numbers_survive_packing() -> None:
    for array in (np.arange(300), np.arange(70_000), np.array([0, 255])):
        narrow = whole_numbers(array)
        back = np.frombuffer(base64.b64decode(packed(narrow)["data"]), narrow.dtype.newbyteorder("<"))
        assert (back == array).all()
    rng = np.random.default_rng(0)
    places = rng.normal(size=(500, 2)) * [3, 1]
    steps = quantised(places).astype(float)
    side = np.ptp(places[:, 0])
    assert np.abs((steps - steps.mean(0)) / 65534 * side - (places - places.mean(0))).max() < 1e-4 * side
    assert (quantised(np.full((3, 2), 7.0)) < 65535).all() and (quantised(np.full((2, 2), np.nan)) == 65535).all()


def test_settings_that_differ_come_first() -> None:
    rows = page.settings_table([
        Sheet("a", "a", settings=[Setting("mask.rate", "0.5"), Setting("train.lr", "0.1")]),
        Sheet("b", "b", settings=[Setting("mask.rate", "0.75"), Setting("train.lr", "0.1"), Setting("x.y", "1")]),
    ])  # fmt: skip
    assert {row["key"]: row["differs"] for row in rows} == {"mask.rate": True, "train.lr": False, "x.y": True}
    one = page.settings_table([Sheet("a", "a", settings=[Setting("a.b", "1", "", True), Setting("c.d", "2")])])
    assert [row["first"] for row in one] == [True, False]


def test_metrics_that_differ_have_axes_of_their_own() -> None:
    sheets = [
        Sheet("a", "a", metric="accuracy", scores=[Score("x", 70.0, 1.0, "method", 3)]),
        Sheet("b", "b", metric="rmse", scores=[Score("x", 0.7, None, "method")]),
    ]
    charts = charts_of(sheets)
    assert [chart.spec["x"] for chart in charts] == ["accuracy, %", "rmse"]
    assert charts[0].spec["rows"][0]["low"] == 69.0 and "low" not in charts[1].spec["rows"][0]


def test_long_curves_keep_their_ends_and_gaps() -> None:
    curve = Curve("seed 0", range(1, 2001), {"loss": [float("nan"), *np.linspace(1, 0, 1999)]})
    chart = charts_of([Sheet("a", "a", curves=[curve])])[0]
    line = chart.spec["series"][0]
    assert line["x"][0] == 1 and line["x"][-1] == 2000 and len(line["x"]) <= 300
    assert json.loads(json_for_html(chart.spec))["series"][0]["y"][0] is None


def test_kinds_have_one_order() -> None:
    assert ordered({"10": 1, "9": 5, "b": 2}) == ["9", "10", "b"]
    many = {str(i): i for i in range(30)}
    assert ordered(many)[0] == "29"
    levels, codes = coded([f"k{i}" for i in range(600)])
    assert len(levels) == 250 and levels[-1] == "all others" and codes.max() == 249


def test_roc_calibration_and_errors() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 500).astype(float)
    said = np.round(np.clip(0.5 * truth + 0.5 * rng.random(500), 0, 1), 2)  # with many ties
    false, true, area = roc_curve(truth, said)
    assert area == pytest.approx(roc_auc_score(truth, said))
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1) and (np.diff(true) >= 0).all()
    bins = calibration(truth, said)
    assert bins.counts.sum() == 500 and (bins.observed <= 1).all()
    sure = calibration(np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    assert sure.error == 0 and sure.predicted.tolist() == [1.0]
    assert number_errors(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == {"RMSE": 1.0, "MAE": 1.0, "R²": 0.0}


def test_a_map_without_anything_to_colour_by() -> None:
    bare = page.Points("node", 2, ["a", "b"], {"PCA": np.zeros((2, 2))}, [], np.array([[1], [0]]), np.ones((2, 1)))
    found = page_data([Sheet("a", "a", points=bare)], [])
    assert found["maps"]["0"]["facets"] == [] and "errors" not in found["maps"]["0"]
    assert "data-map" in page.render([Sheet("a", "a", points=bare)])


def test_the_page_knows_no_torch() -> None:
    names = ", ".join(f"graphmae.reporting.{name}" for name in ("page", "plots", "records"))
    code = f"import sys, {names}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_figures_are_written_as_pdf_and_svg(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'graphmae[report]'")
    from graphmae.reporting.plots import write_figures

    files = write_figures([sheet("a", "$x_1$ <b>")], tmp_path / "new")
    assert {file.suffix for file in files} == {".pdf", ".svg"}
    names = {file.stem for file in files}
    assert {"loss", "scores-0", "spectrum", "purity-0-0", "errors-0", "roc-0", "calibration-0", "map-0-pca"} <= names
    assert all(file.stat().st_size > 2000 for file in files)
    before = (tmp_path / "new" / "loss.svg").read_bytes()
    write_figures([Sheet("a", "a", curves=sheet("a").curves)], tmp_path / "again")
    assert (tmp_path / "again" / "loss.svg").read_bytes() == before, "the same numbers give the same bytes"
