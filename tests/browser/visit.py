"""Opens a report as a person would, and does what a person does: everything that is wrong raises AssertionError."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Pixels of a canvas that are not its background, and a number that changes when the picture does.
PIXELS = """canvas => {
  const {data, width, height} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0, sum = 0, place = null, back = [data[0], data[1], data[2]];
  for (let i = 0; i < data.length; i += 4) {
    if (Math.abs(data[i] - back[0]) + Math.abs(data[i + 1] - back[1]) + Math.abs(data[i + 2] - back[2]) < 40) continue;
    count++;
    sum = (sum * 31 + i + data[i] + 7 * data[i + 1]) % 1000000007;
    const x = i / 4 % width, y = Math.floor(i / 4 / width);
    if (place || x < 0.3 * width || y < 0.3 * height) continue;
    place = [x / width * canvas.clientWidth, y / height * canvas.clientHeight];
  }
  return {count, sum, place, back};
}"""
CHARTS = """() => [...document.querySelectorAll('figure[data-chart]')].map(figure => {
  const marks = [...figure.querySelectorAll('svg .mark')].map(mark => mark.getBoundingClientRect());
  const plot = figure.querySelector('.plot');
  return {
    id: figure.dataset.chart,
    label: plot.getAttribute('aria-label'),
    rows: figure.querySelectorAll('details tbody tr').length,
    seen: marks.filter(box => box.width + box.height > 1).length,
    width: plot.querySelector('svg')?.getBoundingClientRect().width ?? 0,
  };
})"""


class Visit:
    """A page in a browser tab, and what went wrong in it."""

    def __init__(self, tab: Any, path: Path) -> None:
        self.tab, self.path = tab, path
        self.problems: list[str] = []
        self.requests: list[str] = []
        tab.set_default_timeout(5000)
        tab.on("console", self._heard)
        tab.on("pageerror", lambda error: self.problems.append(str(error)))
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.goto(path.as_uri())
        tab.wait_for_timeout(150)
        self.check_quiet()
        assert tab.evaluate("document.documentElement.dataset.ready") == "true", "the script did not run to its end"
        self.data = json.loads(tab.evaluate("document.getElementById('data').textContent"))

    def _heard(self, said: Any) -> None:
        ours = "willReadFrequently" in said.text  # it is this test that reads the canvas back so often
        if said.type in ("error", "warning") and not ours:
            self.problems.append(said.text)

    def check_quiet(self) -> None:
        """Nothing in the console, nothing fetched but the page itself."""
        assert not self.problems, f"the console shows: {self.problems}"
        outside = [url for url in self.requests if url != self.path.as_uri() and not url.startswith(("data:", "blob:"))]
        assert not outside, f"the page asked for {outside}"

    def check_charts(self) -> None:
        """Every chart of the data is on the page, has marks one can see, a name and its numbers."""
        charts = {chart["id"]: chart for chart in self.tab.evaluate(CHARTS)}
        assert set(charts) == set(self.data["charts"]), "charts of the data that are not on the page, or the reverse"
        maps = self.tab.evaluate("[...document.querySelectorAll('article[data-map]')].map(a => a.dataset.map)")
        assert set(maps) == set(self.data["maps"])
        for name, chart in charts.items():
            spec = self.data["charts"][name]
            assert chart["seen"] >= _least_marks(spec), f"{name} has {chart['seen']} marks"
            assert chart["label"] and chart["rows"], f"{name} has no name or no table"

    def pixels(self, number: str = "0") -> dict[str, Any]:
        """What the map shows, once it has been drawn again."""
        self.tab.wait_for_timeout(60)
        return dict(self.tab.eval_on_selector(f'article[data-map="{number}"] .stage > canvas', PIXELS))

    def check_map(self, number: str = "0") -> None:
        """Hover, click, zoom, search, filter, colour, project: each changes what it should."""
        tab, inside = self.tab, f'article[data-map="{number}"] '
        canvas, points = tab.locator(inside + ".stage > canvas"), self.data["maps"][number]
        canvas.scroll_into_view_if_needed()
        whole = self.pixels(number)
        assert whole["count"] > min(200, 4 * len(points["ids"])), f"the map is empty: {whole['count']} pixels"
        canvas.hover(position=dict(zip("xy", whole["place"], strict=True)))
        tip = tab.locator(inside + ".tip")
        assert tip.is_visible() and tip.locator("strong").inner_text() in points["ids"], "nothing under the pointer"
        assert tip.locator("dt").count() >= min(1, len(points["facets"])), "the columns of the point are not shown"
        if "drawings" in points:
            assert tab.eval_on_selector(inside + ".tip canvas", PIXELS)["count"] > 50, "the structure is not drawn"
        named = tip.locator("strong").inner_text()
        canvas.click(position=dict(zip("xy", whole["place"], strict=True)))
        assert tab.locator(inside + ".chosen h4").inner_text() == named
        assert tab.locator(inside + ".chosen ol li").count() == points["neighbours"]["shape"][1], "no neighbours listed"
        tab.mouse.move(1, 1)  # what is under the pointer has a ring of its own
        assert self.pixels(number)["sum"] != whole["sum"], "the chosen point and its neighbours are not highlighted"
        tab.locator(inside + ".chosen ol button").first.click()
        assert tab.locator(inside + ".chosen h4").inner_text() != named
        tab.locator(inside + ".chosen button", has_text="Clear").click()
        self._check_zoom(number, canvas)
        wanted = points["ids"][-1]
        tab.locator(inside + ".find").fill(wanted)
        assert tab.locator(inside + ".found li").count() >= 1
        tab.locator(inside + ".find").press("Enter")
        assert tab.locator(inside + ".chosen h4").inner_text() == wanted, "the search did not find an id"
        tab.locator(inside + ".chosen button", has_text="Clear").click()
        tab.locator(inside + ".reset").click()
        self._check_menus(number, points)
        self.check_quiet()

    def _check_zoom(self, number: str, canvas: Any) -> None:
        inside = f'article[data-map="{number}"] '
        self.tab.locator(inside + ".reset").click()
        whole = self.pixels(number)
        self.tab.locator(inside + ".in").click()
        closer = self.pixels(number)
        assert closer["sum"] != whole["sum"], "the button does not zoom"
        box = canvas.bounding_box()
        self.tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.tab.mouse.down()
        self.tab.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2 + 30, steps=3)
        self.tab.mouse.up()
        moved = self.pixels(number)
        assert moved["sum"] != closer["sum"], "dragging does not move the map"
        canvas.focus()
        self.tab.keyboard.press("+")
        assert self.pixels(number)["sum"] != moved["sum"], "the keyboard does not zoom"
        self.tab.keyboard.press("0")
        self.tab.mouse.move(1, 1)
        assert self.pixels(number)["sum"] == whole["sum"], "the whole map is not what it was"

    def _check_menus(self, number: str, points: dict[str, Any]) -> None:
        """The legend filters; colours and projections change."""
        tab, inside = self.tab, f'article[data-map="{number}"] '
        whole = self.pixels(number)
        first = tab.locator(inside + ".legend button").first
        first.click()
        fewer = self.pixels(number)
        assert first.get_attribute("aria-pressed") == "false" and fewer["count"] < whole["count"], "nothing is filtered"
        tab.locator(inside + ".legend .all").click()
        assert self.pixels(number)["sum"] == whole["sum"]
        choices = tab.locator(inside + ".colour option").count()
        assert choices == max(1, sum(f["kind"] != "text" for f in points["facets"]) + ("errors" in points))
        if choices > 1:
            tab.locator(inside + ".colour").select_option(index=choices - 1)
            assert self.pixels(number)["sum"] != whole["sum"], "another column does not change the colours"
            tab.locator(inside + ".colour").select_option(index=0)
        for name in list(points["projections"])[1:]:
            tab.locator(inside + ".projection").select_option(name)
            assert self.pixels(number)["sum"] != whole["sum"], f"{name} looks like the first projection"
        tab.locator(inside + ".projection").select_option(index=0)

    def check_dark(self) -> None:
        """The switch darkens the page and the map, and back."""
        shade = "() => getComputedStyle(document.body).backgroundColor"
        light = self.tab.evaluate(shade)
        maps = list(self.data["maps"])[:1]
        before = [self.pixels(number)["back"] for number in maps]
        self.tab.locator("#theme").click()
        assert self.tab.evaluate(shade) != light, "the page is not dark"
        assert [self.pixels(number)["back"] for number in maps] != before or not maps, "the map is not dark"
        self.check_charts()
        self.tab.locator("#theme").click()
        assert self.tab.evaluate(shade) == light

    def check_phone(self) -> None:
        """Nothing is wider than the screen, charts are drawn anew, fingers hit the buttons."""
        self.tab.set_viewport_size(PHONE)
        self.tab.wait_for_timeout(200)
        assert self.tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], "the page is too wide"
        self.check_charts()
        for chart in self.tab.evaluate(CHARTS):
            assert 0 < chart["width"] <= PHONE["width"], chart
        small = "button, select, input"
        boxes = [box for each in self.tab.locator(small).all() if (box := each.bounding_box())]
        assert all(box["height"] >= 36 for box in boxes), "a button is too small for a finger"
        for number in list(self.data["maps"])[:1]:
            assert self.pixels(number)["count"] > 50, "the map is empty on a phone"
        self.check_quiet()


def _least_marks(spec: dict[str, Any]) -> int:
    """How many marks a chart must have for its numbers."""
    counts = {
        "lines": lambda: len(spec["series"]),
        "intervals": lambda: len(spec["rows"]),
        "bars": lambda: min(24, len(spec["bars"])),
        "histogram": lambda: sum(count > 0 for count in spec["counts"]),
        "scatter": lambda: len(spec["marks"]["x"]),
    }
    return counts[spec["kind"]]()


@contextmanager
def visiting(browser: Any, path: Path, **options: Any) -> Iterator[Visit]:
    from playwright.sync_api import TimeoutError as NeverCame

    context = browser.new_context(viewport=DESKTOP, **options)
    try:
        yield Visit(context.new_page(), path)
    except NeverCame as error:
        raise AssertionError(f"something is not on the page: {error}") from None
    finally:
        context.close()


def check_page(browser: Any, path: Path) -> None:
    """All of it."""
    with visiting(browser, path) as visit:
        visit.check_charts()
        for number in visit.data["maps"]:
            visit.check_map(number)
        visit.check_dark()
        visit.check_phone()
