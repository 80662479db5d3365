from __future__ import annotations

from pathlib import Path

import pytest

from graphmae import config
from graphmae.runtime.errors import ConfigError


def test_a_published_recipe_loads() -> None:
    recipe = config.load("node/cora")
    assert recipe.encoder.name == "gat"
    assert recipe.encoder.options["hidden_channels"] == 512
    assert recipe.published is not None
    assert recipe.published.mean == 84.2


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        config.load("node/cora", ["train.epocs=3", "encoder.headz=2", "loss.gama=1", "masks.rate=1", "train.lr=fast"])
    text = str(caught.value)
    for piece in ("train.epochs", "'heads'", "'gamma'", "'mask'", "train.lr must be a number"):
        assert piece in text
    assert len(caught.value.problems) == 5


def test_overrides_are_typed_and_leave_the_original_alone() -> None:
    recipe = config.load("node/cora")
    changed = recipe.override("mask.rate=0.75", "train.epochs=7", "mask.remask=learnable", "evaluation.baselines=[]")
    assert changed.mask.options["rate"] == 0.75
    assert changed.train.epochs == 7
    assert changed.method.options["remask"] == "learnable"
    assert changed.evaluation.baselines == ()
    assert recipe.mask.options["rate"] == 0.5


def test_another_part_keeps_only_the_options_it_knows() -> None:
    changed = config.load("node/cora", ["encoder.name=gcn"])
    assert changed.encoder.options["hidden_channels"] == 512
    assert "heads" not in changed.encoder.options


def test_an_option_given_by_hand_is_never_dropped_silently() -> None:
    with pytest.raises(ConfigError, match="heads"):
        config.load("node/cora", ["encoder.name=gcn", "encoder.heads=2"])


@pytest.mark.parametrize("assignment", ["mask.rate", "rate=0.5", "=1", "mask.=1"])
def test_malformed_overrides(assignment: str) -> None:
    with pytest.raises(ConfigError, match=r"section\.key=value"):
        config.load("node/cora", [assignment])


@pytest.mark.parametrize("assignment", ["train.epochs=0", "train.lr=0", "train.weight_decay=-1"])
def test_values_out_of_range(assignment: str) -> None:
    with pytest.raises(ConfigError, match=assignment.split("=", 1)[0]):
        config.load("node/cora", [assignment])


def test_extends_takes_one_level(tmp_path: Path) -> None:
    child = tmp_path / "child.toml"
    child.write_text('extends = "node/cora"\n[mask]\nrate = 0.9\n')
    recipe = config.load(child)
    assert recipe.id == "child"
    assert recipe.mask.options["rate"] == 0.9
    assert recipe.train.epochs == 1500
    grandchild = tmp_path / "grandchild.toml"
    grandchild.write_text(f'extends = "{child}"\n')
    with pytest.raises(ConfigError, match="only one level"):
        config.load(grandchild)


def test_broken_toml_and_missing_files(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[train\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        config.load(broken)
    with pytest.raises(ConfigError, match="no recipe file"):
        config.load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="did you mean 'node/cora'"):
        config.load("node/core")


def test_a_recipe_survives_its_own_dictionary() -> None:
    recipe = config.load("node/ppi")
    assert config.parse(recipe.to_dict(), recipe.id) == recipe


def test_missing_sections_are_named() -> None:
    with pytest.raises(ConfigError) as caught:
        config.load({"train": {"epochs": 3}})
    assert {"[data]", "[encoder]", "[decoder]"} <= {p.split(" ", 1)[0] for p in caught.value.problems}
