"""What is chosen for graphs of different kinds, and that it is a recipe."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae import config
from graphmae.data import NodeDataset, from_data
from graphmae.experiments import auto as defaults


def dataset(x: torch.Tensor) -> NodeDataset:
    edges = torch.randint(len(x), (2, 4 * len(x)), generator=torch.Generator().manual_seed(0))
    return from_data(Data(x=x, edge_index=edges))


@pytest.mark.parametrize(
    ("x", "kind", "encoder"),
    [
        ((torch.rand(200, 300) < 0.05).float(), "words", {"hidden_channels": 512, "norm": "none"}),
        (torch.eye(20).repeat(10, 1), "categories", {"hidden_channels": 256, "norm": "batch", "output": "all"}),
        (torch.randn(200, 2), "categories", {"norm": "batch", "residual": True, "num_layers": 3}),
        (torch.randn(200, 5), "categories", {"norm": "batch", "hidden_channels": 512, "name": "gat"}),
        (torch.randn(200, 40), "numbers", {"hidden_channels": 256, "norm": "none"}),
    ],
)
def test_the_kind_of_features_decides(x: torch.Tensor, kind: str, encoder: dict[str, object]) -> None:
    made = dataset(x)
    assert gm.data.facts.facts_of_graph(made).features_kind == kind
    chosen, lines = defaults.choose(made)
    recipe = config.load(config.merge(config.load("default").to_dict(), chosen))
    options = {"name": recipe.encoder.name, **recipe.encoder.options}
    assert options.items() >= encoder.items() and recipe.train.patience == 100
    assert 4 <= len(lines) <= 10 and all(": " in line for line in lines)


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
    assert gm.data.facts.facts_of_graph(alike).homophily > 0.9 > -0.9 > gm.data.facts.facts_of_graph(other).homophily
