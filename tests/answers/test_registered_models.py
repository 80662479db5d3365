"""A model of another library comes back from a checkpoint as the model it was."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch_geometric.data import Data

import graphmae as gm
from commands import graphmae
from graphmae.runtime.errors import ConfigError

FEATURES = 6
# Models of PyG and options of theirs that only **kwargs takes.
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "GraphSAGE": {
        "aggr": ["mean", "max", "sum"], "normalize": [True, False], "project": [True, False],
        "root_weight": [True, False], "bias": [True, False],
    },
    "GCN": {"improved": [True, False], "normalize": [True, False], "add_self_loops": [True, False]},
    "GAT": {"heads": [1, 2, 4], "negative_slope": [0.1, 0.5], "add_self_loops": [True, False], "v2": [True, False]},
    "GIN": {"eps": [0.0, 0.5], "train_eps": [True, False], "aggr": ["add", "max"]},
    "EdgeCNN": {"aggr": ["max", "mean"]},
}  # fmt: skip
NAMED: dict[str, list[Any]] = {
    "dropout": [0.0, 0.3],
    "act": ["relu", "elu"],
    "jk": [None, "cat"],
    "norm": [None, "LayerNorm"],
}


@pytest.fixture
def graph() -> Data:
    draw = torch.Generator().manual_seed(0)
    edges = torch.randint(20, (2, 60), generator=draw)
    return Data(x=torch.rand(20, FEATURES, generator=draw), edge_index=torch.cat([edges, edges.flip(0)], dim=1))


@pytest.fixture
def registered() -> Iterator[None]:
    """PyG's classes as they were: registering a class changes its constructor."""
    classes = [getattr(pyg, name) for name in OPTIONS]
    before = [vars(cls).get("__init__") for cls in classes]
    for name, cls in zip(OPTIONS, classes, strict=True):
        gm.encoders.register(f"pyg-{name.lower()}")(cls)
    yield
    for cls, original in zip(classes, before, strict=True):
        del cls.registered_name
        if original is None:
            del cls.__init__
        else:
            cls.__init__ = original


def assert_same_after_loading(encoder: torch.nn.Module, graph: Data, folder: Path) -> None:
    model = gm.GraphMAE(encoder, gm.decoders.GCN(int(encoder.out_channels), FEATURES))  # type: ignore[arg-type]
    model.save_pretrained(folder)
    assert torch.equal(torch.as_tensor(gm.embed(model, graph)), torch.as_tensor(gm.embed(gm.load(folder), graph)))


def test_a_registered_sage_of_pyg_loads_as_itself(graph: Data, registered: None, tmp_path: Path) -> None:
    """normalize=True was lost on the way through a checkpoint: other embeddings, and no error."""
    for number, options in enumerate([{"normalize": True}, {"aggr": "max"}, {"project": True}, {"bias": False}]):
        encoder = pyg.GraphSAGE(FEATURES, 8, 2, **options)
        assert_same_after_loading(encoder, graph, tmp_path / str(number))


@pytest.mark.parametrize("seed", range(12))
def test_random_options_of_pyg_models_survive_a_checkpoint(
    seed: int, graph: Data, registered: None, tmp_path: Path
) -> None:
    """Whichever options a model of PyG was made with, the loaded one gives the same embeddings."""
    draw = random.Random(seed)
    for number, (name, own) in enumerate(OPTIONS.items()):
        options = {key: draw.choice(values) for key, values in {**own, **NAMED}.items() if draw.random() < 0.6}
        if options.get("normalize") is False and name == "GCN":
            options["add_self_loops"] = False
        torch.manual_seed(seed)
        encoder = getattr(pyg, name)(FEATURES, 8, 2, **options)
        assert_same_after_loading(encoder, graph, tmp_path / str(number))
        stored = json.loads((tmp_path / str(number) / "config.json").read_text())["encoder"]
        assert {key: stored[key] for key in options} == options


def test_the_untrained_baseline_has_the_options_too(graph: Data, registered: None) -> None:
    """ "untrained encoder" stood beside a trained one of another shape."""
    from graphmae.pretrained import fresh_encoder

    encoder = pyg.GraphSAGE(FEATURES, 8, 2, normalize=True, project=True)
    fresh = fresh_encoder(gm.GraphMAE(encoder, gm.decoders.GCN(8, FEATURES)))
    assert {k: v.shape for k, v in fresh.state_dict().items()} == {k: v.shape for k, v in encoder.state_dict().items()}
    assert all(conv.normalize for conv in fresh.convs)


