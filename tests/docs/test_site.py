"""The documentation site builds without a warning, needs nothing from elsewhere, and has every command and name."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import graphmae as gm
from docs.pages import ROOT
from graphmae.cli.main import app

pytest.importorskip("furo", reason="the docs extra is not installed: pip install 'graphmae[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-d", folder / "trees"]
    done = subprocess.run([*words, ROOT / "docs", folder / "html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_page_is_built_and_none_needs_another_server(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").is_file()
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|iframe)[^>]+src=\"([^\"]+)", page.read_text("utf-8"))
        loaded += re.findall(r"<link[^>]+rel=\"stylesheet\"[^>]+href=\"([^\"]+)", page.read_text("utf-8"))
        assert loaded and not [address for address in loaded if "//" in address]
        assert 'name="viewport"' in page.read_text("utf-8")  # readable on a phone


def test_every_command_and_option_is_on_its_page(site: Path) -> None:
    text = (site / "commands.html").read_text("utf-8")
    for name, command in typer.main.get_command(app).commands.items():
        assert f'id="graphmae-{name}"' in text
        for sub in getattr(command, "commands", {None: command}).values():
            for option in sub.params:
                assert all(spelling in text for spelling in option.opts if spelling.startswith("-")), (name, option)


def test_every_public_name_is_on_its_page(site: Path) -> None:
    text = (site / "api.html").read_text("utf-8")
    modules = {"data", "decoders", "encoders", "losses", "masking", "methods"}
    missing = [name for name in gm.__all__ if name not in modules and f'id="graphmae.{name}"' not in text]
    assert not missing
    for name in (
        "encoders.GAT",
        "losses.ScaledCosineError",
        "methods.CCASSG",
        "data.from_tables",
        "testing.check_mask",
    ):
        assert f'id="graphmae.{name}"' in text


def examples() -> list[list[str]]:
    """The examples of every `--help`, as words."""
    found = []
    for command in typer.main.get_command(app).commands.values():
        for one in getattr(command, "commands", {None: command}).values():
            for paragraph in (one.help or "").split("\n\n"):
                if "Example: graphmae " in paragraph:
                    found.append(shlex.split(" ".join(paragraph.split()).removeprefix("Example: graphmae ")))
    return found


def test_the_examples_of_every_help_text_parse() -> None:
    top = typer.main.get_command(app)
    assert len(examples()) > 20
    for words in examples():
        rest, command = list(words), top
        while hasattr(command, "commands"):
            command, rest = command.commands[rest[0]], rest[1:]
        command.make_context(words[0], rest)  # unknown options and missing arguments raise
