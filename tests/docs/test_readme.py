"""What the README shows works: its Python runs, its commands exist, its numbers are the committed ones."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import tables

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
    assert "<!-- graph-results -->" in README
    assert tables.written(README) == README, "run python -m benchmarks.tables"
