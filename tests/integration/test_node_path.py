"""The node task from recipe to result, on the synthetic graph; on real data where it lies in GRAPHMAE_DATA."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

import graphmae as gm
from graphmae.runtime.errors import ConfigError, InputError, Interrupted
from raw_files import write_arxiv, write_ppi, write_reddit

SHORT = ["train.epochs=6", "evaluation.epochs=20", "evaluation.supervised_epochs=5", "data.num_nodes=240"]

NODE_ROWS = {"raw", "averaged", "propagated", "netmf", "netmf-propagated", "untrained", "supervised"}


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def run(out: Path, *overrides: str, **options: object) -> gm.Result:
    return gm.run("default", out=out, overrides=[*SHORT, *overrides], device="cpu", progress=False, **options)  # type: ignore[arg-type]


def test_pretraining_visibly_helps_on_the_synthetic_graph(tmp_path: Path) -> None:
    result = gm.run("default", seeds=[0], out=tmp_path / "run", device="cpu", progress=False)
    rows = {row: result.column(row, "last")[0] for row in result.rows()}
    assert rows["pretrained"] > rows["untrained"] + 5
    assert rows["pretrained"] > rows["raw"] + 10


def test_a_run_leaves_everything_in_its_folder(tmp_path: Path) -> None:
    result = run(tmp_path / "run", seeds=[3, 5])
    folder = tmp_path / "run"
    assert {p.name for p in folder.iterdir()} == {".lock", "recipe.json", "result.json", "seed-3", "seed-5"}
    assert {p.name for p in (folder / "seed-3").iterdir()} == {
        "README.md", "config.json", "metrics.jsonl", "model.safetensors", "scores.json",
    }  # fmt: skip
    stored = json.loads((folder / "result.json").read_text())
    assert stored["seeds"] == [3, 5]
    assert stored["config"] == json.loads((folder / "recipe.json").read_text())
    assert stored["versions"]["torch"]
    assert stored["hardware"]
    assert stored["peak_bytes"] > 1e6
    assert len(result.scores) == 2
    assert len((folder / "seed-3/metrics.jsonl").read_text().splitlines()) == 6
    assert gm.Result.load(folder / "result.json").mean == result.mean


def test_the_same_seed_gives_bit_identical_weights_however_often_it_is_evaluated(tmp_path: Path) -> None:
    for name, every in (("a", 0), ("b", 0), ("c", 2), ("d", 1)):
        run(tmp_path / name, f"evaluation.every={every}")
    assert len({digest(tmp_path / name / "seed-0") for name in "abcd"}) == 1
    lines = [json.loads(line) for line in (tmp_path / "c/seed-0/metrics.jsonl").read_text().splitlines()]
    assert ["probe" in line for line in lines] == [False, True] * 3
    run(tmp_path / "e", seeds=[1])
    assert digest(tmp_path / "e/seed-1") != digest(tmp_path / "a/seed-0")


def test_an_interrupted_run_resumes_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "whole", seeds=[0, 1])
    labels = []

    def stop(self: object, epoch: int, loss: float, lr: float) -> None:
        if labels[-1] == "default, seed 1" and epoch == 3 and len(labels) < 20:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("graphmae.training.progress.Quiet.start", lambda self, label, *_: labels.append(label))
    monkeypatch.setattr("graphmae.training.progress.Quiet.update", stop)
    with pytest.raises(Interrupted, match="--resume"):
        run(tmp_path / "cut", seeds=[0, 1])
    assert (tmp_path / "cut/seed-1/state.safetensors").is_file()
    with pytest.raises(InputError, match="--resume"):
        run(tmp_path / "cut", seeds=[0, 1])
    with pytest.raises(InputError, match="other settings"):
        run(tmp_path / "cut", "mask.rate=0.3", seeds=[0, 1], resume=True)
    monkeypatch.undo()
    again = run(tmp_path / "cut", seeds=[0, 1], resume=True)
    assert again.seeds == [0, 1]
    for seed in (0, 1):
        assert digest(tmp_path / f"cut/seed-{seed}") == digest(tmp_path / f"whole/seed-{seed}")
    assert not (tmp_path / "cut/seed-1/state.safetensors").exists()


@pytest.fixture
def sage() -> str:
    """A 20-line encoder from outside."""

    @gm.encoders.register("sage")
    class SAGE(nn.Module):
        def __init__(self, in_channels: int, hidden_channels: int = 32, depth: int = 2) -> None:
            super().__init__()
            self.in_channels, self.out_channels = in_channels, hidden_channels
            widths = [in_channels] + [hidden_channels] * depth
            self.convs = nn.ModuleList(SAGEConv(a, b) for a, b in pairwise(widths))

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            for conv in self.convs:
                x = conv(x, edge_index).relu()
            return x

    return "sage"


def test_an_encoder_from_outside_runs_from_a_recipe(tmp_path: Path, sage: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'extends = "default"\n[encoder]\nname = "{sage}"\ndepth = 3\n')
    result = gm.run(file, out=tmp_path / "run", overrides=SHORT, device="cpu", progress=False)
    assert result.config["encoder"] == {"name": "sage", "hidden_channels": 256, "depth": 3}
    model = gm.load(tmp_path / "run")
    assert len(model.encoder.convs) == 3
    gm.testing.check_encoder(lambda width: gm.encoders.build("sage", in_channels=width))


def test_a_misspelt_option_of_it_is_refused_before_training(tmp_path: Path, sage: str) -> None:
    with pytest.raises(ConfigError, match="'dept'; did you mean 'depth'"):
        run(tmp_path / "run", f"encoder.name={sage}", "encoder.dept=3")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("write", "recipe"), [(write_arxiv, "node/ogbn-arxiv"), (write_ppi, "node/ppi"), (write_reddit, "node/reddit")]
)
def test_the_large_sets_run_their_recipes_from_small_files(write, recipe: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    write(tmp_path / "data")
    result = gm.run(
        recipe,
        out=tmp_path / "run",
        overrides=[
            "train.epochs=3",
            "encoder.hidden_channels=16",
            "evaluation.epochs=5",
            "evaluation.supervised_epochs=2",
        ],
        data_root=tmp_path / "data",
        device="cpu",
        progress=False,
    )
    assert set(result.rows()) == {*NODE_ROWS, "pretrained"}
    published = gm.recipe(recipe).published
    assert published is not None and result.metric == published.metric and result.published is None  # other settings
    assert gm.load(tmp_path / "run").encoder.out_channels == 16


def test_two_graphs_a_batch_as_ppi_is_trained(tmp_path: Path) -> None:
    write_ppi(tmp_path)
    from graphmae.batching import GraphStore, Shuffled

    store = GraphStore(gm.data.load("ppi", tmp_path).pretrain_sets())
    sizes = [len(batch.x) for batch in Shuffled(torch.arange(len(store)), 2, store.take)]
    assert sorted(sizes) == [10, 20]


ABLATIONS = [
    "encoder.name=gcn",
    "encoder.name=gin",
    "encoder.output=all",
    "decoder.name=gin",
    "decoder.name=mlp",
    "decoder.bias=fixed",
    "loss.name=mse",
    "mask.remask=learnable",
    "mask.keep_rate=0.1",
    "mask.drop_edge=0.3",
    "train.clip_norm=1.0",
    "train.schedule=constant",
]


@pytest.mark.parametrize("override", ABLATIONS)
def test_every_ablation_is_one_override(override: str, tmp_path: Path) -> None:
    result = run(tmp_path / "run", override, "evaluation.baselines=[]")
    assert result.rows() == ["pretrained"]


def test_cross_entropy_needs_one_hot_features(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one-hot"):
        run(tmp_path / "run", "loss.name=cross-entropy")


@pytest.mark.data
def test_real_cora_in_a_few_epochs_beats_raw_features(tmp_path: Path, data_root: Path) -> None:
    before = sorted((p, p.stat().st_mtime_ns) for p in (data_root / "Planetoid").rglob("*"))
    overrides = ["train.epochs=60", "encoder.hidden_channels=256", "evaluation.baselines=['raw']"]
    result = gm.run(
        "node/cora", out=tmp_path / "run", overrides=overrides, data_root=data_root, device="cpu", progress=False
    )
    assert result.scores[0] > result.column("raw", "last")[0] + 10
    assert result.data["nodes"] == 2708
    z = gm.embed(tmp_path / "run", gm.data.load("cora", data_root))
    assert z.shape == (2708, 256)
    assert torch.isfinite(z).all()
    assert sorted((p, p.stat().st_mtime_ns) for p in (data_root / "Planetoid").rglob("*")) == before


def test_a_run_killed_while_it_is_evaluated_does_not_train_again(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from graphmae.evaluation import Evaluator

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    whole = run(tmp_path / "whole", "evaluation.baselines=[]")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Evaluator, "tables", killed)
        run(tmp_path / "run", "evaluation.baselines=[]")
    loss, trained = gm.GraphMAE.loss, []

    def watched(self: gm.GraphMAE, batch: object) -> Tensor:
        trained.append(self.training)
        return loss(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(gm.GraphMAE, "loss", watched)
    resumed = run(tmp_path / "run", "evaluation.baselines=[]", resume=True)
    assert resumed.scores == whole.scores
    assert not any(trained)
    assert not (tmp_path / "run/seed-0/state.safetensors").exists()
