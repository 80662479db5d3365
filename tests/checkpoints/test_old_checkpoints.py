"""Folders saved by earlier versions load for ever, and give the numbers they gave. One folder per format version.

Never write these files again: a new format gets a folder of its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.pretrained.locations import READABLE

FOLDER = Path(__file__).parent
VERSIONS = sorted(path.name for path in FOLDER.glob("v*"))


def expected(version: str, key: str) -> torch.Tensor:
    return torch.tensor(json.loads((FOLDER / version / "expected.json").read_text())[key])


def test_there_is_a_folder_for_every_format() -> None:
    assert [f"v{number}" for number in READABLE] == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_model_embeds_as_it_did(version: str) -> None:
    here = torch.arange(10)
    pairs = torch.stack([here, (here + 1) % 10])
    x = torch.linspace(0, 1, 60).reshape(10, 6).sin().abs()
    model = gm.load(FOLDER / version / "model")
    assert (model.mask.rate, model.criterion.gamma, model.remask.kind, model.drop_edge) == (0.3, 2, "learnable", 0.1)
    found = gm.embed(model, Data(x=x, edge_index=torch.cat([pairs, pairs.flip(0)], dim=1)))
    assert torch.allclose(found, expected(version, "embeddings"), atol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_predictor_predicts_as_it_did(version: str) -> None:
    pytest.importorskip("rdkit", reason="needs RDKit")
    found = gm.predict(FOLDER / version / "predictor", ["CCO", "c1ccccc1N"])
    assert torch.allclose(found, expected(version, "answers"), atol=1e-5)
