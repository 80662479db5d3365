"""What the README shows works: its Python runs, its commands exist, its numbers are the committed ones."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import tables

from graphmae.reporting.figures import figures
from graphmae.reporting.results_page import blocks as blocks_of_the_page

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_blocks_run(number: int, tmp_path: Path) -> None:
    code = blocks("python")[number]
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_every_command_shown_parses() -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("graphmae ")]
    assert len(lines) >= 6
    for line in lines:
        words = shlex.split(line.split("#")[0])
        command = words[1:3] if words[1] == "recipes" else words[1:2]
        done = subprocess.run([sys.executable, "-m", "graphmae", *command, "--help"], capture_output=True, text=True)
        assert done.returncode == 0, line
        for option in (w for w in words if w.startswith("--")):
            assert option in done.stdout, line


def test_both_set_up_commands_are_shown_and_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"make {target}" in README
        assert f"\n{target}:" in makefile


def test_the_tables_are_what_was_measured() -> None:
    assert "<!-- node-results -->" in README
    assert "<!-- performance -->" in README
    page = "".join((ROOT / name).read_text() for name in ("docs/results.md", "docs/methods.md"))
    assert all(f"<!-- {name} -->" in page for name in blocks_of_the_page(tables.RESULTS))
    for name in tables.FILES:
        text = (ROOT / name).read_text()
        assert tables.written(text) == text, "run python -m benchmarks.tables"
    for name, figure in figures(tables.RESULTS).items():
        assert (tables.FIGURES / name).read_text() == figure, "run python -m benchmarks.tables"


def test_bring_your_own_graph_works_as_shown(tmp_path: Path) -> None:
    """Every Python block of the page, on the tables its first command writes, with a short training."""
    subprocess.run([sys.executable, ROOT / "examples/two_tables.py"], cwd=tmp_path, check=True)
    page = (ROOT / "docs/own-graph.md").read_text()
    lines = [line for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    first = [line.split("#")[0] for line in lines if line.startswith(("graphmae pretrain", "graphmae embed"))][:2]
    for line in (f"{first[0]} --set train.epochs=5", first[1]):
        words = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("epochs=50", "epochs=3")], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
