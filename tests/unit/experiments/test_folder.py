"""Who may work in which folder, and what is found there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphmae.experiments.folder import RunFolder
from graphmae.runtime.errors import InputError


def test_the_next_folder_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RunFolder.next("node/cora").path == Path("runs/node-cora")
    Path("runs/node-cora").mkdir(parents=True)
    assert RunFolder.next("node/cora").path == Path("runs/node-cora-2")
    assert RunFolder.next("node/cora", resume=True).path == Path("runs/node-cora")
    assert RunFolder.of("here", "node/cora").path == Path("here")
    assert RunFolder.next("node/pubmed", resume=True).path == Path("runs/node-pubmed"), "nothing to resume: it begins"


def test_a_folder_is_claimed_once_and_resumed_with_the_same_settings(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.claim({"a": 1}, resume=True):  # nothing is there yet: it begins
        assert folder.holds_run
        with pytest.raises(InputError, match=f"process {os.getpid()} "), folder.claim({"a": 1}, resume=True):
            pass
    with pytest.raises(InputError, match="already holds a run"), folder.claim({"a": 1}, resume=False):
        pass
    with pytest.raises(InputError, match="other settings"), folder.claim({"a": 2}, resume=True):
        pass
    leftover = folder.path / f".result.json.{os.getpid()}.partial.json"
    leftover.write_text("{")
    with folder.claim({"a": 1}, resume=True):
        assert not leftover.exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="is not a run"), RunFolder(tmp_path).claim({}, resume=False):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match="is not a folder"), RunFolder(tmp_path / "thesis.tex").claim({}, False):
        pass


def test_the_recipe_of_a_seed_is_that_of_its_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.claim({"train": {"epochs": 3}}, resume=False):
        folder.seed(2).write_scores({"seed": 2})
    assert folder.seed(2).stored_recipe() == {"train": {"epochs": 3}}
    assert folder.seed(2).read_scores() == {"seed": 2} and folder.seed(1).read_scores() is None
