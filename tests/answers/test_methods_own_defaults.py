"""A method of one's own keeps its own mask, loss and options, unless the recipe or the user says otherwise."""

from __future__ import annotations

import json
import random
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import graphmae as gm
from commands import graphmae
from graphmae.config import Part
from graphmae.runtime.errors import ConfigError

OWN = '''
import torch
import graphmae as gm

@gm.masking.register("degree")
class DegreeMask(gm.masking.NodeMask):
    def __init__(self, rate: float = 0.5, replace_rate: float = 0.0):
        self.rate = rate
    def draw(self, num_nodes, device="cpu", batch=None):
        return gm.masking.RandomNodeMask(self.rate).draw(num_nodes, device, batch)

@gm.methods.register("aug-mae")
class AugMAE(gm.GraphMAE):
    """The mask is its own; what its losses saw is kept for the tests."""
    seen = []
    def __init__(self, encoder, decoder, mask=None, loss=None, remask: str = "zero", uniformity: float = 0.1):
        super().__init__(encoder, decoder, mask or DegreeMask(0.3), loss, remask)
        self.uniformity = uniformity
    def loss(self, batch):
        AugMAE.seen.append((type(self.mask).__name__, self.mask.rate))
        return super().loss(batch)
'''
SMALL = ("train.epochs=1", "encoder.hidden_channels=8", "data.num_nodes=60", "evaluation.epochs=2")


@pytest.fixture
def aug() -> Iterator[type[gm.GraphMAE]]:
    space: dict[str, Any] = {"__name__": "own_method"}
    exec(OWN, space)
    yield space["AugMAE"]


def mask_of(recipe: Any) -> tuple[str, dict[str, Any]]:
    return recipe.mask.name, recipe.mask.options


def test_the_methods_own_mask_is_in_the_recipe_and_in_the_log(
    aug: type[gm.GraphMAE], caplog: pytest.LogCaptureFixture
) -> None:
    """RandomNodeMask of the recipe ran instead of the DegreeMask(0.3) of the method, and nothing said so."""
    with caplog.at_level("INFO", logger="graphmae"):
        made = gm.recipe("node/cora", "method.name=aug-mae")
    assert mask_of(made) == ("degree", {"rate": 0.3})
    assert "aug-mae keeps its own mask (degree, rate 0.3) instead of the recipe's (random, rate 0.5" in caplog.text
    # the same default as GraphMAE's, which the recipe replaces: gamma is the recipe's
    assert made.loss is not None and made.loss.options == {"gamma": 3}
    assert made.override("train.epochs=3").mask == made.mask and gm.recipe(made.to_dict()).mask == made.mask


def test_run_pretrain_and_compare_train_with_the_methods_own_mask(aug: Any, tmp_path: Path) -> None:
    """Half of a method of one's own did not run, in all three commands."""
    overrides = ("method.name=aug-mae", *SMALL)
    gm.run("default", range(1), tmp_path / "run", overrides=overrides, progress=False)
    assert set(aug.seen) == {("DegreeMask", 0.3)}
    assert json.loads((tmp_path / "run/seed-0/config.json").read_text())["mask"]["name"] == "degree"
    aug.seen.clear()
    model = gm.pretrain("default", gm.data.load("synthetic", num_nodes=60).single_graph(), 1,
                        overrides=["method.name=aug-mae", "encoder.hidden_channels=8"], progress=False)  # fmt: skip
    assert set(aug.seen) == {("DegreeMask", 0.3)} and type(model.mask).__name__ == "DegreeMask"


