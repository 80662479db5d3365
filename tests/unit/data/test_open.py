"""One opener: whatever one verb takes, all take, and the same graph gives the same numbers in every form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Batch, Data

import graphmae as gm
from graphmae.data import GraphSet, NodeDataset
from graphmae.runtime.errors import DataError, InputError


def forms(tiny: Data, folder: Path) -> dict[str, Any]:
    """The same graph: features [12, 6] and its edges."""
    np.savez(folder / "graph.npz", x=tiny.x.numpy(), edge_index=tiny.edge_index.numpy())
    torch.save(Data(x=tiny.x, edge_index=tiny.edge_index), folder / "graph.pt")
    matrix = sp.coo_matrix((np.ones(tiny.edge_index.size(1)), tiny.edge_index.numpy()), shape=(12, 12))
    return {
        "Data": Data(x=tiny.x, edge_index=tiny.edge_index),
        "npz": folder / "graph.npz",
        "pt": str(folder / "graph.pt"),
        "arrays": (tiny.x.numpy(), tiny.edge_index.numpy()),
        "tensors": (tiny.x, tiny.edge_index),
        "scipy": (tiny.x.numpy(), matrix),
        "dense": (tiny.x.numpy(), matrix.toarray()),
        "data set": gm.data.from_data(Data(x=tiny.x, edge_index=tiny.edge_index)),
    }


def model(in_channels: int = 6) -> gm.GraphMAE:
    torch.manual_seed(0)
    return gm.GraphMAE(gm.encoders.GCN(in_channels, 8), gm.decoders.GCN(8, in_channels))


def test_every_verb_takes_every_form(tiny: Data, tmp_path: Path) -> None:
    expected = gm.embed(model(), tiny)
    for name, form in forms(tiny, tmp_path).items():
        assert torch.allclose(gm.embed(model(), form), expected, atol=1e-6), name
        trained = gm.pretrain(model(), form, epochs=2, progress=False, device="cpu")
        assert torch.isfinite(gm.embed(trained, form)).all(), name


def test_tables_and_networkx(tmp_path: Path) -> None:
    graph = nx.karate_club_graph()
    opened = gm.data.open(graph, columns={"label": "club"})
    assert isinstance(opened, NodeDataset) and opened.num_classes == 2
    trained = gm.pretrain(model(opened.in_channels), opened, epochs=2, progress=False, device="cpu")
    again = gm.data.open(graph, columns={"label": "club"}, inputs=trained.inputs)
    assert torch.allclose(gm.embed(trained, again), gm.embed(trained, opened), atol=1e-6)
    nodes = pandas.DataFrame({"id": ["a", "b", "c"], "age": [1.0, 2.0, 4.0]})
    edges = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    in_memory, in_files = gm.data.open((nodes, edges)), gm.data.open([tmp_path / "nodes.csv", tmp_path / "edges.csv"])
    assert torch.equal(in_memory.graphs[0].x, in_files.graphs[0].x)


def test_a_list_is_one_set_of_graphs_treated_as_the_model_was(tiny: Data) -> None:
    graphs = [Data(x=tiny.x * (i + 1), edge_index=tiny.edge_index, y=torch.tensor([i % 2])) for i in range(4)]
    for form in (graphs, tuple(graphs), Batch.from_data_list(graphs)):
        opened = gm.data.open(form)
        assert isinstance(opened, GraphSet) and len(opened) == 4
        assert opened.y is not None and opened.y.tolist() == [0, 1, 0, 1]
    normalised = gm.data.open(graphs, inputs={"features": "row-normalize", "self_loops": True})
    assert torch.allclose(normalised.features(slice(0, 12)).sum(1), torch.ones(12))
    rows = gm.embed(model(), graphs)
    assert isinstance(rows, list) and torch.allclose(rows[2], gm.embed(model(), graphs[2]), atol=1e-6)
    assert gm.embed(model(), graphs, level="graph").shape == (4, 8)


@pytest.mark.parametrize("wrong", [3, None, [], [1, 2], (np.ones((3, 2)), np.ones((4, 5))), {"x": 1}])
def test_what_holds_no_graph_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError):
        gm.data.open(wrong)


def test_columns_are_for_tables(tiny: Data) -> None:
    with pytest.raises(InputError, match="tables"):
        gm.data.open(tiny, columns={"label": "topic"})
    with pytest.raises(DataError, match="not trained on tables"):
        gm.data.open(nx.karate_club_graph(), inputs={"features": "raw", "self_loops": True})
