"""Every registered method passes the contract, and everything that is done with GraphMAE can be done with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import graphmae as gm
from graphmae import config, methods, testing
from graphmae.batching import Batch
from graphmae.runtime.errors import ConfigError, InputError, Interrupted
from method_recipes import OWN, SMALL, recipe

NODE_ROWS = {"raw", "averaged", "propagated", "netmf", "netmf-propagated", "untrained", "supervised"}


@pytest.mark.parametrize("name", methods.names())
def test_contract(name: str) -> None:
    testing.check_method(lambda width: methods.build(recipe(name), width))


def test_contract_of_mvgrl_for_whole_graphs() -> None:
    made = recipe("mvgrl", "method.level=graph", "encoder.num_layers=2", "encoder.output=all")
    testing.check_method(lambda width: methods.build(made, width))


@pytest.mark.parametrize("name", methods.names())
def test_it_is_trained_saved_loaded_embedded_and_evaluated(name: str, tmp_path: Path) -> None:
    result = gm.run(
        recipe(name, "evaluation.supervised_epochs=1"), out=tmp_path / "run", device="cpu", progress=False
    )  # fmt: skip
    assert set(result.summary()["baselines"]) == NODE_ROWS
    assert math.isfinite(result.runs[0]["loss"])
    model = gm.load(tmp_path / "run")
    data = gm.data.load("synthetic", num_nodes=80)
    assert type(model) is methods.REGISTRY.get(name)
    assert model.trained_on["epochs"] == 6
    model.save_pretrained(tmp_path / "again")
    first, again = gm.embed(tmp_path / "run", data), gm.embed(gm.load(tmp_path / "again"), data)
    assert torch.equal(first, again) and first.shape == (80, 8)
    scores = gm.evaluate(tmp_path / "run", data, overrides=["evaluation.baselines=[]"], device="cpu")
    assert scores.column("pretrained", "last") == result.column("pretrained", "last")


@pytest.mark.parametrize("name", methods.names())
def test_it_is_resumed_to_the_same_weights(name: str, tmp_path: Path) -> None:
    class Interrupting:
        """Presses Ctrl-C after three epochs."""

        def start(self, label: str, epochs: int, done: int) -> None: ...
        def update(self, epoch: int, loss: float, lr: float) -> None:
            if epoch == 3:
                import os
                import signal

                os.kill(os.getpid(), signal.SIGINT)

        def stop(self) -> None: ...

    from graphmae.experiments import pretrain
    from graphmae.experiments.folder import RunFolder

    data, cpu = gm.data.load("synthetic", num_nodes=80), torch.device("cpu")
    whole = pretrain.pretrain_once(recipe(name), data, 0, cpu)
    folder = RunFolder(tmp_path / "cut")
    with pytest.raises(Interrupted, match="epoch 3 of 6"):
        pretrain.pretrain_once(recipe(name), data, 0, cpu, folder=folder, display=Interrupting())
    again = pretrain.pretrain_once(recipe(name), data, 0, cpu, folder=folder, resume=True)
    for key, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[key]), key


@pytest.mark.parametrize("name", methods.names())
def test_it_learns_from_many_graphs(name: str) -> None:
    from graphmae.training import pretrain_model

    ring = torch.stack([torch.arange(6), (torch.arange(6) + 1) % 6])
    made = [gm_data(torch.rand(6, 5), torch.cat([ring, ring.flip(0)], dim=1)) for _ in range(8)]
    graphs = gm.data.GraphSet.from_list("rings", made)
    torch.manual_seed(0)
    model = methods.build(recipe(name), 5)
    before = [p.detach().clone() for p in model.encoder.parameters()]
    settings = recipe(name, "train.batch_size=3").train
    outcome = pretrain_model(model, graphs, settings, torch.device("cpu"))
    assert math.isfinite(outcome.loss) and outcome.epochs == 6
    assert any(not torch.equal(a, b) for a, b in zip(before, model.encoder.parameters(), strict=True))


# For every option of a method another value that must change the loss, and what it takes for that.
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "graphmae": {"remask": ("none",), "drop_edge": (0.5,)},
    "graphmae2": {
        "remasking": ("random",), "remask_rate": (0.9, "method.remasking=random"), "latent": (5.0,),
        "remask_draws": (1, "method.remasking=random"), "projector_channels": (8,), "momentum": None,
    },
    "graphmae-neighbourhood": {"own": (3.0,)},
    "joint": {"weight": (9.0,), "rate": (0.2,), "kind": ("path",), "walk": (1, "method.kind=path"), "degree": (1.0,),
              "decoder_channels": (8,), "decoder_dropout": (0.7,)},
    "dgi": {"score": ("sum",), "mask_feature": (0.5,)},
    "infomax": {},
    "cca-ssg": {"decorrelate": (1.0,), "drop_edge": (0.8,), "mask_feature": (0.6,)},
    "bgrl": {"predictor_channels": (8,), "drop_edge": (0.8,), "drop_edge_2": (0.8,), "mask_feature": (0.8,),
             "mask_feature_2": (0.8,), "momentum": None},
    "grace": {"projector_channels": (8,), "temperature": (0.9,), "drop_edge": (0.8,), "drop_edge_2": (0.8,),
              "mask_feature": (0.8,), "mask_feature_2": (0.8,), "negatives": (5,), "block": None},
    "gae": {"variational": ("true",), "negatives": (2,)},
    "maskgae": {"rate": (0.2,), "kind": ("path",), "walk": (1, "method.kind=path"), "degree": (1.0,),
                "decoder_channels": (8,), "decoder_dropout": (0.7,), "leaky": ("true",)},
    "mvgrl": {"level": ("graph",)},
    "infograph": {},
    "graphcl": {"augmentations": ("['noise']",), "rate": (0.5, "method.augmentations=['drop-node']"),
                "keep": (0.6, "method.augmentations=['subgraph']"), "both": ("true",), "readout": ("mean",),
                "temperature": (0.9,), "joao": None},
    "context-pred": {"hops": (1,), "inner": (1,), "outer": (4,), "context_layers": (2,)},
}  # fmt: skip


@pytest.mark.parametrize("name", methods.names())
def test_every_option_changes_the_loss(name: str) -> None:
    """An option that is read by nobody is a published bug (GraphMAE2's replace_rate, GATE's dropout)."""
    listed = OPTIONS[name]
    inherited = {"remask", "drop_edge", "mask_edges"} if name != "graphmae" else {"mask_edges"}
    assert methods.REGISTRY.options(name).keys() - inherited == listed.keys() - inherited
    torch.manual_seed(0)
    graph = gm.data.load("synthetic", num_nodes=80).graphs[0]
    half = graph.edge_index[:, (graph.edge_index[0] < 40) == (graph.edge_index[1] < 40)]
    batch = Batch(graph.x, half, torch.arange(80) // 40)

    def loss(*changes: str) -> float:
        made = gm.recipe("default", *OWN.get(name, ()), f"method.name={name}", "encoder.hidden_channels=8", *changes)
        torch.manual_seed(0)
        model = methods.build(made, graph.x.size(1))
        torch.manual_seed(1)
        return float(torch.stack([model(batch).detach() for _ in range(3)]).mean())

    for option, change in listed.items():
        if change is None:  # changes what follows a step, or how it is computed: see the method's own tests
            continue
        value, *others = change
        section = "mask" if name == "graphmae" else "method"
        assert loss(*others) != loss(*others, f"{section}.{option}={value}"), f"{name}: {option} changes nothing"


def gm_data(x: torch.Tensor, edge_index: torch.Tensor) -> Any:
    from torch_geometric.data import Data

    return Data(x=x, edge_index=edge_index)


def test_sections_a_method_has_no_use_for_are_refused_and_left_behind() -> None:
    changed = gm.recipe("node/cora", "method.name=dgi")
    assert (changed.method.name, changed.mask, changed.decoder, changed.loss) == ("dgi", None, None, None)
    back = changed.to_dict()
    assert not {"mask", "decoder", "loss"} & back.keys()
    assert config.parse(back, changed.id) == changed
    back["mask"] = {"name": "random"}
    with pytest.raises(ConfigError, match=r"\[mask\] is not used by the method 'dgi'"):
        gm.recipe(back)
    with pytest.raises(ConfigError, match="did you mean 'graphmae'"):
        gm.recipe("node/cora", "method.name=grphmae")


def test_options_out_of_range_are_refused_with_the_recipe() -> None:
    with pytest.raises(ConfigError, match="drop_edge must be in"):
        gm.recipe("node/cora", "mask.drop_edge=1")


def test_what_needs_a_reconstruction_says_so() -> None:
    data = gm.data.load("synthetic", num_nodes=80)
    model = methods.build(recipe("dgi"), data.in_channels)
    with pytest.raises(InputError, match="DGI does not"):
        gm.anomalies(model, data)


def test_a_method_of_ones_own_is_one_class(tmp_path: Path) -> None:
    """What the README promises: one class and one recipe."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import torch\n"
        "from graphmae import methods\n"
        "@methods.register('smooth')\n"
        "class Smooth(methods.Method):\n"
        "    def __init__(self, encoder, weight: float = 1.0):\n"
        "        super().__init__()\n"
        "        self.encoder, self.weight = encoder, weight\n"
        "    def loss(self, batch):\n"
        "        z = self.encode(batch)\n"
        "        return self.weight * (z - batch.mean(z)).square().mean()\n"
    )
    from graphmae.registry import import_parts

    import_parts([str(file)])
    try:
        data = gm.data.load("synthetic", num_nodes=80)
        made = gm.recipe("default", "method.name=smooth", "method.weight=0.5", *SMALL)
        model = gm.pretrain(made, data, out=tmp_path / "run", device="cpu", progress=False)
        assert gm.load(tmp_path / "run").weight == 0.5
        assert gm.embed(model, data).shape == (80, 8)
        with pytest.raises(ConfigError, match=r"method\.weight"):
            gm.recipe("default", "method.name=smooth", "method.weight=much")
    finally:
        del methods.REGISTRY._parts["smooth"]


