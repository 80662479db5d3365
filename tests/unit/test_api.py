from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.experiments import pretrain as pretraining
from graphmae.runtime.errors import ConfigError, DataError, InputError
from raw_files import write_reddit


def small(width: int = 6) -> gm.GraphMAE:
    torch.manual_seed(0)
    return gm.GraphMAE(gm.encoders.GCN(width, 8), gm.decoders.GCN(8, width))


def quick(model: gm.GraphMAE, data: object, **options: object) -> gm.GraphMAE:
    return gm.pretrain(model, data, epochs=2, progress=False, device="cpu", **options)  # type: ignore[arg-type]


def test_the_treatment_of_features_travels_with_the_model(tmp_path: Path) -> None:
    raw = gm.data.load("synthetic", features="raw", self_loops=False).graphs[0]
    model = quick(small(600), "synthetic", out=tmp_path / "model")
    assert model.inputs == {"features": "row-normalize", "self_loops": True}
    expected = gm.embed(model, "synthetic")
    assert torch.allclose(gm.embed(model, raw), expected, atol=1e-6)
    assert torch.allclose(gm.embed(gm.load(tmp_path / "model"), raw), expected, atol=1e-6)


def test_a_stored_scale_is_used_for_new_graphs(tmp_path: Path) -> None:
    write_reddit(tmp_path / "data")
    dataset = gm.data.load("reddit", tmp_path / "data")
    model = quick(small(7), dataset, out=tmp_path / "model")
    with np.load(tmp_path / "data/Reddit/raw/reddit_data.npz") as raw:
        one = Data(x=torch.from_numpy(raw["feature"][70:71]), edge_index=torch.empty(2, 0, dtype=torch.long))
    alone = Data(x=dataset.graphs[1].x[70:71], edge_index=torch.zeros(2, 1, dtype=torch.long))
    model = gm.load(tmp_path / "model")
    assert torch.allclose(gm.embed(model, one), model.encoder(alone.x, alone.edge_index), atol=1e-5)


def test_every_reddit_post_is_embedded_once(tmp_path: Path) -> None:
    write_reddit(tmp_path)
    model = quick(small(7), gm.data.load("reddit", tmp_path))
    assert gm.embed(model, "reddit", data_root=tmp_path).shape == (90, 8)


