"""What is said of hidden nodes: reconstruction, oddness, filled cells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.data import from_tables
from graphmae.inference import imputation
from graphmae.runtime.errors import InputError


def trained(data: Data, epochs: int = 60, **options: int) -> gm.GraphMAE:
    torch.manual_seed(0)
    width = data.x.size(1)
    model = gm.GraphMAE(gm.encoders.GAT(width, hidden_channels=32, heads=2), gm.decoders.GAT(32, width))
    return gm.pretrain(model, data, epochs=epochs, progress=False, device="cpu", **options)


def test_a_hidden_node_does_not_see_itself() -> None:
    data = gm.data.load("synthetic", num_nodes=120).graphs[0]
    model, hidden = trained(data, 2), torch.tensor([3, 7, 50])
    with torch.no_grad():
        one = model.eval().reconstruct(data.x, data.edge_index, hidden)
        changed = data.x.clone()
        changed[hidden] = torch.rand(3, data.x.size(1))
        assert torch.equal(one, model.reconstruct(changed, data.edge_index, hidden))
        changed[8] += 1
        assert gm.reconstruct(model, data).shape == data.x.shape


def test_reconstruction_is_the_step_of_training() -> None:
    """The loss of one draw is that of the reconstruction of its masked nodes."""
    data = gm.data.load("synthetic", num_nodes=80).graphs[0]
    model = trained(data, 2).eval()
    torch.manual_seed(3)
    draw = model.mask.draw(80)
    torch.manual_seed(3)
    with torch.no_grad():
        expected = model(data.x, data.edge_index)
        found = model.criterion(model.reconstruct(data.x, data.edge_index, draw.masked), data.x[draw.masked])
    assert float(found) == pytest.approx(float(expected), rel=1e-4)


def test_nodes_with_another_groups_features_are_odd() -> None:
    torch.manual_seed(0)
    group = torch.arange(200) % 2
    x = torch.where(group.unsqueeze(1) == 0, torch.tensor([[1.0, 0, 0.2]]), torch.tensor([[0.0, 1, 0.2]]))
    x = x + 0.05 * torch.rand(200, 3)
    source = torch.randint(200, (3000,))
    target = torch.randint(100, (3000,)) * 2 + group[source]
    odd = torch.tensor([10, 21])
    x[odd] = x[odd + 1].clone()
    data = Data(x=x, edge_index=torch.stack([torch.cat([source, target]), torch.cat([target, source])]))
    scores = gm.anomaly_scores(trained(data), gm.data.from_data(data).graphs[0])
    assert set(scores.topk(2).indices.tolist()) == set(odd.tolist())


def test_empty_cells_are_filled_from_the_surroundings() -> None:
    rng = np.random.default_rng(0)
    group = np.arange(300) % 3
    level = [None if i % 10 == 0 else 10.0 * g + rng.random() for i, g in enumerate(group)]
    kind = [None if i % 7 == 0 else "abc"[g] for i, g in enumerate(group)]
    nodes = {"id": list(range(300)), "level": level, "kind": kind, "noise": rng.random(300).tolist()}
    source = rng.integers(300, size=2000)
    target = rng.integers(100, size=2000) * 3 + group[source]
    graph = from_tables(nodes, {"source": source, "target": target}, quiet=True)
    table, filled = imputation.impute(trained(graph.graphs[0]), graph, pa.table(nodes))
    by_name = {column.column: column for column in filled}
    assert by_name["level"].score > 0.9 and by_name["kind"].score > 0.9
    assert table.column("level").null_count == 0 and table.column("kind").null_count == 0
    wrong = [i for i, value in enumerate(table.column("kind").to_pylist()) if value != "abc"[group[i]]]
    assert len(wrong) < 5
    assert table.column("level").to_pylist()[1] == level[1]


def test_a_graph_of_another_width_is_refused() -> None:
    data = gm.data.load("synthetic", num_nodes=80).graphs[0]
    with pytest.raises(InputError, match="reconstructs"):
        gm.reconstruct(trained(data, 1), Data(x=torch.ones(4, 3), edge_index=data.edge_index))
