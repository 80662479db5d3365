"""Molecules in the cache, when several processes want them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from graphmae.data.molecules import building, cached

pytest.importorskip("rdkit")
SMILES = ["CCO", "c1ccccc1", "not a molecule", "CC(=O)O"]


def test_the_same_molecules_are_parsed_once_however_many_want_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path))
    parsed, inside, most = [], threading.Semaphore(1), threading.Barrier(3)
    parse = building._parse_part

    def slowly(*arguments: Any) -> tuple[int, int]:
        assert inside.acquire(blocking=False), "two builds of one store at a time"
        parsed.append(arguments)
        time.sleep(0.3)
        inside.release()
        return parse(*arguments)

    monkeypatch.setattr(building, "_parse_part", slowly)

    def store() -> Any:
        most.wait()
        return cached.stored_texts(SMILES, "mine")

    with caplog.at_level("INFO", logger="graphmae"), ThreadPoolExecutor(3) as pool:
        found = [future.result() for future in [pool.submit(store) for _ in range(3)]]
    assert len(parsed) == 1
    assert {len(one) for one in found} == {3}
    assert "another process parses these molecules" in caplog.text


def test_a_store_that_is_there_needs_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a cache that cannot be written can be read."""
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path))
    cached.stored_texts(SMILES, "mine")
    monkeypatch.setattr(cached, "waiting_for", None)
    assert len(cached.stored_texts(SMILES, "mine")) == 3


def test_a_damaged_store_is_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path))
    folder = cached.stored_texts(SMILES, "mine").folder
    (folder / "atoms.npy").write_bytes(b"nothing")
    assert len(cached.stored_texts(SMILES, "mine")) == 3
    assert "parsed again" in caplog.text
