"""What is chosen for graphs of different kinds, and that it is a recipe."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from graphmae import config
from graphmae.data import NodeDataset, from_data, from_edges
from graphmae.encoders import VIEWS, neighbours_say
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


def ring(alike: bool) -> Data:
    """Rows with two halves that tell each other; neighbours share them, or not."""
    generator = torch.Generator().manual_seed(0)
    code = torch.randn(600, 4, generator=generator)
    if alike:
        code = sum(code.roll(i, 0) for i in range(-4, 5)) / 3
    x = torch.cat([code, code], dim=1) + (1.5 if alike else 0.1) * torch.randn(600, 8, generator=generator)
    near = torch.stack([torch.arange(600), torch.arange(600).roll(1)])
    return Data(x=x, edge_index=torch.cat([near, near.flip(0)], dim=1))


def test_what_neighbours_say_decides() -> None:
    assert neighbours_say(ring(alike=True)) > 1 > 0.2 > neighbours_say(ring(alike=False))
    for alike in (True, False):
        chosen, lines = defaults.choose(from_data(ring(alike)))
        assert bool(chosen["encoder"].get("residual")) != alike
        assert any("own features count less" in line for line in lines) == alike


def test_what_becomes_of_the_edges_columns_is_said() -> None:
    edges = {"source": range(40), "target": [*range(1, 40), 0], "weight": range(1, 41), "when": range(1, 41)}
    _, lines = defaults.choose(from_edges({**edges, "price": [i % 7 for i in range(40)]}, quiet=True))
    for start in ("weights of edges: neighbours count by them", "columns of edges: ", "times of edges: "):
        assert any(line.strip().startswith(start) for line in lines)


def test_large_graphs_are_trained_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "MAX_NODES", 100)
    monkeypatch.setattr(defaults, "PART_NODES", 60)
    chosen, lines = defaults.choose(dataset(torch.randn(200, 40)))
    assert chosen["train"]["parts"] == 4 and any("parts" in line for line in lines)
