"""SMILES in, a checkpoint, embeddings out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphmae as gm
from graphmae import commands
from graphmae.runtime.errors import DataError, InputError

pytest.importorskip("rdkit", reason="RDKit is not installed")

SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "C/C=C/C#N", "c1ccc2[nH]ccc2c1", "CCO", "CCN(CC)CC"]


def test_a_file_of_molecules_is_pre_trained_on_and_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "mine.smi"
    file.write_text("\n".join([*SMILES * 10, "C(C", "CCO"]) + "\n")
    small = ["train.epochs=3", "train.batch_size=16", "encoder.hidden_channels=16", "encoder.num_layers=2"]
    folder = commands.pretrain_on(file, out=tmp_path / "run", overrides=small)
    losses = [float(line.split('"loss": ')[1].split(",")[0]) for line in (folder / "metrics.jsonl").open()]
    assert len(losses) == 3
    assert losses[-1] < losses[0]
    network = gm.load(folder)
    assert network.encoder.in_channels == 124
    assert network.decoder.out_channels == 119  # the kind of atom alone is reconstructed
    rows = gm.embed(folder, str(file))
    assert rows.shape == (62, 16)
    assert np.isnan(rows[60]).all()
    assert np.isfinite(np.delete(rows.numpy(), 60, axis=0)).all()
    assert np.allclose(rows[4], rows[61], atol=1e-5)  # the same molecule
    with pytest.raises(InputError, match="one row each"):
        gm.embed(folder, str(file), level="node")
    with pytest.raises(DataError, match="pre-training alone"):
        gm.evaluate(folder, str(file))
    again = gm.pretrain(network, str(file), epochs=1, batch_size=16, progress=False)
    assert gm.embed(again, str(file)).shape == (62, 16)
    commands.write_embeddings(folder, file, tmp_path / "z.npy")
    assert np.allclose(np.load(tmp_path / "z.npy")[:60], rows[:60], atol=1e-5)
