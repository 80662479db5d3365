"""What is chosen for graphs of different kinds, and that it is a recipe."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae import config
from graphmae.data import NodeDataset, from_data
from graphmae.encoders import VIEWS
from graphmae.experiments import auto as defaults


def dataset(x: torch.Tensor) -> NodeDataset:
    edges = torch.randint(len(x), (2, 4 * len(x)), generator=torch.Generator().manual_seed(0))
    return from_data(Data(x=x, edge_index=edges))


@pytest.mark.parametrize("x", [(torch.rand(200, 300) < 0.05).float(), torch.randn(200, 2), torch.randn(200, 40)])
def test_what_is_chosen_is_a_recipe_with_reasons(x: torch.Tensor) -> None:
    chosen, lines = defaults.choose(dataset(x))
    recipe = config.load(config.merge(config.load("default").to_dict(), chosen))
    assert recipe.embedding.views == VIEWS and recipe.train.patience == 50
    assert any("reduced" in line for line in lines) == (x.size(1) > 256)
    assert 4 <= len(lines) <= 10 and all(": " in line for line in lines)


def test_unlike_neighbours_get_an_encoder_that_keeps_its_own_features() -> None:
    x = torch.randn(400, 20, generator=torch.Generator().manual_seed(0))
    near = torch.stack([torch.arange(400), torch.arange(400).roll(1)])
    alike = x + x.roll(1, 0) + x.roll(-1, 0)
    assert defaults.choose(from_data(Data(x=x - 0.8 * x.roll(1, 0), edge_index=near)))[0]["encoder"].get("residual")
    assert not defaults.choose(from_data(Data(x=alike, edge_index=near)))[0]["encoder"].get("residual")


def test_large_graphs_are_trained_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "MAX_NODES", 100)
    monkeypatch.setattr(defaults, "PART_NODES", 60)
    chosen, lines = defaults.choose(dataset(torch.randn(200, 40)))
    assert chosen["train"]["parts"] == 4 and any("parts" in line for line in lines)


def test_neighbours_alike_are_seen() -> None:
    group = torch.arange(100) % 2
    x = torch.nn.functional.one_hot(group).float()
    source = torch.arange(100)
    alike = from_data(Data(x=x, edge_index=torch.stack([source, (source + 2) % 100])))
    other = from_data(Data(x=x, edge_index=torch.stack([source, (source + 1) % 100])))
    assert gm.data.facts.facts_of_graph(alike).alike > 0.7 > 0.3 > gm.data.facts.facts_of_graph(other).alike
