"""What a subclass overrides is what runs: no faster way goes round it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import graphmae as gm
from graphmae import methods, testing
from graphmae.batching import Batch
from graphmae.training import pretrain_model

sys.path.insert(0, str(Path(__file__).parents[1]))
from method_recipes import recipe

NODES, WIDTH = 60, 80
STEPS = ("target", "decode", "erase", "_rebuild", "plain_loss", "to_decoder", "loss")


def features(kind: str) -> Tensor:
    torch.manual_seed(0)
    x = torch.rand(NODES, WIDTH)
    return x if kind == "dense" else x * (torch.rand(NODES, WIDTH) < 0.04)  # few enough to be read as bags of words


def edges() -> Tensor:
    return torch.randint(NODES, (2, 200), generator=torch.Generator().manual_seed(1))


def counting(calls: list[str], base: type, name: str) -> type:
    """A subclass of `base` in which one method notes that it ran, and else does the same."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(name)
        return getattr(super(made, self), name)(*arguments, **options)

    made: type = type(f"Own{base.__name__}", (base,), {name: method, "__module__": __name__})
    return made


DECODERS = {"gat": gm.decoders.GAT, "gcn": gm.decoders.GCN, "gin": gm.decoders.GIN, "mlp": gm.decoders.MLP,
            "linear": gm.decoders.Linear}  # fmt: skip
ENCODERS = {"gat": gm.encoders.GAT, "gcn": gm.encoders.GCN, "gin": gm.encoders.GIN}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("remask", ["zero", "learnable", "none"])
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("step", STEPS)
def test_every_step_of_graphmae_that_is_overridden_runs(step: str, decoder: str, remask: Any, kind: str) -> None:
    """With the GAT decoder of the paper, `target` of a subclass was never called; the loss was the stock one."""
    calls: list[str] = []
    made = counting(calls, gm.GraphMAE, step)
    model = made(gm.encoders.GAT(WIDTH, hidden_channels=8, heads=2), DECODERS[decoder](8, WIDTH), remask=remask)
    model(features(kind), edges())
    assert step in calls


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_another_target_is_another_loss(kind: str) -> None:
    """`target = x.roll(1, 0)` gave the stock loss to the last digit on bags of words."""

    class Roll(gm.GraphMAE):
        def target(self, x: Tensor) -> Tensor:
            return x.roll(1, 0)

    losses = []
    for made in (gm.GraphMAE, Roll):
        torch.manual_seed(0)
        model = made(
            gm.encoders.GAT(WIDTH, hidden_channels=8, dropout=0.0), gm.decoders.GAT(8, WIDTH, dropout=0.0)
        ).eval()
        values = []
        for loss in (model.loss, model.plain_loss):
            torch.manual_seed(2)
            values.append(float(loss(Batch(features(kind), edges()))))
        assert values[0] == pytest.approx(values[1], rel=1e-5)
        losses.append(values[0])
    assert abs(losses[0] - losses[1]) > 1e-4


def test_a_step_that_is_set_on_the_model_itself_runs() -> None:
    """`model.target = …` was ignored as an overridden method was."""
    model = gm.GraphMAE(gm.encoders.GAT(WIDTH, hidden_channels=8), gm.decoders.GAT(8, WIDTH))
    model.plain_loss = lambda batch: torch.tensor(42.0)  # type: ignore[method-assign]
    assert float(model(features("sparse"), edges())) == 42.0


def test_a_class_that_is_changed_later_a_remask_or_a_hook_of_ones_own_is_not_passed_by() -> None:
    """In a notebook `S.target = f` after the class was defined was ignored, as was another `remask.erase`."""

    class Later(gm.GraphMAE):
        pass

    def make() -> gm.GraphMAE:
        return Later(gm.encoders.GAT(WIDTH, hidden_channels=8), gm.decoders.GAT(8, WIDTH))

    calls: list[str] = []
    model = make()
    assert "where it is needed" in model.route
    model.decoder.register_forward_hook(lambda *_: calls.append("hook"))
    model(features("sparse"), edges())
    model = make()
    model.remask.erase = lambda code, masked: calls.append("erase") or code  # type: ignore[method-assign, func-returns-value]
    model(features("sparse"), edges())
    Later.target = lambda self, x: calls.append("target") or x  # type: ignore[method-assign, func-returns-value]
    make()(features("sparse"), edges())
    assert calls == ["hook", "erase", "target"]


METHOD_HOOKS = ("loss", "prepare", "after_step", "after_epoch", "encode")


@pytest.mark.parametrize("hook", METHOD_HOOKS)
@pytest.mark.parametrize("name", methods.names())
def test_an_overridden_hook_of_any_method_runs_in_training(name: str, hook: str) -> None:
    """Every method can be changed in one place, and the change is what is trained."""
    calls: list[str] = []
    made = counting(calls, methods.REGISTRY.get(name), hook)  # type: ignore[arg-type]
    graph = Data(x=features("dense"), edge_index=edges())
    model = build_as(made, recipe(name))
    pretrain_model(model, gm.data.open(graph) if hasattr(gm.data, "open") else one_graph(graph),
                   recipe(name, "train.epochs=2").train, torch.device("cpu"))  # fmt: skip
    assert hook in calls


