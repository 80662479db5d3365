"""The report in a real browser; and that the checks notice a missing chart, a broken script, a name taken for HTML."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import graphmae as gm
from browser.handmade import HOSTILE, sheet
from browser.visit import check_page, visiting
from graphmae.reporting import page

SMALL = ["data.num_nodes=200", "train.epochs=3", "encoder.hidden_channels=16", "evaluation.epochs=5"]
FEW = ['evaluation.baselines=["raw","untrained"]', "evaluation.converged=false"]


def written(folder: Path, *sheets: Any) -> Path:
    path = folder / "report.html"
    path.write_text(page.render(list(sheets)), encoding="utf-8")
    return path


def changed(monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str) -> None:
    """The page with one of its files changed, which its policy then allows."""
    original = page.asset

    def asset(wanted: str) -> str:
        text = original(wanted)
        if wanted != name:
            return text
        assert before in text
        return text.replace(before, after)

    monkeypatch.setattr(page, "asset", asset)


def test_the_page_of_a_run(browser: Any, tmp_path: Path) -> None:
    """What the demo does, with a small graph and few epochs."""
    gm.run(gm.recipe("default", *SMALL, *FEW), [0, 1], tmp_path / "run", report=True, progress=False)
    path = tmp_path / "run" / "report.html"
    check_page(browser, path)
    with visiting(browser, path) as visit:
        assert {"loss", "lr", "scores-0", "spectrum", "purity-0-0", "errors-0"} <= set(visit.data["charts"])
        visit.tab.locator(".unusual button").first.click()
        named = visit.tab.locator(".unusual button").first.inner_text()
        assert visit.tab.locator(".chosen h4").inner_text() == named


def test_the_page_of_everything_with_hostile_names(browser: Any, tmp_path: Path) -> None:
    path = written(tmp_path, sheet())
    check_page(browser, path)
    with visiting(browser, path) as visit:
        kinds = {spec["kind"] for spec in visit.data["charts"].values()}
        assert kinds == {"lines", "intervals", "bars", "histogram", "scatter"}
        assert visit.tab.locator("img:not([src^='data:image/svg+xml;base64,']), iframe, object").count() == 0
        assert visit.tab.locator("script").count() == 2
        assert visit.tab.evaluate("document.body.dataset.hacked") is None
        shown = visit.tab.evaluate("document.body.innerText")
        assert shown.count(HOSTILE) > 10, "names are shown as they are"


def test_several_runs_side_by_side(browser: Any, tmp_path: Path) -> None:
    path = written(tmp_path, sheet("one", ""), sheet("two", "", molecules=False, rate="0.75"))
    check_page(browser, path)
    with visiting(browser, path) as visit:
        assert visit.tab.locator("article[data-map]").count() == 2
        boxes = [each.bounding_box() for each in visit.tab.locator("article[data-map]").all()]
        assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
        assert visit.tab.locator("tr.differs").all_inner_texts()[0].split()[:4] == [
            "mask.rate",
            "(differs)",
            "0.5",
            "0.75",
        ]
        assert visit.tab.locator("tr.differs").count() == 1


def test_a_touch_screen_pinches_and_taps(browser: Any, tmp_path: Path) -> None:
    path = written(tmp_path, sheet("one", ""))
    with visiting(browser, path, has_touch=True) as visit:
        visit.tab.set_viewport_size({"width": 390, "height": 844})
        canvas = visit.tab.locator(".stage > canvas")
        canvas.scroll_into_view_if_needed()
        whole = visit.pixels()
        canvas.tap(position=dict(zip("xy", whole["place"], strict=True)))
        assert visit.tab.locator(".chosen h4").count() == 1
        visit.check_quiet()


def test_dark_by_the_system_and_print(browser: Any, tmp_path: Path) -> None:
    path = written(tmp_path, sheet("one", ""))
    with visiting(browser, path, color_scheme="dark") as visit:
        assert sum(visit.pixels()["back"]) < 150, "the map is not dark"
        visit.tab.emulate_media(media="print")
        assert visit.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not visit.tab.locator("nav").is_visible() and not visit.tab.locator(".bar").is_visible()


def test_a_keyboard_is_enough(browser: Any, tmp_path: Path) -> None:
    """Everything that reacts can be reached with Tab, and shows that it is."""
    path = written(tmp_path, sheet("one", ""))
    with visiting(browser, path) as visit:
        reached = []
        for _ in range(60):
            visit.tab.keyboard.press("Tab")
            reached.append(
                visit.tab.evaluate(
                    "document.activeElement.className || document.activeElement.id || document.activeElement.tagName"
                )
            )
        assert {"skip", "theme", "projection", "colour", "find", "in", "out", "reset"} <= set(reached)
        assert "CANVAS" in reached or any("held" in name for name in reached)
        visit.tab.locator(".stage > canvas").focus()
        visit.tab.keyboard.press("Enter")
        assert visit.tab.locator(".chosen h4").count() == 1
        assert visit.tab.locator(".chosen").get_attribute("aria-live") == "polite"


def test_a_chart_that_is_missing_is_noticed(browser: Any, tmp_path: Path) -> None:
    path = written(tmp_path, sheet())
    text, count = re.subn(
        r'<figure class="chart" data-chart="loss">.*?</figure>', "", path.read_text(), flags=re.DOTALL
    )
    assert count == 1
    path.write_text(text)
    with pytest.raises(AssertionError, match="not on the page"):
        check_page(browser, path)


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("charts.js", "append(shape('rect', {class: 'mark s0'", "contains(shape('rect', {class: 'mark s0'", "marks"),
        ("canvas.js", "pen.putImageData(this.image, 0, 0);", "", "the map is empty"),
        ("main.js", "const maps = {};", "const maps = {};\nsetTimeout(() => {throw new Error('planted')});", "planted"),
        ("main.js", "const maps = {};", "const maps = {};\nfetch('https://example.org').catch(() => 0);", "console"),
        ("main.js", "const maps = {};", "const maps = {};\nthrow new Error('planted');", "planted"),
        ("map.js", "button.addEventListener('click', () => this.toggle(i));", "", "nothing is filtered"),
        ("canvas.js", "this.chosen >= 0 && this.has(this.chosen)", "false && this.chosen", ""),
        ("style.css", ".tip { position: absolute", ".tip { display: none; position: absolute", "under the pointer"),
        ("style.css", ".stage { position: relative", "#run { width: 900px } .stage { position: relative", "too wide"),
    ],
)  # fmt: skip
def test_what_is_broken_is_noticed(
    name: str, before: str, after: str, said: str, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(monkeypatch, name, before, after)
    if name == "canvas.js" and not said:
        changed(monkeypatch, name, "this.chosen >= 0 ? 64 : 218", "218")
        said = "not highlighted"
    with pytest.raises(AssertionError, match=said):
        check_page(browser, written(tmp_path, sheet("one", "")))


def test_names_that_are_not_escaped_are_noticed(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:  # in the data
        patch.setattr(page, "json_for_html", lambda value: json.dumps(value, default=str))
        with pytest.raises(AssertionError, match="console"):
            check_page(browser, written(tmp_path, sheet()))
    with monkeypatch.context() as patch:  # by the script
        changed(
            patch,
            "map.js",
            "this.tip.hidden = false;",
            "this.tip.hidden = false; this.tip.innerHTML = this.ids[found];",
        )
        path = written(tmp_path, sheet())
        with pytest.raises(AssertionError):
            check_page(browser, path)
    with monkeypatch.context() as patch:  # in the page
        changed(patch, "page.html", "<h1>{{ title }}</h1>", "<h1>{{ title|safe }}</h1>")
        with pytest.raises(AssertionError, match="console"):
            check_page(browser, written(tmp_path, sheet()))