@pytest.fixture
def other() -> Iterator[type[methods.Method]]:
    """A method with a masking rule and none of GraphMAE's options."""

    @methods.register("other")
    class Other(methods.Method):
        """Predicts nothing."""

        def __init__(self, encoder: torch.nn.Module, mask: Any, loss: torch.nn.Module | None = None) -> None:
            super().__init__()
            self.encoder, self.mask = encoder, mask
            if loss is not None:
                self.criterion = loss

        def loss(self, batch: Any) -> torch.Tensor:
            return self.encode(batch)[self.mask.draw_in(batch).masked].square().mean()

    yield Other
    del methods.REGISTRY._parts["other"]


def test_options_of_the_replaced_method_are_left_behind(other: type[methods.Method]) -> None:
    changed = gm.recipe("node/cora", "method.name=other")
    assert changed.method.options == {} and changed.mask is not None and changed.mask.options["rate"] == 0.5
    with pytest.raises(ConfigError, match="written as mask"):
        gm.recipe("node/cora", "method.remask=none")


def test_a_method_that_could_not_be_rebuilt_is_refused_before_training(other: type[methods.Method]) -> None:
    from graphmae.pretrained import describe

    model = other(gm.encoders.GCN(4, 8), gm.masking.RandomNodeMask())  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="made with loss"):
        describe(model)
    describe(other(gm.encoders.GCN(4, 8), gm.masking.RandomNodeMask(), gm.losses.MSE()))  # type: ignore[call-arg]
