"""Features of edges (`Data.edge_attr`) are learned from, in one graph and in many, or it is said that they are not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

import graphmae as gm
from commands import graphmae
from graphmae.runtime.errors import DataError

NODES, FEATURES = 24, 5


def graph(seed: int = 0, channels: int = 2, nodes: int = NODES) -> Data:
    """A random graph, each edge in both directions with the same features."""
    draw = torch.Generator().manual_seed(seed)
    ends = torch.randint(nodes, (2, 3 * nodes), generator=draw)
    ends = ends[:, ends[0] != ends[1]]
    features = torch.randn(ends.size(1), channels, generator=draw)
    return Data(
        x=torch.rand(nodes, FEATURES, generator=draw), edge_index=torch.cat([ends, ends.flip(0)], dim=1),
        edge_attr=torch.cat([features, features]), y=torch.arange(nodes) % 2,
    )  # fmt: skip


def other_edges(data: Data) -> Data:
    """The same graph, where only what is known of the edges differs."""
    out = data.clone()
    out.edge_attr = 2 * data.edge_attr + 1
    return out


def model_for(encoder: str, channels: int) -> gm.GraphMAE:
    torch.manual_seed(0)
    made = gm.encoders.build(encoder, in_channels=FEATURES, hidden_channels=8, edge_channels=channels)
    return gm.GraphMAE(made, gm.decoders.GCN(8, FEATURES))


def rows(model: Any, data: Any, **options: Any) -> torch.Tensor:
    return torch.as_tensor(np.asarray(gm.embed(model, data, **options)))


@pytest.mark.parametrize("encoder", ["gin", "gat", "gcn"])
def test_an_encoder_for_edge_features_gets_those_of_one_graph(encoder: str, tmp_path: Path) -> None:
    """edge_attr [3000, 2] was there, and the error said "the graph has none"."""
    data, model = graph(), model_for(encoder, 2)
    gm.pretrain(model, data, 1, out=tmp_path / "run", progress=False)
    here = rows(model, data)
    assert torch.equal(here, rows(gm.load(tmp_path / "run"), data))
    assert not torch.allclose(here, rows(model, other_edges(data)), atol=1e-4)
    order = torch.randperm(data.edge_index.size(1))
    turned = Data(x=data.x, edge_index=data.edge_index[:, order], edge_attr=data.edge_attr[order])
    assert torch.allclose(here, rows(model, turned), atol=1e-5)


@pytest.mark.parametrize("encoder", ["gin", "gat", "gcn"])
def test_an_encoder_for_edge_features_gets_those_of_many_graphs(encoder: str, tmp_path: Path) -> None:
    """Of a list of graphs, every edge_attr was dropped on the way in."""
    graphs = [graph(seed, nodes=6 + seed) for seed in range(5)]
    for data in graphs:
        data.y = torch.tensor([int(data.num_nodes) % 2])
    model = model_for(encoder, 2)
    gm.pretrain(model, graphs, 2, batch_size=2, out=tmp_path / "run", progress=False)
    whole = rows(model, graphs, level="graph")
    assert torch.equal(whole, rows(gm.load(tmp_path / "run"), graphs, level="graph"))
    assert torch.equal(whole, rows(model, Batch.from_data_list(graphs), level="graph"))
    changed = rows(model, [*graphs[:4], other_edges(graphs[4])], level="graph")
    assert torch.equal(changed[:4], whole[:4]) and not torch.allclose(changed[4], whole[4], atol=1e-4)
    for number, data in enumerate(graphs):  # alone, in one graph, and among others: the same
        assert torch.allclose(rows(model, [data], level="graph")[0], whole[number], atol=1e-5)
        assert torch.allclose(rows(model, data).mean(0), whole[number], atol=1e-5)
        assert torch.allclose(rows(model, data, level="graph")[0], whole[number], atol=1e-5)


def test_auto_uses_the_features_of_edges_of_one_graph_and_of_many(tmp_path: Path) -> None:
    """`gm.pretrain("auto", data)` made an encoder with edge_channels 0, without one word."""
    small = ["encoder.hidden_channels=8", "train.epochs=1"]
    one = gm.pretrain("auto", graph(), overrides=small, progress=False)
    many = gm.pretrain("auto", [graph(s, nodes=8) for s in range(4)], overrides=small, progress=False)
    for model, data in ((one, graph()), (many, graph(1, nodes=8))):
        assert model.encoder.edge_channels == 2
        assert not torch.allclose(rows(model, data), rows(model, other_edges(data)), atol=1e-4)


def test_steps_that_hide_or_drop_edges_see_the_features_of_those_left() -> None:
    """Dropped edges and hidden features need those of every single edge, not only their sums at the nodes."""
    graphs = [graph(s, nodes=8) for s in range(4)]
    for change in ("mask.drop_edge=0.3", "mask.mask_edges=true"):
        for data in (graph(), graphs):
            small = [change, "encoder.hidden_channels=8", "train.epochs=1", "train.batch_size=2"]
            small = small if isinstance(data, list) else small[:-1]
            model = gm.pretrain("default" if isinstance(data, Data) else "default-graph", data, overrides=small,
                                progress=False)  # fmt: skip
            assert model.encoder.edge_channels == 2


def test_what_only_the_edges_tell_is_found_by_evaluate() -> None:
    """Classes that only edge_attr tells apart are found; raw features cannot know them."""
    draw = torch.Generator().manual_seed(0)
    nodes = 120
    label = torch.arange(nodes) % 2
    ends = torch.randint(nodes, (2, 8 * nodes), generator=draw)
    told = label[ends[0]] + label[ends[1]] - 1.0 + 0.1 * torch.randn(ends.size(1), generator=draw)
    parts = torch.arange(nodes) // 2 % 4
    data = Data(
        x=torch.rand(nodes, 4, generator=draw), edge_index=torch.cat([ends, ends.flip(0)], 1),
        edge_attr=told.repeat(2), y=label, train_mask=parts < 2, val_mask=parts == 2, test_mask=parts == 3,
    )  # fmt: skip
    torch.manual_seed(0)
    encoder = gm.encoders.GCN(4, hidden_channels=16, num_layers=1, edge_channels=1)  # [E] counts as [E, 1]
    model = gm.pretrain(gm.GraphMAE(encoder, gm.decoders.GCN(16, 4)), data, 5, progress=False)
    result = gm.evaluate(model, data, overrides=["evaluation.epochs=100", "evaluation.baselines=['raw']"])
    assert result.column("pretrained", "converged")[0] > 85 > 70 > result.column("raw", "converged")[0]


def test_an_encoder_that_takes_none_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """Features of edges that no part can take were left out in silence."""
    plain = gm.GraphMAE(gm.encoders.GCN(FEATURES, hidden_channels=8), gm.decoders.GCN(8, FEATURES))
    with caplog.at_level("WARNING", logger="graphmae"):
        gm.pretrain(plain, graph(), 1, progress=False)
    assert "edge_attr" in caplog.text and "edge_channels" in caplog.text
    caplog.clear()
    with caplog.at_level("WARNING", logger="graphmae"):
        gm.pretrain("default", graph(), 1, overrides=["method.name=mvgrl", "encoder.name=gcn-diffusion",
                                                      "encoder.hidden_channels=8"], progress=False)  # fmt: skip
        gm.pretrain("default", graph(), 1, overrides=["encoder.hidden_channels=8"], progress=False)
    assert caplog.text.count("edge_attr") == 1  # GAT takes them


def test_other_features_of_edges_than_the_model_knows_are_refused() -> None:
    """A model for two features per edge met three, and a matrix product failed somewhere inside."""
    model = model_for("gin", 2)
    many = [graph(0, 3), graph(1, 3)]
    for data, level in ((graph(0, 3), "node"), (many, "graph"), (many, "node")):
        with pytest.raises(DataError, match=r"2 features per edge.*has 3"):
            gm.embed(model, data, level=level)
    bare = Data(x=graph().x, edge_index=graph().edge_index)
    with pytest.raises(DataError, match="graph has none"):
        gm.embed(model, bare)
    with pytest.raises(DataError, match=r"2 features per edge.*has 3"):
        gm.pretrain(model, many, 1, progress=False)


@pytest.mark.parametrize(
    "wrong",
    [
        torch.zeros(7, 2),
        torch.full((2 * 71, 2), torch.nan),
        torch.zeros(2 * 71, 2, 2),
        torch.zeros(4).to(torch.complex64),
    ],
)
def test_broken_features_of_edges_are_refused_in_words(wrong: torch.Tensor) -> None:
    """What cannot be used is a sentence that names edge_attr."""
    data = graph()
    data.edge_attr = wrong if wrong.size(0) != 2 * 71 else wrong.new_full((data.edge_index.size(1), *wrong.shape[1:]),
                                                                        float(wrong.flatten()[0]))  # fmt: skip
    for source in (data, [data, data]):
        with pytest.raises(DataError, match="edge_attr"):
            gm.pretrain("auto", source, 1, progress=False)


def test_lists_where_only_some_graphs_have_features_of_edges() -> None:
    """Half of the graphs without edge_attr is a mistake; a graph without edges needs none."""
    bare = Data(x=graph().x, edge_index=graph().edge_index)
    with pytest.raises(DataError, match=r"no edge_attr \(the first: graph 1\)"):
        gm.embed(model_for("gin", 2), [graph(), bare], level="graph")
    alone = Data(x=torch.rand(1, FEATURES), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert rows(model_for("gin", 2), [graph(), alone], level="graph").shape == (2, 8)


@pytest.mark.parametrize("seed", range(10))
def test_random_graphs_encoders_and_kinds_of_features(seed: int, tmp_path: Path) -> None:
    """Whatever edge_attr is made of, it counts: change it and embeddings change; put it back and they are the same."""
    draw = random.Random(seed)
    channels, encoder = draw.randint(1, 4), draw.choice(["gin", "gat", "gcn"])
    data = graph(seed, channels, nodes=draw.randint(3, 12))
    kind = draw.choice([torch.float32, torch.float64, torch.int64, torch.bool, torch.float16])
    data.edge_attr = (data.edge_attr > 0).to(kind) if kind in (torch.bool, torch.int64) else data.edge_attr.to(kind)
    if channels == 1 and draw.random() < 0.5:
        data.edge_attr = data.edge_attr.flatten()
    model = model_for(encoder, channels)
    model.save_pretrained(tmp_path)
    source = data if draw.random() < 0.5 else [data, graph(seed + 1, channels)]
    level = "graph" if isinstance(source, list) else "node"
    before, stored = rows(model, source, level=level), data.edge_attr
    data.edge_attr = ~stored if kind == torch.bool else 1 - stored
    assert not torch.allclose(before, rows(model, source, level=level), atol=1e-5)
    data.edge_attr = stored
    assert torch.equal(before, rows(gm.load(tmp_path), source, level=level))


def test_the_command_line_uses_the_features_of_edges_of_a_graph_file(tmp_path: Path) -> None:
    """`graphmae pretrain graph.pt` and graph.npz take edge_attr as Python does."""
    data = graph()
    torch.save(data, tmp_path / "graph.pt")
    names = ("x", "edge_index", "edge_attr")
    np.savez(tmp_path / "graph.npz", **{key: data[key].numpy() for key in names})
    done = graphmae(
        "pretrain", tmp_path / "graph.pt", "--out", tmp_path / "run", "--epochs", 1, "--device", "cpu",
        "--set", "encoder.hidden_channels=8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    model = gm.load(tmp_path / "run")
    assert model.encoder.edge_channels == 2
    assert torch.equal(rows(model, tmp_path / "graph.pt"), rows(model, tmp_path / "graph.npz"))


@pytest.mark.data
def test_published_sets_leave_the_labels_of_their_bonds_aside() -> None:
    """MUTAG has labels of bonds that no published recipe uses; its numbers are those it always had."""
    for name in ("mutag", "cora"):
        dataset = gm.data.load(name)
        assert dataset.edge_channels == 0
        assert all("edge_attr" not in graph for graph in dataset.pretrain_graphs())
        assert getattr(dataset, "edge_sums", None) is None