@pytest.mark.parametrize("name", ["graphmae", "graphmae2", "graphmae-neighbourhood", "joint"])
@pytest.mark.parametrize("step", ["target", "decode", "erase", "plain_loss", "to_decoder"])
def test_a_step_overridden_in_a_method_built_on_graphmae_runs(name: str, step: str) -> None:
    """The methods that are built on GraphMAE take its steps, so theirs can be overridden as well."""
    if (name, step) == ("graphmae-neighbourhood", "target"):
        pytest.skip("its targets are `tokens`")
    calls: list[str] = []
    model = build_as(counting(calls, methods.REGISTRY.get(name), step), recipe(name))  # type: ignore[arg-type]
    model(features("sparse"), edges())
    assert step in calls


def one_graph(graph: Data) -> Any:
    from graphmae.data.open import open_dataset

    return open_dataset(graph)


def build_as(made: type, recipe: Any) -> Any:
    """A model of the class `made` with the parts of a recipe."""
    built = methods.build(recipe, WIDTH)
    built.__class__ = made
    return built


def parts() -> Iterator[tuple[str, str, Callable[..., type]]]:
    for name in ENCODERS:
        yield "encoder", name, ENCODERS[name]
    for name in DECODERS:
        yield "decoder", name, DECODERS[name]
    for name, loss in {"cosine": gm.losses.ScaledCosineError, "mse": gm.losses.MSE}.items():
        yield "loss", name, loss
    for hook in ("draw", "draw_in"):
        yield "mask", hook, gm.masking.RandomNodeMask


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("section", "name", "base"), list(parts()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_overridden_method_of_a_part_runs_and_promises_nothing(
    section: str, name: str, base: Any, kind: str
) -> None:
    """A decoder's `forward` was left out where the loss took a product that is not multiplied out."""
    calls: list[str] = []
    hook = name if section == "mask" else "forward"
    made: Any = counting(calls, base, hook)
    encoder = (made if section == "encoder" else gm.encoders.GAT)(WIDTH, hidden_channels=8)
    decoder = (made if section == "decoder" else gm.decoders.GAT)(8, WIDTH)
    mask = made(0.5) if section == "mask" else None
    loss = made() if section == "loss" else None
    model = gm.GraphMAE(encoder, decoder, mask, loss)
    model(features(kind), edges())
    assert hook in calls
    part = {"encoder": encoder, "decoder": decoder, "mask": mask, "loss": loss}[section]
    assert not part.records_steps and not model.records_steps and not model.takes_padding
    if section == "encoder":
        calls.clear()
        gm.embed(encoder, Data(x=features(kind), edge_index=edges()))
        assert calls


def test_a_subclass_may_make_a_promise_again() -> None:
    """A step that can be recorded can be said to be one."""

    class Recorded(gm.encoders.GCN):
        records_steps = takes_adjacency = True

        def forward(self, x: Tensor, edge_index: Any) -> Tensor:  # type: ignore[override]
            return 2 * super().forward(x, edge_index)

    assert Recorded(4, hidden_channels=4).records_steps and not Recorded(4, hidden_channels=4).takes_rows


def test_a_forward_of_a_mixin_is_an_override_too() -> None:
    """A promise speaks of the code that stands nearest."""

    class Mixin:
        def forward(self, x: Tensor, edge_index: Any) -> Tensor:
            return torch.zeros(len(x), 8)

    class Mixed(Mixin, gm.encoders.GAT):
        pass

    model = gm.GraphMAE(Mixed(WIDTH, hidden_channels=8), gm.decoders.GAT(8, WIDTH))
    assert not model.records_steps and model.route.endswith("Mixed computes all nodes")


def test_the_log_says_which_way_the_loss_is_computed(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing said whether a subclass's steps were run."""

    class Roll(gm.GraphMAE):
        def target(self, x: Tensor) -> Tensor:
            return x.roll(1, 0)

    graph, said = Data(x=features("dense"), edge_index=edges()), []
    for made in (gm.GraphMAE, Roll):
        caplog.clear()
        model = made(gm.encoders.GAT(WIDTH, hidden_channels=8), gm.decoders.GAT(8, WIDTH))
        with caplog.at_level(logging.INFO, "graphmae"):
            gm.pretrain(model, graph, epochs=1, progress=False)
        said.append([line for line in caplog.messages if "the loss is computed" in line])
    assert "where it is needed" in said[0][0]
    assert "step by step: Roll has steps of its own" in said[1][0]


class Wrong(gm.decoders.GAT):
    """A decoder whose shortcut is not what its `forward` does, although it says so."""

    takes_nodes = takes_adjacency = records_steps = True
    factored = gm.decoders.GAT.factored

    def forward(self, h: Any, edge_index: Any, rows: Any, nodes: Any = None) -> Tensor:  # type: ignore[override]
        return super().forward(h, edge_index, rows, nodes) ** 2


def test_check_method_finds_a_part_whose_shortcut_is_another_function() -> None:
    """`check_method` passed a method whose steps were ignored: it never compared `loss` with the plain steps."""

    def make(decoder: type) -> Callable[[int], gm.GraphMAE]:
        return lambda width: gm.GraphMAE(gm.encoders.GAT(width, hidden_channels=8), decoder(8, width))

    testing.check_method(make(gm.decoders.GAT))
    with pytest.raises(AssertionError, match="plain steps"):
        testing.check_method(make(Wrong))


def test_check_method_finds_overridden_steps_that_do_not_run() -> None:
    """A class that wrongly says that its steps are the stock ones is found."""

    class Ignoring(gm.GraphMAE):
        has_fast_loss = True

        def target(self, x: Tensor) -> Tensor:
            return x.roll(1, 0)

    with pytest.raises(AssertionError, match="plain steps"):
        testing.check_method(lambda width: Ignoring(gm.encoders.GAT(width, 8), gm.decoders.GAT(8, width)))


class Plain(nn.Module):
    """A decoder as the page for decoders describes it, and no more."""

    wants_remask = True

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.map = nn.Linear(in_channels, out_channels)

    def forward(self, h: Tensor, edge_index: Tensor, rows: Tensor) -> Tensor:
        around = h.new_zeros(h.shape).index_add(0, edge_index[1], h[edge_index[0]])
        return self.map((h + around)[rows])


def test_a_plain_module_that_passes_check_decoder_trains() -> None:
    """It passed, and training ended with "no attribute 'looks_at_all'"."""
    testing.check_decoder(Plain)
    model = gm.GraphMAE(gm.encoders.GAT(WIDTH, hidden_channels=8), Plain(8, WIDTH))
    gm.pretrain(model, Data(x=features("dense"), edge_index=edges()), epochs=1, progress=False)


class Broken(Plain):
    """A decoder that has no `wants_remask`."""

    wants_remask = None  # type: ignore[assignment]


class NeedsAll(Plain):
    """A decoder that fails on a graph without edges into a node."""

    def forward(self, h: Tensor, edge_index: Tensor, rows: Tensor) -> Tensor:
        if edge_index.size(1) < 10:
            raise RuntimeError("too few edges")
        return super().forward(h, edge_index, rows)


@pytest.mark.parametrize("kind", [Broken, NeedsAll])
def test_check_decoder_refuses_what_cannot_train(kind: type) -> None:
    """What passes a check must train."""
    with pytest.raises((AssertionError, RuntimeError)):
        testing.check_decoder(kind)


class Raising(gm.masking.NodeMask):
    """All of its logic is where the documented example has it, and there is a mistake in it."""

    def draw(self, num_nodes: int, device: Any = "cpu", batch: Tensor | None = None) -> Any:
        return gm.masking.RandomNodeMask(0.5).draw(num_nodes, device, batch)

    def draw_in(self, batch: Batch) -> Any:
        raise RuntimeError("a mistake")


class IgnoresSeeds(gm.masking.NodeMask):
    """Masks all but one node whatever the seeds."""

    def draw_in(self, batch: Batch) -> Any:
        return gm.masking.MaskedNodes.of(torch.arange(len(batch.x)), len(batch.x))


@pytest.mark.parametrize("kind", [Raising, IgnoresSeeds])
def test_check_mask_calls_draw_in(kind: type) -> None:
    """A rule whose `draw_in` raises passed: nobody called it."""
    with pytest.raises((AssertionError, RuntimeError)):
        testing.check_mask(kind)


@pytest.mark.parametrize("step", ["target", "decode", "erase", "_rebuild", "plain_loss"])
def test_an_overridden_step_runs_where_the_encoder_masks_embeddings(step: str) -> None:
    """The published encoder of molecules replaces a masked atom's embedding; the plain steps could not do that."""
    no_bonds = "encoder.edge_channels=0", "decoder.edge_channels=0", "mask.mask_edges=false"
    made = gm.recipe("molecule/zinc", "encoder.hidden_channels=8", *no_bonds)
    torch.manual_seed(0)
    x, ends = torch.eye(WIDTH)[torch.randint(WIDTH, (NODES,))], edges()
    losses = []
    for name in (None, step):
        calls: list[str] = []
        torch.manual_seed(0)
        model = methods.build(made, WIDTH).eval()
        if name is not None:
            model.__class__ = counting(calls, gm.GraphMAE, name)
        torch.manual_seed(1)
        losses.append(float(model(x, ends)))
        assert (name in calls) == (name is not None)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
