"""Whole graphs, end to end: a folder of TU files → pre-training → ten folds → embeddings, on the command line too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch
from typer.testing import CliRunner

import graphmae as gm
from graphmae.cli.main import app
from graphmae.runtime.errors import DataError, InputError
from raw_files import write_rings_and_stars

QUICK = [
    "encoder.hidden_channels=16", "encoder.num_layers=2", "encoder.output=all", "train.epochs=3",
    "train.batch_size=16", "evaluation.readout=mean+max", "evaluation.standardize=true",
]  # fmt: skip


def recipe(folder: Path, *changes: str) -> gm.config.Recipe:
    base = gm.recipe("graph/mutag").to_dict()
    base["data"] = {"name": "tu", "path": str(folder)}
    base.pop("published")
    return gm.recipe(base, *QUICK, *changes)


def test_a_folder_of_graphs_is_pre_trained_on_and_evaluated_in_ten_folds(tmp_path: Path) -> None:
    folder = write_rings_and_stars(tmp_path / "shapes")
    result = gm.run(recipe(folder), seeds=[0, 1], out=tmp_path / "run", progress=False)
    assert set(result.rows()) == {"raw", "untrained", "wl", "graph2vec", "pretrained"}
    assert result.rule == "folds"
    assert 80 < result.mean <= 100
    assert result.scores != result.column("pretrained", "inner")
    header, lines = result.table()
    assert header == ["", "accuracy, ten folds", "accuracy, ten folds, reading chosen inside", "inner folds"]
    assert len(lines) == 5
    z = gm.embed(tmp_path / "run" / "seed-0", folder, readout="mean+max")
    assert z.shape == (60, 64)
    assert gm.embed(tmp_path / "run" / "seed-0", folder, level="node")[0].shape[1] == 32
    again = gm.evaluate(tmp_path / "run" / "seed-0", folder, seeds=[0])
    assert again.mean == pytest.approx(result.scores[0])


def test_the_same_seed_gives_the_same_weights_on_the_cpu(tmp_path: Path) -> None:
    folder = write_rings_and_stars(tmp_path / "shapes")
    made = recipe(folder, "evaluation.baselines=[]")
    for name in ("a", "b"):
        gm.run(made, seeds=[3], out=tmp_path / name, device="cpu", progress=False)
    first, second = (gm.load(tmp_path / name / "seed-3") for name in ("a", "b"))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


def test_on_the_command_line(tmp_path: Path) -> None:
    folder = write_rings_and_stars(tmp_path / "shapes")
    changes = [f"--set={change}" for change in [*QUICK[:3], "train.epochs=1"]]
    pretrain = ["pretrain", str(folder), "--recipe", "graph/mutag", "--out", str(tmp_path / "mine"), *changes]
    done = CliRunner().invoke(app, pretrain)
    assert done.exit_code == 0, done.output
    out = tmp_path / "z.csv"
    done = CliRunner().invoke(
        app, ["embed", str(tmp_path / "mine"), str(folder), "--level", "graph", "--readout", "max", "-o", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert np.loadtxt(out, delimiter=",").shape == (60, 32)
    done = CliRunner().invoke(app, ["evaluate", str(tmp_path / "mine"), str(folder), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[-1])["rule"] == "folds"


def test_sets_that_cannot_be_evaluated_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    one = write_rings_and_stars(tmp_path / "one", classes=(1, 1))
    with pytest.raises(DataError, match="single class"):
        gm.run(recipe(one), seeds=[0], out=tmp_path / "run", progress=False)
    few = write_rings_and_stars(tmp_path / "few", count=18)
    with pytest.raises(DataError, match="smallest class has 9 of the graphs; ten folds"):
        gm.run(recipe(few), seeds=[0], out=tmp_path / "run", progress=False)
    with pytest.raises(InputError, match="'folds' is not for nodes"):
        gm.run("default", overrides=["evaluation.rule=folds"], out=tmp_path / "run", progress=False)
    (one / "SHAPES_graph_labels.txt").unlink()
    with pytest.raises(DataError, match="no labels"):
        gm.run(recipe(one), seeds=[0], out=tmp_path / "run", progress=False)
    (one / "SHAPES_graph_indicator.txt").unlink()
    with pytest.raises(DataError, match="graph_indicator"):
        gm.run(recipe(one), seeds=[0], out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


def test_graphs_come_as_a_list_a_batch_a_file_or_one_by_one(tmp_path: Path) -> None:
    folder = write_rings_and_stars(tmp_path / "shapes")
    made = recipe(folder, "evaluation.rule=last", "evaluation.readout=sum", "evaluation.baselines=['raw']")
    result = gm.run(made, seeds=[0], out=tmp_path / "run", progress=False)
    assert result.rule == "folds"  # the one rule sets of graphs have
    checkpoint = tmp_path / "run" / "seed-0"
    rows = gm.embed(checkpoint, folder)
    assert torch.equal(rows, gm.embed(checkpoint, folder, readout="sum"))  # the recipe's
    whole = gm.data.load_tu(folder, self_loops=False)
    graphs = [whole.graph(i) for i in range(len(whole))]
    assert graphs[0].y.shape == (1,)
    for given in (graphs, Batch.from_data_list(graphs)):
        assert torch.allclose(gm.embed(checkpoint, given, level="graph"), rows, atol=1e-4)
    nodes = gm.embed(checkpoint, graphs)
    assert torch.allclose(torch.stack([part.sum(0) for part in nodes]), rows, atol=1e-4)
    assert torch.allclose(gm.embed(checkpoint, graphs[0]), nodes[0], atol=1e-5)
    np.savez(tmp_path / "one.npz", x=graphs[0].x, edge_index=graphs[0].edge_index)
    assert torch.allclose(gm.embed(checkpoint, tmp_path / "one.npz"), nodes[0], atol=1e-5)
    assert gm.evaluate(checkpoint, graphs, seeds=[0]).mean == pytest.approx(result.mean, abs=2)
    with pytest.raises(InputError, match="empty"):
        gm.embed(checkpoint, [])
    with pytest.raises(DataError, match="features of the kind 'labels'"):
        gm.embed(checkpoint, "synthetic")


def test_seeds_side_by_side_give_what_they_give_one_after_the_other(tmp_path: Path) -> None:
    made = recipe(write_rings_and_stars(tmp_path / "shapes"), "evaluation.baselines=[]")
    alone = gm.run(made, seeds=[0, 1], out=tmp_path / "a", device="cpu", progress=False)
    together = gm.run(made, seeds=[0, 1], out=tmp_path / "b", device="cpu", progress=False, jobs=2)
    assert together.seeds == [0, 1]
    assert together.scores == pytest.approx(alone.scores, abs=2)  # other thread counts round other sums
