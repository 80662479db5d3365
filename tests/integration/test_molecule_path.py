"""SMILES in, a checkpoint, embeddings out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from typer.testing import CliRunner

import graphmae as gm
from graphmae.cli.main import app
from graphmae.methods import build
from graphmae.runtime.errors import ConfigError, DataError, InputError

pytest.importorskip("rdkit", reason="RDKit is not installed")

SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "C/C=C/C#N", "c1ccc2[nH]ccc2c1", "CCO", "CCN(CC)CC"]


def test_a_file_of_molecules_is_pre_trained_on_and_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "mine.smi"
    file.write_text("\n".join([*SMILES * 10, "C(C", "CCO"]) + "\n")
    small = ["train.epochs=3", "train.batch_size=16", "encoder.hidden_channels=16", "encoder.num_layers=2"]
    folder = tmp_path / "run"
    gm.pretrain("auto", file, out=folder, overrides=small, progress=False)
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
    with pytest.raises(InputError, match="one embedding per molecule"):
        gm.embed(folder, str(file), level="node")
    with pytest.raises(DataError, match="pre-training alone"):
        gm.evaluate(folder, str(file))
    again = gm.pretrain(network, str(file), epochs=1, batch_size=16, progress=False)
    assert gm.embed(again, str(file)).shape == (62, 16)
    gm.embed(folder, file, out=tmp_path / "z.npy")
    assert np.allclose(np.load(tmp_path / "z.npy")[:60], rows[:60], atol=1e-5)


SMALL = ["train.epochs=2", "train.batch_size=64", "encoder.hidden_channels=16", "encoder.num_layers=2"]
ALONE = "finetune.members=[]"  # the encoder alone, as published
QUICK = ["finetune.epochs=4", "finetune.lr=0.01", "finetune.dropout=0.0", ALONE]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pre-trained for two epochs on the molecules that come with RDKit."""
    folder = tmp_path_factory.mktemp("nci")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHMAE_CACHE", str(folder / "cache"))
        gm.pretrain("auto", "nci", out=folder / "run", overrides=SMALL, progress=False)
        return folder / "run"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))


def assay_table(folder: Path, count: int = 120) -> Path:
    """Chains with and without nitrogen: a class and a number anyone can learn; some cells are empty."""
    rows = ["name,SMILES,basic,size,split"]
    for i in range(count):
        chain, nitrogen = "C" * (1 + i % 12), i % 3 == 0
        part = "test" if i % 10 == 0 else "valid" if i % 10 == 1 else "train"
        basic = "" if i % 17 == 5 else str(int(nitrogen))
        middle, end = "N" if nitrogen else "O", "F" if i < 60 else "Cl"
        rows.append(f"m{i},{chain}{middle}{'C' * (i % 5)}{end},{basic},{len(chain)}.5,{part}")
    rows.insert(7, "bad,C1CC,1,3.5,train")
    path = folder / "assay.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.usefixtures("own_cache")
def test_fine_tuning_learns_saves_and_predicts(checkpoint: Path, tmp_path: Path) -> None:
    table = assay_table(tmp_path)
    quick = ["finetune.epochs=12", *QUICK[1:], 'finetune.baselines=["scratch","ecfp-linear","ecfp-forest"]']
    result = gm.finetune(
        checkpoint, table, ["basic"], tmp_path / "run", smiles="SMILES", split="split", overrides=quick, progress=False
    )
    assert result.metric == "roc-auc"
    assert set(result.rows()) == {"pretrained", "scratch", "ecfp-linear", "ecfp-forest"}
    assert result.mean > 90
    assert result.rule == "best-validation"
    stored = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert stored["encoder"]["hidden_channels"] == 16  # the checkpoint's own, not the published
    model = gm.load_predictor(tmp_path / "run")
    answers = gm.predict(model, ["CCCN", "not a molecule", "CCCO"])
    assert answers.shape == (3, 1)
    assert answers[1].isnan().all()
    assert answers[0] > answers[2]
    assert torch.allclose(gm.predict(tmp_path / "run", ["CCCN"])[0], answers[0], atol=1e-5)
    card = (tmp_path / "run" / "seed-0" / "README.md").read_text()
    assert "nci" in card and "graphmae predict" in card


@pytest.mark.usefixtures("own_cache")
def test_the_same_seed_gives_the_same_model(checkpoint: Path, tmp_path: Path) -> None:
    table = assay_table(tmp_path)
    runs = []
    for name in ("a", "b"):
        options = {"smiles": "SMILES", "split": "random", "overrides": [*QUICK, "finetune.baselines=[]"]}
        runs.append(gm.finetune(checkpoint, table, ["basic"], tmp_path / name, progress=False, **options))
    assert runs[0].scores == runs[1].scores
    weights = [gm.load_predictor(tmp_path / name).state_dict() for name in ("a", "b")]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("mode", ["frozen", "staged"])
