from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import add_self_loops, coalesce, remove_self_loops

from graphmae.data.graphset import GraphSet
from graphmae.runtime.errors import DataError


def path_graph(nodes: int, y: int | None = 0, width: int = 3) -> Data:
    row = torch.arange(nodes - 1)
    edge_index = torch.stack([torch.cat([row, row + 1]), torch.cat([row + 1, row])])
    label = {} if y is None else {"y": torch.tensor([y])}
    return Data(x=torch.rand(nodes, width), edge_index=edge_index, **label)


@st.composite
def graph_lists(draw: st.DrawFn) -> list[Data]:
    """Graphs with repeated edges, self-loops, single nodes, no edges at all."""
    graphs = []
    for i in range(draw(st.integers(1, 6))):
        nodes = draw(st.integers(1, 5))
        pairs = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=12))
        edge_index = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
        graphs.append(Data(x=torch.rand(nodes, 2), edge_index=edge_index, y=torch.tensor([i % 2])))
    return graphs


@given(graph_lists())
@settings(max_examples=40, deadline=None)
def test_graphs_come_out_as_they_went_in(graphs: list[Data]) -> None:
    packed = GraphSet.from_list("list", graphs)
    assert len(packed) == len(graphs)
    for i, graph in enumerate(graphs):
        out = packed.graph(i)
        assert all(torch.equal(out[key], graph[key]) for key in ("x", "edge_index", "y"))


@given(graph_lists())
@settings(max_examples=40, deadline=None)
def test_self_loops_and_repeated_edges_are_treated_graph_by_graph(graphs: list[Data]) -> None:
    packed = GraphSet.from_list("list", graphs)
    looped, once = packed.with_self_loops().checked(), packed.coalesced().checked()
    assert looped.treatment["self_loops"]
    for i, graph in enumerate(graphs):
        nodes = graph.num_nodes
        expected, _ = add_self_loops(remove_self_loops(graph.edge_index)[0], num_nodes=nodes)
        assert torch.equal(looped.graph(i).edge_index, expected)
        kept = once.graph(i).edge_index
        assert torch.equal(coalesce(kept, num_nodes=nodes), coalesce(graph.edge_index, num_nodes=nodes))
        first = list(dict.fromkeys(map(tuple, graph.edge_index.T.tolist())))
        assert [tuple(edge) for edge in kept.T.tolist()] == first


def test_a_set_says_what_it_holds() -> None:
    packed = GraphSet.from_list("paths", [path_graph(3, 0), path_graph(1, 2), path_graph(4, 1)])
    assert dict(packed.summary()) == {"graphs": 3, "nodes": 8, "edges": 10, "features": 3}
    assert (packed.in_channels, packed.num_classes) == (3, 3)
    assert packed.node_ptr.tolist() == [0, 3, 4, 8]
    assert packed.edge_ptr.tolist() == [0, 4, 4, 10]
    assert packed.graph(-1).num_nodes == 4
    assert packed.graph(1).edge_index.shape == (2, 0)
    with pytest.raises(IndexError):
        packed.graph(3)


def test_codes_stand_for_one_hot_features() -> None:
    packed = replace(GraphSet.from_list("paths", [path_graph(3), path_graph(2)]), x=torch.tensor([0, 3, 1, 2, 2]))
    packed = replace(packed, num_codes=4).checked()
    assert packed.in_channels == 4
    assert torch.equal(packed.features(slice(None)), torch.eye(4)[packed.x])
    assert torch.equal(packed.features(torch.tensor([4, 1])), torch.eye(4)[[2, 3]])
    assert torch.equal(packed.graph(1).x, torch.eye(4)[[2, 2]])
    assert packed.graph(1).x.dtype == torch.float32


