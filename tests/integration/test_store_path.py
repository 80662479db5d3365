"""Tables → a store → pre-training by mini-batches, interrupted and resumed → embeddings → scores."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

import graphmae as gm
from graphmae.experiments import pretrain as pretraining
from graphmae.experiments.folder import RunFolder
from graphmae.runtime.errors import InputError, Interrupted

SMALL = ["encoder.hidden_channels=16", "train.batch_size=50", "train.sampler=neighbour", "evaluation.epochs=5"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    kind = rng.integers(0, 2, 300)
    nodes = {"id": [f"p{i}" for i in range(300)], "a": kind + rng.normal(size=300), "b": rng.normal(size=300)}
    pa.parquet.write_table(pa.table({**nodes, "topic": [["x", "y"][k] for k in kind]}), folder / "nodes.parquet")
    ends = rng.integers(0, 300, (2, 1500))
    edges = {"source": [f"p{i}" for i in ends[0]], "target": [f"p{i}" for i in ends[1]]}
    pa.parquet.write_table(pa.table(edges), folder / "edges.parquet")
    tables = [str(folder / "nodes.parquet"), str(folder / "edges.parquet")]
    gm.store(tables, folder / "store", columns={"label": "topic"})
    return folder


def test_from_tables_to_scores(store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="graphmae")
    gm.pretrain("auto", str(store / "store"), 2, tmp_path / "run", overrides=SMALL, progress=False, device="cpu")
    assert "mini-batches of 512 seeds" in caplog.text and "for data" in caplog.text
    assert "approximation: mini-batches of 50 seeds" in (tmp_path / "run" / "README.md").read_text()
    found = gm.embed(tmp_path / "run", str(store / "store"), out=tmp_path / "z.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "z.parquet")
    assert table.column("id").to_pylist()[:2] == ["p0", "p1"] and found.shape == (300, 16)
    tables = [str(store / "nodes.parquet"), str(store / "edges.parquet")]  # the same from memory, by the model
    assert torch.allclose(gm.embed(tmp_path / "run", tables), found, atol=1e-5)
    result = gm.evaluate(tmp_path / "run", str(store / "store"), device="cpu")
    assert set(result.summary()["baselines"]) == {"raw", "untrained"}


def test_stopped_in_the_middle_of_an_epoch_and_resumed(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, dataset = pretraining_recipe(store)
    cpu, whole = torch.device("cpu"), RunFolder(tmp_path / "whole")
    expected = pretraining.pretrain_once(recipe, dataset, 0, cpu, folder=whole)
    from graphmae.training.collapse import Collapse

    note = Collapse.note

    def stopping(self: Collapse, step: int, loss: torch.Tensor) -> None:
        if step == 9:  # of 6 in an epoch
            os.kill(os.getpid(), signal.SIGTERM)
        note(self, step, loss)

    folder = RunFolder(tmp_path / "cut")
    with monkeypatch.context() as patch:
        patch.setattr(Collapse, "note", stopping)
        with pytest.raises(Interrupted, match="stopped after step 9 of 18"):
            pretraining.pretrain_once(recipe, dataset, 0, cpu, folder=folder)
    found = pretraining.pretrain_once(recipe, dataset, 0, cpu, folder=folder, resume=True)
    for key, value in expected.state_dict().items():
        assert torch.equal(value, found.state_dict()[key]), key
    weights = [(path / "model.safetensors").read_bytes() for path in (whole.path, folder.path)]
    assert weights[0] == weights[1]


def pretraining_recipe(store: Path) -> tuple[Any, Any]:
    from graphmae.experiments import auto

    return auto.recipe_for(str(store / "store"), "auto", [*SMALL, "train.epochs=3"])


def test_what_needs_the_whole_graph_is_refused(store: Path) -> None:
    path = str(store / "store")
    for change, words in (
        ("embedding.views=['own']", "embedding.views need the whole graph"),
        ("train.patience=3", "train.patience looks at the whole graph"),
    ):
        with pytest.raises(InputError, match=words):
            gm.pretrain("auto", path, 1, overrides=[*SMALL, change], progress=False, device="cpu")


def test_a_small_store_is_treated_as_a_graph_in_memory(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="graphmae")
    changes = ["encoder.hidden_channels=16"]
    model = gm.pretrain("auto", str(store / "store"), 1, overrides=changes, progress=False, device="cpu")
    assert "small enough" in caplog.text and model.views is not None
    tables = [str(store / "nodes.parquet"), str(store / "edges.parquet")]
    assert gm.embed(model, str(store / "store")).shape == gm.embed(model, tables).shape
