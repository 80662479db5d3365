"""The pages people read, and what is in them: blocks of code, links, headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTE = re.compile(r"<!-- (not run|file): (.+) -->")
FENCE = re.compile(r"^(```+)([^\n`]*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block; a comment above it may say why it is not run, or in which file a reader would put it."""

    page: str
    line: int
    language: str
    text: str
    reason: str = ""
    file: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    found: list[Block] = []
    lines = page.read_text("utf-8").splitlines()
    start, fence, language = None, "", ""
    for number, line in enumerate(lines):
        match = FENCE.match(line)
        if start is None and match:
            start, fence, language = number, match[1], match[2].strip()
        elif start is not None and line == fence:
            noted = NOTE.fullmatch(lines[start - 1]) if start else None
            note = {noted[1]: noted[2]} if noted else {}
            name = page.relative_to(ROOT).as_posix()
            text = "\n".join(lines[start + 1 : number]) + "\n"
            found.append(Block(name, start + 1, language, text, note.get("not run", ""), note.get("file", "")))
            start = None
    assert start is None, f"{page}: a block is not closed"
    return found


def commands_of(block: Block) -> list[str]:
    """The commands of a block of bash or console; a line that ends in a backslash goes on, output is left out."""
    text = block.text.replace("\\\n", " ")
    if block.language == "console":
        return [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def prose_of(page: Path) -> str:
    """The text without fenced blocks and code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def links_of(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose_of(page))


def anchors_of(page: Path) -> set[str]:
    """What links to headings look like, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
