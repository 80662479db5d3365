"""Weights, times and columns of edges: what they become in the graph, at its nodes, and for new tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphmae.data import from_data, from_edges, from_networkx, from_scipy, from_tables
from graphmae.data.open import open_dataset
from graphmae.evaluation import split_edges
from graphmae.runtime.errors import DataError

NODES = {"id": ["a", "b", "c", "d", "e"], "age": [3.0, 4.0, 5.0, 9.0, 1.0]}
EDGES: dict[str, list[Any]] = {
    "source": ["a", "b", "c", "b"],
    "target": ["b", "c", "d", "a"],
    "weight": [1.0, 2.0, 4.0, 3.0],
    "when": ["2021-01-01", "2021-01-02", "2021-01-05", "2021-01-03"],
    "price": [10.0, 20.0, 60.0, 30.0],
    "paid": [True, False, True, True],
    "by": ["card", "cash", "card", "card"],
}


def made(edges: Any = EDGES, nodes: Any = NODES, **options: Any) -> Any:
    return from_tables(nodes, edges, quiet=True, **options)


def said(graph: Any) -> str:
    return "\n".join(graph.report.lines())


def edge(data: Any, source: int, target: int) -> int:
    return int(((data.edge_index[0] == source) & (data.edge_index[1] == target)).nonzero())


def test_every_column_has_its_place_and_repeated_edges_are_merged() -> None:
    graph = made()
    data = graph.graphs[0]
    ab, ba, cd = edge(data, 0, 1), edge(data, 1, 0), edge(data, 2, 3)
    assert data.edge_weight[[ab, ba, cd]].tolist() == [4.0, 4.0, 4.0] and data.edge_weight.dtype == torch.float32
    day = 86400
    assert data.edge_time.dtype == torch.float64 and float(data.edge_time[cd] - data.edge_time[ab]) == 2 * day
    assert data.edge_attr.shape == (data.edge_index.size(1), 4)  # card, cash, paid, price
    price = graph.treatment["edge_columns"]["columns"][2]
    assert price["name"] == "price"
    raw = data.edge_attr[:, 3] * price["std"] + price["mean"]
    assert torch.allclose(raw[[ab, ba, cd]], torch.tensor([20.0, 20.0, 60.0]))
    assert data.edge_attr[ab, :3].tolist() == [1.0, 0.0, 1.0]
    text = said(graph)
    for line in ("'weight': weights of edges, from 1 to 4", "'when': times of edges; of repeated edges the latest",
                 "'price': number of edges, standardised", "'by': category of edges, 2 categories"):  # fmt: skip
        assert line in text
    assert graph.treatment["names"] == {
        "id": "id", "source": "source", "target": "target", "weight": "weight", "time": "when",
    }  # fmt: skip


def test_a_self_loop_weighs_what_the_nodes_edges_do_and_has_nothing_else() -> None:
    data = made().graphs[0]
    loops = [edge(data, i, i) for i in range(5)]
    assert data.edge_weight[loops].tolist() == pytest.approx([4.0, 3.0, 3.0, 4.0, 10 / 3])
    assert not data.edge_attr[loops].any() and data.edge_time[loops].isnan().all()


def test_features_of_nodes_come_from_their_edges() -> None:
    graph = made()
    names, x = graph.feature_names, graph.graphs[0].x
    assert x.shape == (5, len(names)) and len(set(names)) == len(names)
    scale = graph.treatment["edge_features"]
    at = names.index("edges: weight")
    total = x[:4, at].double() * scale["std"][at - 1] + scale["mean"][at - 1]
    assert torch.allclose(total.exp(), torch.tensor([4.0, 6.0, 6.0, 4.0], dtype=torch.double))
    newest, mean = x[:4, names.index("edges: newest")], x[:4, names.index("edges: mean time")]
    assert newest.argmax() == 2 and newest[2] == newest[3] and mean[3] == mean.max()
    without = [i for i, name in enumerate(names) if name.startswith("edges: ") and name != "edges: number"]
    assert not x[4, without].any()  # nothing is known of e, which has no edges
    assert float(x[4, names.index("edges: number")]) == float(x[:, names.index("edges: number")].min())


def test_directions_are_kept_apart_where_they_are_asked_for() -> None:
    graph = made(directed=True, self_loops=False)
    data, names = graph.graphs[0], graph.feature_names
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 3]] and data.edge_weight.tolist() == [
        1.0,
        3.0,
        2.0,
        4.0,
    ]
    out, into = (data.x[:, names.index(f"edges {side}: number")] for side in ("out", "in"))
    assert out[1] == out.max() and int((out == out.max()).sum()) == 1 and out[3] == out.min()
    assert into[3] > into[4] and len([n for n in names if n.startswith("edges in")]) == 8


def test_the_order_of_rows_and_columns_changes_nothing() -> None:
    generator = np.random.default_rng(0)
    count = 300
    edges = {
        "source": generator.integers(20, size=count), "target": generator.integers(20, size=count),
        "weight": generator.random(count) + 0.1, "price": generator.normal(size=count),
        "when": generator.integers(10**9, size=count), "by": generator.choice(["x", "y", "z"], count),
    }  # fmt: skip
    one = from_edges(edges, quiet=True)
    order = generator.permutation(count)
    turned = {key: edges[key][order] for key in ("by", "when", "price", "weight", "target", "source")}
    other = from_edges(turned, quiet=True, source="source", target="target")
    assert one.treatment == other.treatment
    seen, again = one.pretrain_graphs()[0], other.pretrain_graphs()[0]
    for key in ("x", "edge_index", "edge_weight", "edge_attr"):
        assert torch.equal(seen[key], again[key]), key
    assert torch.equal(seen.edge_time.nan_to_num(), again.edge_time.nan_to_num())


def test_weights_must_be_above_zero_and_differ() -> None:
    below = made({**EDGES, "weight": [1.0, -2.0, 4.0, 3.0]})
    assert "edge_weight" not in below.graphs[0] and "no weights, as some are not above 0" in said(below)
    assert any("weight" in name for name in below.feature_names)  # an ordinary column
    same = made({**EDGES, "weight": [2, 2, 2, 2]})
    assert "edge_weight" not in same.graphs[0] and "'weight': ignored: the same number in every row" in said(same)
    with pytest.raises(DataError, match="'weight' cannot be the weight of edges: weights must be numbers above 0"):
        made({**EDGES, "weight": [1.0, 0.0, 4.0, 3.0]}, weight="weight")
    with pytest.raises(DataError, match="'by' cannot be the time of edges: it is a column of the kind category"):
        made(time="by")
    with pytest.raises(DataError, match=r"unknown column 'heft'.*data\.weight"):
        made(weight="heft")


def test_roles_can_be_named_and_kinds_set() -> None:
    graph = made(weight="price", time="weight", kinds={"by": "ignore"})
    data = graph.graphs[0]
    assert float(data.edge_weight[edge(data, 0, 1)]) == 40.0 and float(data.edge_time[edge(data, 0, 1)]) == 3.0
    assert not any("by" in name for name in graph.feature_names) and any("when" in n for n in graph.feature_names)


def test_weights_that_are_missing_are_the_median() -> None:
    graph = made({**EDGES, "weight": [1.0, 2.0, None, 3.0]})
    data = graph.graphs[0]
    assert float(data.edge_weight[edge(data, 2, 3)]) == 2.0 and "1 edge without a weight in 'weight'" in said(graph)


def test_new_tables_are_encoded_as_in_training() -> None:
    first = made()
    new = {"source": ["b"], "target": ["c"], "weight": ["2,5"], "when": ["2021-01-02"], "price": [20.0],
           "paid": ["no"], "by": ["CASH"], "more": [1]}  # fmt: skip
    second = made(new, treatment=first.treatment)
    before, now = first.graphs[0], second.graphs[0]
    one, other = edge(before, 1, 2), edge(now, 1, 2)
    assert torch.equal(before.edge_attr[one], now.edge_attr[other]) and float(now.edge_weight[other]) == 2.5
    assert before.edge_time[one] == now.edge_time[other] and "does not know, left aside: 'more'" in said(second)
    assert before.x.shape == now.x.shape and second.treatment == first.treatment
    lacking = {key: value for key, value in new.items() if key not in ("weight", "price")}
    with pytest.raises(DataError, match="columns these edges do not have: 'price', 'weight'"):
        made(lacking, treatment=first.treatment)
    renamed = {("heft" if key == "weight" else key): value for key, value in new.items()}
    assert float(made(renamed, weight="heft", treatment=first.treatment).graphs[0].edge_weight[other]) == 2.5
    with pytest.raises(DataError, match="must be above 0"):
        made({**new, "weight": [-1.0]}, treatment=first.treatment)
    with pytest.raises(DataError, match="when the model was trained edges had no weight"):
        plain = {key: EDGES[key] for key in ("source", "target")}
        made(new, weight="weight", treatment=made(plain).treatment)


def test_several_tables_have_their_columns_together() -> None:
    graph = made([{"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 3]},
                  {"source": ["c"], "target": ["d"], "weight": [2.5], "by": ["hand"]}])  # fmt: skip
    data = graph.graphs[0]
    assert graph.treatment["edge_kinds"] == ["kind 1", "kind 2"]
    assert data.edge_weight[[edge(data, 0, 1), edge(data, 2, 3)]].tolist() == [1.0, 2.5]
    assert "edges: by is missing, mean" in graph.feature_names


def test_features_know_nothing_of_edges_that_are_held_out() -> None:
    generator = np.random.default_rng(1)
    edges = {
        "source": np.arange(60), "target": (np.arange(60) * 7 + 1) % 60, "weight": generator.random(60) + 0.5,
        "when": np.arange(60) + 1.0, "type": ["p", "q"] * 30,
    }  # fmt: skip
    graph = from_edges(edges, quiet=True)
    split = split_edges(graph.single_graph(), 0.2, held_out="time")
    seen = graph.with_graph(split.graph).single_graph()
    kept = sorted(split.train.flatten().unique().tolist())
    assert len(kept) <= 60 and seen.x.shape == graph.graphs[0].x.shape
    names = {str(i): i for i in range(60)}
    ids = [names[str(value)] for value in graph.ids.to_pylist()]
    left = {tuple(sorted((ids[a], ids[b]))) for a, b in split.train.T.tolist()}
    rows = [i for i in range(60) if tuple(sorted((int(edges["source"][i]), int(edges["target"][i])))) in left]
    fresh = from_tables(
        {"id": graph.ids.to_pylist()}, {key: np.asarray(value)[rows] for key, value in edges.items()},
        treatment=graph.treatment, id="id", source="source", target="target", quiet=True,
    ).single_graph()  # fmt: skip
    for key in ("x", "edge_index", "edge_weight", "edge_attr"):
        assert torch.equal(seen[key], fresh[key]), key


def test_models_of_an_earlier_version_with_kinds_are_refused() -> None:
    treatment = {key: value for key, value in made({**EDGES, "type": ["u", "v", "u", "v"]}).treatment.items()
                 if key not in ("edge_columns", "edge_features")}  # fmt: skip
    with pytest.raises(DataError, match="pre-train it again"):
        made({**EDGES, "type": ["u", "v", "u", "v"]}, treatment=treatment)


def test_weights_of_graphs_that_are_in_memory_count_too(tmp_path: Path) -> None:
    import networkx as nx
    import scipy.sparse as sp

    net = nx.Graph()
    net.add_edge("a", "b", weight=2.0, since=3)
    net.add_edge("b", "c", weight=5.0)
    data = from_networkx(net, quiet=True).graphs[0]
    assert data.edge_weight[[edge(data, 0, 1), edge(data, 2, 1)]].tolist() == [2.0, 5.0]
    matrix = sp.coo_matrix(np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 7.0], [0.0, 7.0, 0.0]]))
    data = from_scipy(matrix, np.eye(3)).graphs[0]
    assert float(data.edge_weight[edge(data, 1, 2)]) == 7.0 and float(data.edge_weight[edge(data, 1, 1)]) == 5.0
    assert "edge_weight" not in from_scipy(matrix > 0, np.eye(3)).graphs[0]
    pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]), edge_attr=torch.ones(2, 3))
    assert from_data(pair).graphs[0].edge_attr.tolist() == [[1.0] * 3] * 2 + [[0.0] * 3] * 2  # self-loops have none
    pair.edge_weight = torch.tensor([1.0, -1.0])
    with pytest.raises(DataError, match="edge 1, from node 1 to node 0, has -1"):
        from_data(pair)
    np.savez(tmp_path / "g.npz", x=np.eye(2), edge_index=pair.edge_index.numpy(), edge_weight=np.array([1.0, 2.0]))
    assert open_dataset(tmp_path / "g.npz").graphs[0].edge_weight.tolist() == [1.0, 2.0, 1.5, 1.5]
