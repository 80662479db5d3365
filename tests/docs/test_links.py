"""Links lead somewhere, and what people look for is two clicks from the README."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, anchors_of, links_of

README = ROOT / "README.md"
OUTSIDE = ("http://", "https://", "mailto:")
# What somebody wants → where it is, and words that must be on that page.
WANTED = {
    "reproduce a number": ("docs/reproducing.md", "graphmae reproduce"),
    "use my own graph": ("docs/own-graph.md", "graphmae pretrain"),
    "compare methods": ("docs/methods.md", "graphmae compare"),
    "add an encoder": ("docs/extending/encoder.md", "gm.encoders.register"),
    "add a method": ("docs/extending/method.md", "gm.methods.register"),
}


def target_of(page: Path, link: str) -> tuple[Path, str]:
    file, _, anchor = link.partition("#")
    return (page.parent / file).resolve() if file else page, anchor


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links_of(page):
        if not link.startswith(OUTSIDE):
            target, anchor = target_of(page, link)
            assert target.is_file() and target.is_relative_to(ROOT), f"{link}: there is no such file"
            assert not anchor or anchor in anchors_of(target), f"{link}: the page has no such heading"


def pages_within(clicks: int) -> set[Path]:
    found = reached = {README}
    for _ in range(clicks):
        links = [(page, link) for page in reached for link in links_of(page) if not link.startswith(OUTSIDE)]
        reached = {target_of(page, link)[0] for page, link in links} - found
        reached = {page for page in reached if page.suffix == ".md"}
        found = found | reached
    return found


@pytest.mark.parametrize("wish", WANTED)
def test_it_is_found_within_two_clicks(wish: str) -> None:
    name, words = WANTED[wish]
    assert ROOT / name in pages_within(2)
    assert words in (ROOT / name).read_text("utf-8")


def test_every_page_is_found_from_the_readme() -> None:
    """Pages that are written when the site is built are linked from its index alone."""
    generated = {ROOT / f"docs/{name}.md" for name in ("index", "api", "commands")}
    assert set(PAGES) - generated <= pages_within(3)
