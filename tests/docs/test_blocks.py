"""Every block of code on every page runs, in the order of the page, or says above it why not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, blocks_of
from docs.running import prepare_folder, run_command, run_page, short_trainings

RUN = ("python", "bash", "console")
SHOWN = ("", "text", "toml", "yaml", "bibtex", "{toctree}")  # output, and what a reader puts into files
# What a reader of the page has run already.
BEFORE = {"docs/report.md": ["graphmae demo", *(f"graphmae run default --out runs/{name}" for name in "abc")]}
WITH_CODE = [page for page in PAGES if any(block.language in RUN for block in blocks_of(page))]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages") / "folder"
    folder.mkdir()
    prepare_folder(folder)
    return folder


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_shows_runs(page: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "finetune" in page.read_text("utf-8"):
        pytest.importorskip("rdkit", reason="RDKit is not installed")
    folder = shutil.copytree(prepared, tmp_path / "folder")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GRAPHMAE_DATA", str(folder / "data"))
    monkeypatch.setenv("GRAPHMAE_TRUST", "1")  # the sets in the folder are not the published ones
    with short_trainings():
        for command in BEFORE.get(page.relative_to(ROOT).as_posix(), ()):
            run_command(command.split(), folder)
        run_page([block for block in blocks_of(page) if block.language in RUN and not block.reason], folder)


def test_every_block_is_run_or_of_a_kind_that_is_only_shown() -> None:
    for page in PAGES:
        for block in blocks_of(page):
            assert block.language in (*RUN, *SHOWN), f"{block}: blocks of {block.language!r} are not tested"
            assert not block.reason or len(block.reason) > 10, f"{block}: say why it is not run"
