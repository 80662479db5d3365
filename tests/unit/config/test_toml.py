"""A recipe written as TOML is the same recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphmae as gm
from graphmae import config


@pytest.mark.parametrize("name", config.names())
def test_every_recipe_survives(name: str, tmp_path: Path) -> None:
    recipe = gm.recipe(name)
    (tmp_path / "mine.toml").write_text(config.to_toml(recipe), encoding="utf-8")
    assert gm.recipe(tmp_path / "mine.toml").to_dict() == recipe.to_dict()


def test_odd_names_survive(tmp_path: Path) -> None:
    data = {
        "name": "tables",
        "nodes": 'my "nodes"\\.csv',
        "edges": ["é.csv"],
        "kinds": {"zip code": "category", "n": "number"},
    }
    recipe = config.load(config.merge(config.load("default").to_dict(), {"data": data}))
    (tmp_path / "mine.toml").write_text(config.to_toml(recipe), encoding="utf-8")
    assert gm.recipe(tmp_path / "mine.toml").data.options["kinds"] == data["kinds"]
    assert gm.recipe(tmp_path / "mine.toml").data.options["nodes"] == data["nodes"]
