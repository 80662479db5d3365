"""What the README and the tables promise: its length, its set-up commands, the committed numbers."""

from __future__ import annotations

import json

from benchmarks import tables

from docs.pages import ROOT
from graphmae.reporting.figures import figures
from graphmae.reporting.results_page import blocks as blocks_of_the_page

README = (ROOT / "README.md").read_text("utf-8")
MOST_LINES = 150


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_both_set_up_commands_are_shown_and_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"make {target}" in README
        assert f"\n{target}:" in makefile


def test_the_tables_are_what_was_measured() -> None:
    texts = {name: (ROOT / name).read_text("utf-8") for name in tables.FILES}
    assert "<!-- node-results -->" in texts["README.md"]
    assert "<!-- performance -->" in texts["docs/performance.md"]
    page = texts["docs/results.md"] + texts["docs/methods.md"]
    assert all(f"<!-- {name} -->" in page for name in blocks_of_the_page(tables.RESULTS))
    for text in texts.values():
        assert tables.written(text) == text, "run python -m benchmarks.tables"
    for name, figure in figures(tables.RESULTS).items():
        assert (tables.FIGURES / name).read_text() == figure, "run python -m benchmarks.tables"


def test_the_speed_in_a_sentence_is_that_of_the_table() -> None:
    sentence = " ".join(README.split())
    for device, words in (("cpu", "{} to {} times as fast as"), ("cuda", "{} to {} times on an H200")):
        times = [1 / line["ratio"] for line in json.loads((tables.RESULTS / f"step-{device}.json").read_text())]
        assert words.format(f"{min(times):.1f}", f"{max(times):.1f}") in sentence