def test_labels_may_be_missing() -> None:
    packed = GraphSet.from_list("paths", [path_graph(3, None), path_graph(2, None)])
    assert packed.y is None
    assert "y" not in packed.graph(0)
    with pytest.raises(DataError, match="no labels"):
        _ = packed.num_classes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.full((7, 3), float("nan"))}, r"7 nodes have NaN.*node 0 of graph 0"),
        ({"x": torch.rand(7)}, "must be a matrix"),
        ({"x": torch.rand(7, 0)}, "0 features"),
        ({"x": torch.rand(7), "num_codes": 3}, "one whole number a node"),
        ({"x": torch.tensor([0, 1, 2, 0, 1, 3, 0]), "num_codes": 3}, r"outside 0 to 2.*node 2 of graph 1"),
        ({"edge_index": torch.zeros(3, 10, dtype=torch.long)}, r"\[2, edges\]"),
        ({"edge_index": torch.rand(2, 10)}, r"\[2, edges\]"),
        ({"edge_index": torch.full((2, 10), 3)}, r"4 edges leave their graph.*3 → 3 in graph 0.*from 0 to 2"),
        ({"edge_index": torch.full((2, 10), -1)}, "10 edges leave"),
        ({"node_ptr": torch.tensor([0, 3, 8])}, "node_ptr must rise from 0 to 7"),
        ({"node_ptr": torch.tensor([0, 9, 7])}, "node_ptr must rise"),
        ({"edge_ptr": torch.tensor([1, 4, 10])}, "edge_ptr must rise from 0 to 10"),
        ({"edge_ptr": torch.tensor([0, 10])}, "for 2 graphs, edge_ptr for 1"),
        ({"edge_ptr": torch.tensor([0.0, 4.0, 10.0])}, "edge_ptr must be a row of whole numbers"),
        ({"node_ptr": torch.tensor([0])}, "at least one graph"),
        ({"node_ptr": torch.tensor([0, 0, 7])}, "1 graphs have no nodes .*graph 0"),
        ({"y": torch.tensor([0])}, "1 rows for 2 graphs"),
        ({"y": torch.tensor([0, -1])}, "from 0 up, not -1"),
        ({"y": torch.tensor([0, 10**12])}, "names class"),
        ({"y": torch.tensor([0.0, 1.0])}, "y must be a row of whole numbers"),
    ],
)
def test_every_defect_is_named(change: dict[str, object], message: str) -> None:
    packed = GraphSet.from_list("paths", [path_graph(3), path_graph(4)])
    with pytest.raises(DataError, match=message):
        replace(packed, **change).checked()  # type: ignore[arg-type]


def test_all_defects_in_one_report() -> None:
    packed = GraphSet.from_list("paths", [path_graph(3), path_graph(4)])
    packed.x[4, 1] = float("inf")
    packed.edge_index[1, 5] = 9
    with pytest.raises(DataError, match=r"^paths: .*node 1 of graph 1.*→ 9 in graph 1"):
        packed.checked()


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (path_graph(2, width=5), "graph 1: 5 features, but graph 0 has 3"),
        (Data(edge_index=torch.zeros(2, 0, dtype=torch.long)), "graph 1: x must be a matrix"),
        (Data(x=torch.ones(2, 3, dtype=torch.long)), "graph 1: x must be a matrix"),
        (Data(x=torch.rand(2, 3)), "graph 1: edge_index"),
        (path_graph(2, None), "1 graphs have no y .*graph 1"),
        (Data(**{**path_graph(2).to_dict(), "y": torch.tensor([0, 1])}), "one class number"),
        (Data(**{**path_graph(2).to_dict(), "y": torch.tensor([0.5])}), "whole class number, not 0.5"),
        (Data(**{**path_graph(2).to_dict(), "y": torch.tensor([float("nan")])}), "not nan"),
        (path_graph(2, -1), "from 0 up, not -1"),
        (Data(x=torch.rand(0, 3), edge_index=torch.zeros(2, 0, dtype=torch.long), y=0), "graph 1"),
    ],
)
def test_graphs_that_do_not_fit_are_named(odd: Data, message: str) -> None:
    with pytest.raises(DataError, match=message):
        GraphSet.from_list("list", [path_graph(3), odd])


def test_long_reports_are_cut_and_no_graphs_are_refused() -> None:
    with pytest.raises(DataError, match=r"graph 5: 5 features.*and 4 more"):
        GraphSet.from_list("list", [path_graph(3)] + [path_graph(2, width=5)] * 9)
    with pytest.raises(DataError, match="at least one graph"):
        GraphSet.from_list("list", [])
