"""Two tables → one graph: ids, edges, repairs, problems, in the order of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from graphmae.data import from_edges, from_networkx, from_scipy, from_tables
from graphmae.runtime.errors import DataError

NODES = {"id": ["a", "b", "c", "d"], "age": [3.0, 4.0, None, 9.0], "city": ["x", "y", "x", "y"]}
EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "d"]}


def made(nodes: Any = NODES, edges: Any = EDGES, **options: Any) -> Any:
    return from_tables(nodes, edges, quiet=True, **options)


def test_columns_become_features_and_edges_go_both_ways() -> None:
    graph = made()
    data = graph.graphs[0]
    assert data.x.shape == (4, 4) and graph.feature_names == ["age", "age is missing", "city: x", "city: y"]
    pairs = {tuple(pair) for pair in data.edge_index.T.tolist()}
    assert pairs == {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), *((i, i) for i in range(4))}
    one_way = {tuple(p) for p in made(directed=True, self_loops=False).graphs[0].edge_index.T.tolist()}
    assert one_way == {(0, 1), (1, 2), (2, 3)}


def test_order_of_rows_and_columns_and_the_type_of_ids_change_nothing() -> None:
    plain = {"id": [10, 9, 8, 7], "b": [1.0, 5.0, 2.0, 4.0], "a": ["u", "v", "u", "w"]}
    edges = {"source": [10, 9, 7], "target": [9, 8, 10]}
    one = made(plain, edges)
    turned = {"a": ["w", "u", "v", "u"], "id": ["7", "8", "9", "10"], "b": [4.0, 2.0, 5.0, 1.0]}
    other = made(turned, {"target": ["10", "9", "8"], "source": ["7.0", "10", "9"]})
    assert torch.equal(one.graphs[0].x, other.graphs[0].x.flip(0))
    ends = {tuple(pair) for pair in one.graphs[0].edge_index.T.tolist()}
    assert ends == {(3 - a, 3 - b) for a, b in other.graphs[0].edge_index.T.tolist()}
    seen, seen_other = one.pretrain_graphs()[0], other.pretrain_graphs()[0]
    assert torch.equal(seen.x, seen_other.x) and torch.equal(seen.edge_index, seen_other.edge_index)
    assert one.treatment["columns"] == other.treatment["columns"]
    assert "trailing .0" in other.report.lines()[-1]


def test_labels_masks_cells_and_features_are_in_the_order_of_the_rows() -> None:
    generator, count = np.random.default_rng(0), 60
    ids = generator.permutation(count)
    nodes = {"id": ids, "age": ids * 2.0, "kind": np.where(ids % 2, "odd", "even").tolist()}
    nodes["gap"] = [None if i % 3 else float(i) for i in ids]
    edges = {"source": np.arange(count - 1), "target": np.arange(1, count), "type": ["p", "q"] * 29 + ["p"]}
    graph = made(nodes, edges, label="kind")
    data = graph.graphs[0]
    assert [graph.classes[number] for number in graph.y] == nodes["kind"]
    assert [value.as_py() for value in graph.ids] == ids.tolist()
    assert graph.cells[:, [c.name for c in graph.columns].index("gap")].tolist() == [i % 3 == 0 for i in ids]
    assert np.corrcoef(data.x[:, 0], ids)[0, 1] > 0.999
    for a, b, kind in zip(*data.edge_index.tolist(), data.edge_attr.tolist(), strict=True):
        expected = [0, 0] if a == b else [1 - min(ids[a], ids[b]) % 2, min(ids[a], ids[b]) % 2]
        assert abs(ids[a] - ids[b]) == (a != b) and kind == expected
    turned = made({key: list(reversed(values)) for key, values in nodes.items()}, edges, label="kind")
    assert torch.equal(turned.graphs[0].train_mask.flip(0), data.train_mask)
    inside = graph.sorted_by_id()
    assert inside.sorted_by_id() is inside and torch.equal(graph.from_sorted(inside.graphs[0].x), data.x)
    assert torch.equal(inside.splits["train"][0][1], inside.graphs[0].train_mask)


def test_rows_repeated_word_for_word_are_left_out_everywhere() -> None:
    frame = pandas.DataFrame({"id": ["b", "a", "b", "c"], "age": [1, 2, 1, 3], "kind": ["x", "y", "x", "x"]})
    graph = made(frame, [("a", "b"), ("b", "c")], label="kind")
    left = frame.drop_duplicates()
    assert [value.as_py() for value in graph.ids] == left["id"].tolist()
    assert [graph.classes[number] for number in graph.y] == left["kind"].tolist()
    assert graph.nodes_of(pa.chunked_array([frame["id"].tolist()])).tolist() == [0, 1, 0, 2]


def test_names_of_columns_are_those_of_training_where_the_tables_have_them() -> None:
    nodes = {"sku": ["a", "b", "c", "d"], "price": [1.0, 2.0, 3.0, 4.0], "shop": ["u", "v", "u", "v"]}
    edges = {"when": [1, 2, 3], "buyer": ["a", "b", "c"], "item": ["b", "c", "d"]}
    first = made(nodes, edges, id="sku", source="buyer", target="item", label="shop")
    ends = {"source": "buyer", "target": "item"}
    assert first.treatment["names"] == {"id": "sku", "label": "shop", **ends, "time": "when"}
    assert first.id_name == "sku"
    again = made(nodes, edges, treatment=first.treatment)
    assert again.id_name == "sku" and torch.equal(again.y, first.y) and again.treatment == first.treatment
    without = {key: value for key, value in nodes.items() if key != "shop"}
    bare = made(without, edges, treatment=first.treatment)
    assert bare.y is None
    with pytest.raises(DataError, match="in training it was 'shop', and this table"):
        bare.check_labels()
    renamed = {"id": nodes["sku"], "sku": [4, 3, 2, 1], "price": nodes["price"], "colour": ["r", "g", "r", "g"]}
    assert made(renamed, edges, id="id", label="colour", treatment=first.treatment).classes == ("g", "r")
    strange = {"article": ["q", "r", "s", "t"], "price": nodes["price"], "other": nodes["price"]}
    with pytest.raises(DataError, match="in training it was 'sku', which is not here"):
        made(strange, edges, treatment=first.treatment)
    with pytest.raises(DataError, match="in training they were 'buyer' and 'item'"):
        made(nodes, {"p": ["y"], "q": ["z"], "r": [1]}, treatment=first.treatment)
    unclear = {**nodes, "shop": ["", "", "", ""]}  # nobody asked for the label, so an empty one is no problem
    assert made(unclear, edges, treatment=first.treatment).y is None
    two = {"p": ["a", "c"], "q": ["b", "d"], "when": [1, 2]}
    assert made(nodes, two, treatment=first.treatment).graphs[0].num_edges == 4 + 4


def test_every_repair_is_said() -> None:
    nodes = {**NODES, "id": ["a", "b", "c", "a"], "age": [3.0, 4.0, 1.0, 3.0], "city": ["x", "y", "x", "x"]}
    edges = {"source": ["a", "b", "b", "a", "c", *["a"] * 20], "target": ["b", "a", "b", "zz", "a", *["c"] * 20]}
    said = "\n".join(made(nodes, edges).report.lines())
    for what in ("1 row repeated word for word", "1 edge of 25", "1 self-loop", "repeated edges"):
        assert what in said
    assert "'zz'" in said


def test_all_problems_come_in_one_report() -> None:
    nodes = {"id": ["a", "a", ""], "age": [1, 2, 3]}
    with pytest.raises(DataError) as error:
        made(nodes, {"source": ["x", "a"], "target": ["y", "a"]})
    text = str(error.value)
    assert "3 problems" in text and "without an id" in text and "repeats an id" in text and "'x'" in text


@pytest.mark.parametrize(
    ("nodes", "edges", "options", "message"),
    [
        ({"x": [1], "y": [2]}, EDGES, {}, "which column is the nodes' id"),
        (NODES, {"p": ["a"], "q": ["b"], "r": ["c"]}, {}, "--source and --target"),
        (NODES, EDGES, {"id": "idd"}, "did you mean 'id'"),
        (NODES, EDGES, {"source": "sorce"}, "did you mean 'source'"),
        (NODES, EDGES, {"source": "target"}, "the same column"),
        (NODES, EDGES, {"label": "none"}, "unknown column 'none'"),
        (NODES, EDGES, {"kinds": {"agee": "number"}}, "unknown column 'agee'"),
        (NODES, EDGES, {"label": "age"}, "labels are classes"),
        (NODES, {"source": ["a"], "target": ["a"]}, {}, "no edges between two different nodes"),
        (NODES, {"source": [], "target": []}, {}, "no rows"),
    ],
)
def test_what_cannot_be_repaired_stops(nodes: Any, edges: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        made(nodes, edges, **options)


def test_labels_are_kept_out_of_the_features_and_unlabelled_nodes_out_of_the_splits() -> None:
    count = 40
    nodes = {"id": list(range(count)), "age": list(range(count)), "kind": (["p", "q"] * 18 + [None] * 4)}
    edges = {"source": list(range(count - 1)), "target": list(range(1, count))}
    graph = made(nodes, edges, label="kind")
    data = graph.graphs[0]
    assert graph.classes == ("p", "q") and data.x.size(1) == 1
    assert graph.y[36:].tolist() == [-1] * 4 and graph.num_classes == 2
    seen = data.train_mask | data.val_mask | data.test_mask
    assert int(seen.sum()) == 36 and not (data.train_mask & data.test_mask).any()
    with_split = made(
        {**nodes, "part": ["train"] * 20 + ["val"] * 10 + ["test"] * 10}, edges, label="kind", split="part"
    )
    assert int(with_split.graphs[0].train_mask.sum()) == 20 and int(with_split.graphs[0].test_mask.sum()) == 6


def test_kinds_of_edges_are_an_attribute_and_their_shares_features_of_nodes(tmp_path: Path) -> None:
    graph = made(NODES, {**EDGES, "type": ["likes", "knows", "likes"]})
    data = graph.graphs[0]
    assert data.edge_attr.shape == (data.edge_index.size(1), 2) and graph.treatment["edge_kinds"] == ["knows", "likes"]
    assert graph.feature_names[-3:] == ["edges: number", "edges: knows, mean", "edges: likes, mean"]
    scale = graph.treatment["edge_features"]
    shares = data.x[:, -2:].double() * torch.tensor(scale["std"][1:]) + torch.tensor(scale["mean"][1:])
    assert torch.allclose(shares, torch.tensor([[0.0, 1], [0.5, 0.5], [0.5, 0.5], [0, 1]], dtype=torch.double))
    for name, edges in (("follows", EDGES), ("likes", {"source": ["a"], "target": ["d"]})):
        pandas.DataFrame(edges).to_csv(tmp_path / f"{name}.csv", index=False)
    both = made(NODES, [tmp_path / "follows.csv", tmp_path / "likes.csv"])
    assert both.treatment["edge_kinds"] == ["follows", "likes"]


def test_new_data_is_treated_as_in_training() -> None:
    first = made()
    new = {"city": ["y", "new"], "id": ["n1", "n2"], "age": [4.0, None], "extra": [1, 2]}
    second = made(new, {"source": ["n1"], "target": ["n2"]}, treatment=first.treatment)
    assert torch.equal(second.graphs[0].x[0], first.graphs[0].x[1])
    assert second.graphs[0].x[1].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert any("left aside: 'extra'" in line for line in second.report.lines())
    with pytest.raises(DataError, match="columns this table does not have: 'age'"):
        made({"id": ["a"], "city": ["x"]}, {"source": ["a"], "target": ["a"]}, treatment=first.treatment)
    with pytest.raises(DataError, match="pre-train again with --label city"):
        made(label="city", treatment=first.treatment)


def test_files_of_every_kind_give_the_same_graph(tmp_path: Path) -> None:
    frame, pairs = pandas.DataFrame(NODES), pandas.DataFrame(EDGES)
    expected = made().graphs[0]
    frame.to_csv(tmp_path / "n.csv", index=False)
    frame.to_csv(tmp_path / "n.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "semicolon.csv", index=False, sep=";")
    frame.to_csv(tmp_path / "n.csv.gz", index=False)
    frame.to_parquet(tmp_path / "n.parquet")
    pairs.to_csv(tmp_path / "e.csv", index=False)
    for name in ("n.csv", "n.tsv", "semicolon.csv", "n.csv.gz", "n.parquet"):
        assert torch.equal(made(tmp_path / name, tmp_path / "e.csv").graphs[0].x, expected.x), name
    assert torch.equal(made(frame, pairs).graphs[0].x, expected.x)
    assert torch.equal(made(pa.table(NODES), pa.table(EDGES)).graphs[0].x, expected.x)


def test_ids_keep_leading_zeros_and_words_that_look_missing(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("id,age\n007,1\n7,2\nNA,3\n")
    (tmp_path / "e.csv").write_text("source,target\n007,7\nNA,7\n")
    graph = made(tmp_path / "n.csv", tmp_path / "e.csv")
    assert [value.as_py() for value in graph.ids] == ["007", "7", "NA"] and graph.graphs[0].x.size(0) == 3


def test_an_edge_list_alone_has_structural_features(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("# a comment\n1 2\n2 3\n3 1\n3 4\n")
    graph = from_edges(tmp_path / "e.txt", quiet=True)
    assert graph.graphs[0].x.shape == (4, 5) and [v.as_py() for v in graph.ids] == [1, 2, 3, 4]
    again = from_edges(tmp_path / "e.txt", treatment=graph.treatment, quiet=True)
    assert torch.equal(again.graphs[0].x, graph.graphs[0].x)


def test_graphs_in_memory() -> None:
    import networkx as nx
    import scipy.sparse as sp

    club = from_networkx(nx.karate_club_graph(), label="club", quiet=True)
    assert club.graphs[0].x.shape == (34, 7) and club.feature_names[:2] == ["edges: number", "edges: weight"]
    assert club.classes == ("Mr. Hi", "Officer")
    ring = from_scipy(sp.csr_matrix(np.roll(np.eye(5), 1, axis=0)), np.eye(5), y=np.array([0, 1, 0, 1, 0]))
    assert ring.graphs[0].edge_index.shape == (2, 10)
    with pytest.raises(DataError, match="square"):
        from_scipy(sp.csr_matrix(np.ones((2, 3))), np.eye(2))
    with pytest.raises(DataError, match="NetworkX"):
        from_networkx([1, 2])


def test_a_first_line_that_is_an_edge_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "el.csv").write_text("ann,bob\nbob,cat\ncat,ann\ncat,dan\n")
    alone = from_edges(tmp_path / "el.csv", quiet=True)
    assert len(alone.ids) == 4 and any("4 edges" in line for line in alone.report.lines())
    (tmp_path / "once.csv").write_text("ann,bob\ncat,dan\n")
    nodes = {"id": ["ann", "bob", "cat", "dan"], "age": [1, 2, 3, 4]}
    assert made(nodes, tmp_path / "once.csv").graphs[0].num_edges == 2 * 2 + 4
    (tmp_path / "named.csv").write_text("author,critic\nann,bob\ncat,dan\n")
    said = made(nodes, tmp_path / "named.csv").report.lines()
    assert any("first line was taken as the header ('author', 'critic')" in line for line in said)


def test_cells_that_mean_nothing_to_the_model_are_said_or_refused() -> None:
    first = made({**NODES, "age": [3.0, 4.0, 5.0, 9.0]})
    new = {"id": ["a", "b"], "age": ["3", "old"], "city": ["x", "nowhere"]}
    said = "\n".join(made(new, {"source": ["a"], "target": ["b"]}, treatment=first.treatment).report.lines())
    assert "1 cell of 'age' with no number" in said and "1 cell of 'city' with levels the model does not know" in said
    with pytest.raises(DataError, match="no cell of the column 'age' can be read as the number"):
        made({**new, "age": ["young", "old"]}, {"source": ["a"], "target": ["b"]}, treatment=first.treatment)
    with pytest.raises(DataError, match="trained with a node table"):
        from_tables(None, EDGES, treatment=first.treatment, quiet=True)


def test_dates_as_text_are_dates_in_every_format(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"id": range(4), "born": ["2001-02-03", "2002-03-04", "1990-01-01", "1985-12-31"]})
    edges = {"source": [0, 1, 2], "target": [1, 2, 3]}
    frame.to_csv(tmp_path / "n.csv", index=False)
    frame.to_parquet(tmp_path / "n.parquet")
    one, other = made(tmp_path / "n.csv", edges), made(tmp_path / "n.parquet", edges)
    assert one.graphs[0].x.size(1) == 1 and torch.equal(one.graphs[0].x, other.graphs[0].x)


def test_columns_python_can_hold_and_arrow_cannot() -> None:
    nodes = {"id": [1, "a", 10**25, 4], "big": [10**25 + i for i in range(4)], "mixed": [1, "b", None, 2.5]}
    graph = made(nodes, [(1, "a"), ("a", 10**25), (4, 1)])
    assert [value.as_py() for value in graph.ids] == ["1", "a", str(10**25), "4"]
    frame = pandas.DataFrame({"age": [1, 2, 3]}, index=pandas.Index(["a", "b", "c"], name="id"))
    assert made(frame, np.array([["a", "b"], ["b", "c"], ["c", "a"]])).graphs[0].num_edges == 6 + 3
    categories = pandas.DataFrame({"id": [1, 2, 3], "zip": pandas.Categorical([10115, 20095, 10115])})
    assert made(categories, [(1, 2), (2, 3)]).columns[0].kind == "category"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_edges([], quiet=True), "no edge table"),
        (lambda: made(EDGES, NODES), "NODES come first, EDGES second"),
        (lambda: made({"id": []}, EDGES), "the node table has a header and no rows"),
        (lambda: made({"id": ["a"], "v": [1]}, EDGES, kinds={"v": "vector"}), "cannot be read as vector"),
        (lambda: from_scipy(np.eye(3), [["a"], ["b"], ["c"]]), "x must hold numbers"),
    ],
)
def test_more_that_is_wrong_is_said(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_other_odd_things() -> None:
    import networkx as nx

    both = nx.Graph([(1, "1")])
    with pytest.raises(DataError, match="same name as text"):
        from_networkx(both)
    tensors = nx.path_graph(4)
    nx.set_node_attributes(tensors, {i: torch.tensor([float(i), float("nan"), 1.0]) for i in range(4)}, "v")
    assert torch.isfinite(from_networkx(tensors, quiet=True).graphs[0].x).all()
    assert from_scipy(np.eye(3), np.eye(3), y=np.array(["b", "a", "b"])).graphs[0].y.tolist() == [1, 0, 1]
    huge = made({"id": ["a", "b", "c", "d"], "n": [2**62 + i for i in range(4)], "v": [1, 2, 3, 4]}, EDGES)
    assert any("too large to tell apart" in line for line in huge.report.lines())
    assert made().metric == "accuracy"
    spoken = made({"id": ["a", "b", "c", "d"], "open": ["TRUE", "No", "1", "yes"]}, EDGES)
    assert spoken.columns[0].kind == "boolean"


def test_files_that_are_something_else(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(DataError, match="Excel"):
        made(tmp_path / "n.csv")