def test_frozen_and_staged_fine_tuning(checkpoint: Path, tmp_path: Path, mode: str) -> None:
    table, before = assay_table(tmp_path), gm.load(checkpoint).encoder.state_dict()
    options = ["finetune.epochs=6", f"finetune.mode={mode}", "finetune.baselines=[]", "finetune.balance=true", ALONE]
    options.append("finetune.rule=last")
    where = {"smiles": "SMILES", "split": "random", "overrides": options, "progress": False}
    gm.finetune(checkpoint, table, ["basic"], tmp_path / "run", **where)
    after = gm.load_predictor(tmp_path / "run").encoder
    same = [torch.equal(before[key], value) for key, value in after.state_dict().items()]
    changed = [not torch.equal(before[key], value) for key, value in after.named_parameters()]
    assert all(same) if mode == "frozen" else all(changed)


@pytest.mark.usefixtures("own_cache")
def test_numbers_are_fine_tuned_on_with_errors_in_their_units(checkpoint: Path, tmp_path: Path) -> None:
    table = assay_table(tmp_path)
    result = gm.finetune(
        checkpoint, table, ["size"], tmp_path / "run", smiles="SMILES", split="random",
        overrides=["finetune.epochs=60", *QUICK[1:]], progress=False,
    )  # fmt: skip
    assert result.metric == "rmse"
    assert result.mean < 2  # the numbers deviate by 3.5
    assert 0.4 < result.column("pretrained", "mae")[0] / result.column("pretrained", "last")[0] < 1
    assert float(gm.predict(tmp_path / "run", ["CCCCCCO"])[0]) == pytest.approx(6.5, abs=3)


@pytest.mark.usefixtures("own_cache")
def test_a_table_keeps_its_rows_and_says_which_it_could_not_read(checkpoint: Path, tmp_path: Path) -> None:
    table = assay_table(tmp_path)
    where = {"smiles": "SMILES", "split": "split", "overrides": QUICK, "progress": False}
    gm.finetune(checkpoint, table, ["basic"], tmp_path / "run", **where)
    answers = gm.predict(tmp_path / "run", table, smiles="SMILES", out=tmp_path / "out.csv")
    rows, bad = len(answers), int(answers[:, 0].isnan().sum())
    assert (rows, bad) == (121, 1)
    before, after = ([*csv.reader(path.open())] for path in (table, tmp_path / "out.csv"))
    assert after[0] == [*before[0], "basic_predicted", "basic_spread", "problem"]
    assert [row[:5] for row in after[1:]] == before[1:]
    unread = [row for row in after[1:] if row[7]]
    assert [row[0] for row in unread] == ["bad"] and unread[0][5:] == ["", "", "not a molecule"]
    assert all(0 <= float(row[5]) <= 1 for row in after[1:] if not row[7])
    gm.predict(tmp_path / "run", tmp_path / "out.csv", smiles="SMILES", out=tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "out.csv").read_text()  # replaced
    (tmp_path / "own.csv").write_text("SMILES,basic_predicted\nCCO,1\n")
    with pytest.raises(InputError, match="already has a column 'basic_predicted'"):
        gm.predict(tmp_path / "run", tmp_path / "own.csv", out=tmp_path / "again.csv")
    plain = tmp_path / "new.smi"
    plain.write_text("CCO one\nxx two\n")
    assert gm.predict(tmp_path / "run", plain, out=tmp_path / "plain.csv").isnan().sum() == 1


@pytest.mark.usefixtures("own_cache")
def test_wrong_checkpoints_and_splits_are_refused_before_training(checkpoint: Path, tmp_path: Path) -> None:
    table = assay_table(tmp_path)
    with pytest.raises(InputError, match="not a fine-tuned model"):
        gm.predict(checkpoint, ["CCO"])
    graph = Data(x=torch.rand(9, 8), edge_index=torch.zeros(2, 1, dtype=torch.long))
    nodes = gm.pretrain(build(gm.recipe("default"), 8), graph, epochs=1, progress=False)
    nodes.save_pretrained(str(tmp_path / "nodes"))
    with pytest.raises(InputError, match="not pre-trained on molecules"):
        gm.finetune(tmp_path / "nodes", table, ["basic"], tmp_path / "x", smiles="SMILES", progress=False)
    with pytest.raises(InputError, match="unknown split 'sacffold'"):
        gm.finetune(checkpoint, table, ["basic"], tmp_path / "x", smiles="SMILES", split="sacffold", progress=False)
    with pytest.raises(DataError, match=r"(\d+) of \1 molecules share one scaffold"):
        gm.finetune(checkpoint, table, ["basic"], tmp_path / "x", smiles="SMILES", progress=False)
    one = tmp_path / "one.csv"
    one.write_text("smiles,y\n" + "CCO,1\n" * 30)
    with pytest.raises(DataError, match="only one class"):
        gm.finetune(checkpoint, one, ["y"], tmp_path / "x", progress=False)
    assert not (tmp_path / "x").exists()
    with pytest.raises(ConfigError, match=r"finetune\.checkpoint"):
        gm.run("molecule/chembl-series", out=tmp_path / "x", progress=False)