def test_what_cannot_be_stored_is_refused_before_training(tmp_path: Path, tiny: Data) -> None:
    @gm.encoders.register("unstorable")
    class Own(gm.encoders.GCN):
        def __init__(self, in_channels: int, act: object = None) -> None:
            super().__init__(in_channels, 8)

    model = gm.GraphMAE(Own(6, act=torch.relu), gm.decoders.GCN(8, 6))
    with pytest.raises(ConfigError, match="cannot hold"):
        quick(model, tiny, out=tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_folder_with_a_model_is_not_overwritten(tmp_path: Path, tiny: Data) -> None:
    quick(small(), tiny, out=tmp_path / "model")
    with pytest.raises(InputError, match="already holds a model"):
        quick(small(), tiny, out=tmp_path / "model")


def test_callers_randomness_is_left_alone(tiny: Data) -> None:
    torch.manual_seed(5)
    expected = torch.rand(2)
    model = small()
    torch.manual_seed(5)
    quick(model, tiny)
    assert torch.equal(torch.rand(2), expected)


def test_graphs_work_in_inference_mode_and_can_be_saved_afterwards(tmp_path: Path, tiny: Data) -> None:
    model = quick(small(), tiny)
    with torch.inference_mode():
        inside = gm.embed(model, Data(x=tiny.x.clone(), edge_index=tiny.edge_index.clone()))
    assert torch.equal(inside, gm.embed(model, tiny))
    model.encoder(tiny.x, tiny.edge_index)
    torch.save(tiny, tmp_path / "graph.pt")
    assert torch.equal(gm.data.read_graph(tmp_path / "graph.pt").edge_index, tiny.edge_index)


def test_evaluate_takes_the_settings_of_the_checkpoints_run(tmp_path: Path) -> None:
    overrides = ["train.epochs=2", "evaluation.epochs=7", "evaluation.supervised_epochs=1", "data.num_nodes=120"]
    gm.run("default", out=tmp_path / "run", overrides=overrides, progress=False, device="cpu")
    data = gm.data.load("synthetic", num_nodes=120)
    again = gm.evaluate(tmp_path / "run", data, device="cpu")
    assert again.config["evaluation"]["epochs"] == 7
    assert again.scores == gm.Result.load(tmp_path / "run/result.json").scores
    with pytest.raises(InputError, match=r"only evaluation\.\*"):
        gm.evaluate(tmp_path / "run", data, overrides=["mask.rate=0.9"])


@pytest.mark.parametrize("seeds", [[], [0, 0], [-1], [2**32]])
def test_impossible_seeds(seeds: list[int], tiny: Data) -> None:
    with pytest.raises(InputError, match="seeds must"):
        gm.evaluate(small(), tiny, seeds)
    with pytest.raises(InputError, match="seeds must"):
        gm.run("default", seeds)


@pytest.mark.parametrize(
    ("y", "metric"),
    [
        (torch.arange(12).reshape(-1, 1) % 2, "accuracy"),
        (torch.arange(12) % 2 == 0, "accuracy"),
        ((torch.arange(12) % 2).float(), "accuracy"),
        (torch.eye(3, dtype=torch.long).repeat(4, 1), "micro-f1"),
    ],
)
def test_labels_in_any_usual_form(y: torch.Tensor, metric: str, tiny: Data) -> None:
    tiny.y = y
    result = gm.evaluate(
        small(), tiny, device="cpu", overrides=["evaluation.epochs=3", "evaluation.supervised_epochs=2"]
    )
    assert result.metric == metric


@pytest.mark.parametrize("mask", ["train_mask", "val_mask", "test_mask"])
def test_a_missing_or_empty_split_is_named(mask: str, tiny: Data) -> None:
    whole = tiny[mask]
    tiny[mask] = torch.zeros(12, dtype=torch.bool)
    with pytest.raises(DataError, match="is empty"):
        gm.evaluate(small(), tiny)
    del tiny[mask]
    with pytest.raises(DataError, match=f"no {mask}"):
        gm.evaluate(small(), tiny)
    assert whole.any()


def test_odd_graphs(tiny: Data) -> None:
    for nodes in (1, 2):
        lonely = Data(x=torch.rand(nodes, 6), edge_index=torch.empty(2, 0, dtype=torch.long))
        assert torch.isfinite(gm.embed(quick(small(), lonely), lonely)).all()
    with pytest.raises(DataError, match="only zeros"):
        quick(small(), Data(x=torch.zeros(5, 6), edge_index=tiny.edge_index[:, :0]))


def test_a_pretraining_resumes_only_what_it_is(tmp_path: Path, tiny: Data) -> None:
    np.savez(tmp_path / "g.npz", x=tiny.x.numpy(), edge_index=tiny.edge_index.numpy().astype(np.uint32))
    options = {"overrides": ["train.epochs=2"], "device": "cpu", "out": tmp_path / "run", "progress": False}
    gm.pretrain("auto", tmp_path / "g.npz", resume=True, **options)  # type: ignore[arg-type]  # nothing yet: it begins
    with pytest.raises(InputError, match="already holds a run"):
        gm.pretrain("auto", tmp_path / "g.npz", **options)  # type: ignore[arg-type]
    before = (tmp_path / "run/model.safetensors").stat().st_mtime_ns
    gm.pretrain("auto", tmp_path / "g.npz", resume=True, **options)  # type: ignore[arg-type]
    assert (tmp_path / "run/model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(InputError, match="other settings"):
        gm.pretrain("auto", tmp_path / "g.npz", resume=True, seed=7, **options)  # type: ignore[arg-type]


def test_the_published_number_goes_with_its_data() -> None:
    assert gm.recipe("node/cora", "train.workers=2", "train.sampler=cluster", "train.batch_size=64").published is None
    assert gm.recipe("node/cora", "data.name=citeseer").published is None


class _Own(torch.nn.Module):
    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, 8
        self.linear = torch.nn.Linear(in_channels, 8)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


class _WrongShape(_Own):
    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.linear(x)[:, :5]


class _Raises(_Own):
    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        raise KeyError("oops")


@pytest.mark.parametrize(
    ("kind", "message"), [(_WrongShape, "out_channels promises"), (_Raises, r"KeyError: 'oops' \(test_api")]
)
def test_a_broken_part_is_refused_before_training(kind: type, message: str, tiny: Data, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        quick(gm.GraphMAE(kind(6), gm.decoders.GCN(8, 6)), tiny, out=tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_part_without_widths_is_refused() -> None:
    with pytest.raises(ConfigError, match="attribute in_channels"):
        gm.GraphMAE(torch.nn.Linear(6, 8), gm.decoders.GCN(8, 6))


def test_overlapping_splits_and_a_single_class_are_refused(tiny: Data) -> None:
    tiny.y = torch.zeros(12, dtype=torch.long)
    with pytest.raises(DataError, match="single class"):
        gm.evaluate(small(), tiny)
    tiny.train_mask = tiny.train_mask | tiny.test_mask
    with pytest.raises(DataError, match="4 nodes are in both the train and the test split"):
        gm.evaluate(small(), tiny)


def test_a_model_of_own_parts_is_trained_as_asked(monkeypatch) -> None:
    """The schedule, clipping and batch size reach the training under their own names."""
    seen = {}
    monkeypatch.setattr(pretraining, "pretrain", lambda *given, **named: seen.update(train=given[2]))
    data = gm.data.load("synthetic").graphs[0]
    model = gm.GraphMAE(
        encoder=gm.encoders.GCN(in_channels=data.num_features, hidden_channels=8),
        decoder=gm.decoders.GCN(in_channels=8, out_channels=data.num_features),
        mask=gm.masking.RandomNodeMask(rate=0.5),
        loss=gm.losses.ScaledCosineError(),
    )
    gm.pretrain(model, data, 3, lr=0.01, weight_decay=0.1, schedule="constant", clip_norm=2.0, progress=False)
    train = seen["train"]
    assert (train.epochs, train.lr, train.weight_decay) == (3, 0.01, 0.1)
    assert (train.schedule, train.clip_norm, train.optimizer) == ("constant", 2.0, "adam")
