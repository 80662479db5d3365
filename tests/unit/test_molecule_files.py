"""Embeddings of molecules keep the names of their file; lines that are no molecules say so."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import graphmae as gm
from graphmae.data import open as open_dataset

pytest.importorskip("rdkit", reason="RDKit is not installed")
SMILES = ["CCO", "C(C", "c1ccccc1"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.smi", "CCO ethanol\nC(C broken\nc1ccccc1\tbenzene\n"),
        ("a.csv", "Compound;SMILES \nethanol;CCO\nbroken;C(C\nbenzene;c1ccccc1\n"),
    ],
)
def test_names_header_and_bad_lines_are_in_the_file(
    name: str, text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, model = tmp_path / name, gm.load("molecule-zinc")
    path.write_text(text)
    rows = gm.embed(model, path, out=tmp_path / "z.csv")
    assert rows.shape == (3, 300) and bool(rows[1].isnan().all())
    with (tmp_path / "z.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [row["id"] for row in written] == ["ethanol", "broken", "benzene"]
    assert [row["smiles"] for row in written] == SMILES
    assert [row["problem"] for row in written] == ["", "not a molecule", ""]
    assert written[1]["z0"] == "" and float(written[2]["z0"]) == pytest.approx(float(rows[2, 0]), abs=1e-6)
    assert "1 of 3 strings are not molecules, the first in line" in caplog.text and "'C(C'" in caplog.text
    gm.embed(model, path, out=tmp_path / "z.npz")
    assert np.load(tmp_path / "z.npz")["ids"].tolist() == ["ethanol", "broken", "benzene"]


def test_a_list_of_smiles_is_embedded(tmp_path: Path) -> None:
    model = gm.load("molecule-zinc")
    rows = gm.embed(model, SMILES)
    assert rows.shape == (3, 300) and rows[:, 0].isnan().tolist() == [False, True, False]
    treated = open_dataset(["CC(=O)[O-].[Na+]", "CC(=O)O"], inputs={"features": "molecule", "standardize": True})
    assert np.array_equal(treated.sizes[0], treated.sizes[1])  # the salt is off