@pytest.mark.usefixtures("own_cache")
def test_a_first_run_needs_no_download(checkpoint: Path, tmp_path: Path) -> None:
    options = [f"finetune.checkpoint={checkpoint}", *QUICK, 'finetune.baselines=["ecfp-linear"]']
    result = gm.run("molecule/chembl-series", out=tmp_path / "run", overrides=options, progress=False)
    assert result.data["name"] == "chembl-series" and result.metric == "rmse"
    assert result.mean < 5


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("options", [["mask.mask_edges=true"], ["mask.drop_edge=0.3"], ["loss.name=cross-entropy"]])
def test_options_of_pre_training_on_molecules(tmp_path: Path, options: list[str]) -> None:
    file = tmp_path / "mine.smi"
    file.write_text("\n".join(SMILES * 10) + "\n")
    folder = tmp_path / "run"
    gm.pretrain("auto", file, out=folder, overrides=[*SMALL, "train.epochs=4", *options], progress=False)
    losses = [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").open()]
    assert losses[-1] < losses[0]
    assert gm.load(folder).mask_edges == (options == ["mask.mask_edges=true"])


OWN_ENCODER = '''
import torch
from torch import nn
import graphmae as gm


@gm.encoders.register("plain-mean")
class PlainMean(nn.Module):
    """Takes a tensor of edges, knows nothing of ours."""

    def __init__(self, in_channels: int, width: int = 16) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, width
        self.map = nn.Linear(in_channels, width)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        assert isinstance(edge_index, torch.Tensor) and edge_index.shape[0] == 2
        h = self.map(x)
        return torch.relu(h + torch.zeros_like(h).index_add(0, edge_index[1], h[edge_index[0]]))
'''


@pytest.mark.usefixtures("own_cache")
def test_an_encoder_of_ones_own_is_pretrained_embedded_finetuned_and_predicts(tmp_path: Path) -> None:
    own = tmp_path / "own_encoder.py"
    own.write_text(OWN_ENCODER)
    (tmp_path / "some.smi").write_text("".join(f"C{'C' * i}O\nC{'C' * i}N\n" for i in range(20)))
    table = assay_table(tmp_path)

    def call(*words: object) -> None:
        done = CliRunner().invoke(app, [*map(str, words), "--import", str(own)], catch_exceptions=False)
        assert done.exit_code == 0, done.output

    changes = ("--set", "encoder.name=plain-mean", "--set", "train.epochs=1", "--set", "train.batch_size=8")
    call("pretrain", tmp_path / "some.smi", "--out", tmp_path / "run", *changes)
    call("embed", tmp_path / "run", tmp_path / "some.smi", "-o", tmp_path / "z.npy")
    more = ("--set", "finetune.epochs=2", "--split", "random", "--smiles", "SMILES", "--targets", "basic")
    members = ("--set", 'finetune.members=["finetuned","frozen-linear"]', "--set", "finetune.search=false")
    call("finetune", tmp_path / "run", table, *more, *members, "--out", tmp_path / "assay")
    call("predict", tmp_path / "assay", table, "--smiles", "SMILES", "-o", tmp_path / "out.csv")
    assert "basic_predicted" in (tmp_path / "out.csv").read_text().splitlines()[0]


@pytest.mark.usefixtures("own_cache")
def test_a_setting_without_effect_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"fine-tuning does not use train.epochs"):
        gm.finetune(checkpoint, assay_table(tmp_path), ["basic"], tmp_path / "run", overrides=["train.epochs=5"])
    with pytest.raises(ConfigError, match=r"pre-training does not use finetune.lr"):
        gm.pretrain("auto", "nci", out=tmp_path / "run", overrides=["finetune.lr=1"])
    assert not (tmp_path / "run").exists()