def test_options_in_kwargs_can_be_set_in_a_recipe(registered: None) -> None:
    """A recipe takes the options a checkpoint holds, and misspelt ones are refused in words."""
    base = ("encoder.name=pyg-graphsage", "encoder.hidden_channels=8", "encoder.num_layers=2", "encoder.norm=LayerNorm")
    made = gm.recipe("default", *base, "encoder.aggr=max")
    assert made.encoder.options["aggr"] == "max"
    with pytest.raises(ConfigError, match="agr"):
        gm.recipe("default", *base, "encoder.agr=max")


def test_what_a_checkpoint_cannot_hold_is_refused_when_saving(graph: Data, tmp_path: Path) -> None:
    """Positional arguments without a name, and objects in **kwargs, were dropped without a word."""

    @gm.encoders.register("many-widths")
    class ManyWidths(torch.nn.Module):
        def __init__(self, in_channels: int, *widths: int, **more: Any) -> None:
            super().__init__()
            self.in_channels, self.out_channels = in_channels, widths[-1] if widths else 4
            self.layer = torch.nn.Linear(in_channels, self.out_channels)
            self.scale = more.get("scale", 1.0)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            return self.layer(x) * float(self.scale)

    def saved(encoder: ManyWidths) -> None:
        model = gm.GraphMAE(encoder, gm.decoders.GCN(encoder.out_channels, FEATURES))
        model.save_pretrained(tmp_path / "model")

    with pytest.raises(ConfigError, match=r"many-widths.*\*widths"):
        saved(ManyWidths(FEATURES, 8, 8))
    with pytest.raises(ConfigError, match="cannot hold"):
        saved(ManyWidths(FEATURES, scale=torch.ones(())))
    with pytest.raises(ConfigError, match="'name'"):
        saved(ManyWidths(FEATURES, name="mine"))
    assert_same_after_loading(ManyWidths(FEATURES, scale=2.0), graph, tmp_path / "good")


def test_a_part_without_a_constructor_takes_no_options() -> None:
    """torch's own constructor takes **kwargs too; a recipe's misspelt key is still refused in words."""

    @gm.losses.register("plain-error")
    class PlainError(torch.nn.Module):
        def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return (prediction - target).square().mean()

    assert gm.recipe("default", "loss.name=plain-error").loss == gm.recipe("default", "loss.name=plain-error").loss
    with pytest.raises(ConfigError, match="loss option 'gama'"):
        gm.recipe("default", "loss.name=plain-error", "loss.gama=1")


def test_a_registered_model_is_trained_saved_and_embedded_on_the_command_line(graph: Data, tmp_path: Path) -> None:
    """The command line loads the checkpoint in another process, with --import."""
    (tmp_path / "mine.py").write_text(
        "import graphmae as gm\nimport torch_geometric\n"
        'gm.encoders.register("pyg-sage")(torch_geometric.nn.GraphSAGE)\n'
    )
    torch.save(graph, tmp_path / "graph.pt")
    keys = (
        "name=pyg-sage",
        "hidden_channels=8",
        "norm=LayerNorm",
        "num_layers=2",
        "normalize=true",
        "aggr=max",
        "project=true",
    )
    words = [word for key in keys for word in ("--set", f"encoder.{key}")]
    done = graphmae(
        "pretrain", tmp_path / "graph.pt", "--recipe", "default", "--import", tmp_path / "mine.py", *words,
        "--epochs", "1", "--set", "embedding.views=[]", "--out", tmp_path / "run", "--device", "cpu",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = graphmae(
        "embed", tmp_path / "run", tmp_path / "graph.pt", "--import", tmp_path / "mine.py", "-o", tmp_path / "rows.npy"
    )
    assert done.returncode == 0, done.stderr
    stored = json.loads((tmp_path / "run/config.json").read_text())["encoder"]
    assert (stored["normalize"], stored["aggr"], stored["project"]) == (True, "max", True)