def test_compare_trains_with_the_methods_own_mask(aug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """compare gave it RandomNodeMask and tried rates of that; its own rates are tried now, of its own mask."""
    monkeypatch.setattr("graphmae.experiments.compare._Arena._memory", lambda *arguments: 0)  # another process
    found = gm.compare(
        gm.data.load("synthetic", num_nodes=60).single_graph(), recipe="default", methods=["aug-mae"], seeds=[0],
        budget=4, links=False, own=False, overrides=["train.epochs=1", *SMALL[1:2]], device="cpu",
    )  # fmt: skip
    line = next(line for line in found.lines if line.name == "aug-mae")
    tried = [text for trial in line.trials for text in trial["settings"]]
    rates = {float(text.removeprefix("mask.rate=")) for text in tried if text.startswith("mask.rate")}
    assert set(aug.seen) == {("DegreeMask", rate) for rate in rates | {0.3}} and not line.problem


def test_what_the_user_sets_wins_over_the_methods_own(aug: type[gm.GraphMAE]) -> None:
    """An own default is not a decree: --set mask.name and mask.rate are obeyed."""
    assert mask_of(gm.recipe("node/cora", "method.name=aug-mae", "mask.rate=0.4")) == ("degree", {"rate": 0.4})
    made = gm.recipe("node/cora", "method.name=aug-mae", "mask.name=random", "mask.rate=0.4")
    assert mask_of(made) == ("random", {"rate": 0.4})
    later = gm.recipe("node/cora", "method.name=aug-mae").override("mask.rate=0.6", "mask.remask=none")
    assert mask_of(later) == ("degree", {"rate": 0.6}) and later.method.options["remask"] == "none"


def test_a_recipe_that_names_the_method_itself_says_what_its_mask_is(aug: type[gm.GraphMAE]) -> None:
    """A [mask] that was written for this method is this method's."""
    raw = gm.recipe("node/cora", "method.name=aug-mae", "mask.name=random", "mask.rate=0.75").to_dict()
    assert mask_of(gm.recipe(raw)) == ("random", {"rate": 0.75})
    assert mask_of(gm.recipe(raw, "train.epochs=3")) == ("random", {"rate": 0.75})
    del raw["mask"]
    assert mask_of(gm.recipe(raw)) == ("degree", {"rate": 0.3})  # and without a [mask], its own


def test_a_recipe_that_extends_another_keeps_the_methods_own_mask(aug: type[gm.GraphMAE], tmp_path: Path) -> None:
    """`extends` is a change as --set is: the mask of the parent was written for the parent's method."""
    file = tmp_path / "mine.toml"
    file.write_text('extends = "node/cora"\n[method]\nname = "aug-mae"\n')
    assert mask_of(gm.recipe(file)) == ("degree", {"rate": 0.3})
    file.write_text('extends = "node/cora"\n[method]\nname = "aug-mae"\n[mask]\nname = "random"\nrate = 0.2\n')
    assert mask_of(gm.recipe(file)) == ("random", {"rate": 0.2})


def test_a_variant_without_defaults_of_its_own_keeps_the_recipe() -> None:
    """A subclass that changes one step is compared with GraphMAE under GraphMAE's settings."""

    @gm.methods.register("rolled")
    class Rolled(gm.GraphMAE):
        def target(self, x: torch.Tensor) -> torch.Tensor:
            return x.roll(1, 0)

    plain, made = gm.recipe("node/cora"), gm.recipe("node/cora", "method.name=rolled")
    assert (made.mask, made.decoder, made.loss) == (plain.mask, plain.decoder, plain.loss)
    assert made.method.options == plain.method.options


def test_a_mask_or_loss_without_a_name_stays_the_methods_own() -> None:
    """A default that no recipe can name is left to the constructor, not replaced by a random mask."""

    class Quiet(gm.masking.RandomNodeMask):
        pass

    @gm.methods.register("quiet")
    class Hidden(gm.GraphMAE):
        def __init__(self, encoder: Any, decoder: Any, mask: Any = None, loss: Any = None) -> None:
            super().__init__(encoder, decoder, mask or Quiet(0.2), loss or torch.nn.MSELoss())

    made = gm.recipe("node/cora", "method.name=quiet")
    assert made.mask is None and made.loss is None
    from graphmae.methods import build

    model = build(made, 6)
    assert type(model.mask) is Quiet and type(model.criterion) is torch.nn.MSELoss
    with pytest.raises(ConfigError, match=r"\[mask\] needs a name"):
        gm.recipe("node/cora", "method.name=quiet", "mask.rate=0.4")
    assert gm.recipe(made.to_dict()).mask is None


def test_what_a_method_sets_for_a_task_holds_in_every_command() -> None:
    """MVGRL read level = "node" on whole graphs, except in compare."""
    graphs = gm.recipe("graph/mutag", "method.name=mvgrl", "encoder.name=gcn-diffusion")
    nodes = gm.recipe("node/cora", "method.name=mvgrl", "encoder.name=gcn-diffusion")
    assert graphs.method.options == {"level": "graph"} and nodes.method.options == {}
    chosen = gm.recipe("graph/mutag", "method.name=mvgrl", "encoder.name=gcn-diffusion", "method.level=node")
    assert chosen.method.options == {"level": "node"}


def test_options_of_one_method_are_not_those_of_another() -> None:
    """GRACE's dropped edges became BGRL's, because both call the option drop_edge."""
    assert gm.recipe("grace/cora", "method.name=bgrl").method.options == {}
    made = gm.recipe("grace/cora", "method.name=bgrl", "method.drop_edge=0.1")
    assert made.method.options == {"drop_edge": 0.1}


def test_shipped_methods_keep_what_a_recipe_for_graphmae_says() -> None:
    """GraphMAE2 and joint have GraphMAE's defaults, so a recipe for GraphMAE replaces theirs too."""
    for base in ("node/cora", "default", "graph/mutag"):
        plain = gm.recipe(base)
        for name in ("graphmae2", "joint", "graphmae-neighbourhood"):
            made = plain.override(f"method.name={name}")
            assert (made.mask, made.decoder, made.loss) == (plain.mask, plain.decoder, plain.loss)
            assert made.method.options == plain.method.options


@pytest.mark.parametrize("seed", range(15))
def test_random_methods_keep_their_own_defaults(seed: int) -> None:
    """Whatever a method has by default, and whichever recipe it is put into, its own defaults are what it gets."""
    draw = random.Random(seed)
    rate, gamma = draw.choice([0.1, 0.35, 0.9]), draw.choice([1.0, 1.5, 4.0])
    own_mask, own_loss, remask = draw.random() < 0.6, draw.random() < 0.6, draw.choice(["zero", "none", "learnable"])

    class Mine(gm.GraphMAE):
        def __init__(
            self, encoder: Any, decoder: Any, mask: Any = None, loss: Any = None, remask: str = remask
        ) -> None:
            mask = mask or (gm.masking.RandomNodeMask(rate) if own_mask else None)
            loss = loss or (gm.losses.ScaledCosineError(gamma) if own_loss else None)
            super().__init__(encoder, decoder, mask, loss, remask)  # type: ignore[arg-type]

    gm.methods.register(f"mine-{seed}")(Mine)
    names = [name for name in gm.recipes() if name.startswith(("node/", "graph/", "graphmae2/", "joint/"))]
    for name in draw.sample(names, 5):
        base = gm.recipe(name)
        made = base.override(f"method.name=mine-{seed}")
        assert made.mask is not None and made.loss is not None and base.mask is not None
        assert made.mask.options == ({"rate": rate} if own_mask else base.mask.options)
        assert made.loss == (Part("scaled-cosine", {"gamma": gamma}) if own_loss else base.loss)
        assert made.method.options.get("remask", remask) == (
            base.method.options["remask"] if remask == "zero" else remask
        )


def test_the_command_line_trains_with_the_methods_own_mask_and_says_so(tmp_path: Path) -> None:
    """`graphmae pretrain --import aug.py --set method.name=aug-mae` trained with another mask."""
    (tmp_path / "aug.py").write_text(textwrap.dedent(OWN))
    draw = random.Random(0)
    (tmp_path / "nodes.csv").write_text("id,a,b\n" + "".join(f"p{n},{draw.random()},{n % 3}\n" for n in range(30)))
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"p{n},p{(n + 1) % 30}\n" for n in range(30)))
    done = graphmae(
        "pretrain", tmp_path / "nodes.csv", tmp_path / "edges.csv", "--import", tmp_path / "aug.py", "--epochs", 1,
        "--set", "method.name=aug-mae", "--out", tmp_path / "run", "--device", "cpu",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "keeps its own mask (degree, rate 0.3)" in done.stderr
    assert json.loads((tmp_path / "run/config.json").read_text())["mask"]["rate"] == 0.3
