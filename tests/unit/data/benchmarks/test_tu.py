"""TU sets from small written files; the published ones that lie in GRAPHMAE_DATA for real."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.io import read_tu_data

from graphmae.data.benchmarks import tu
from graphmae.data.benchmarks.tu import load_tu, read_tu
from graphmae.runtime.errors import DataError

# A triangle with a self-loop, a single node, a pair whose edge is given twice; nodes are counted over all graphs.
SOUND = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n1, 1\n5, 6\n6, 5\n5, 6\n6, 5\n",
    "graph_indicator": "1\n1\n1\n2\n3\n3\n",
    "graph_labels": "-1\n1\n-1\n",
    "node_labels": "6\n8\n6\n9\n6\n6\n",
    "node_attributes": " 0.5, 1\n 1.5, 2e0\n2.5,3\n3.5,-4\n4.5,5\n5.5,6\n",
    "edge_labels": "not read\n",
}


def write_tu(folder: Path, name: str = "TOY", **changes: str | None) -> Path:
    """The sound files, with some of them changed or (None) left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, text in (SOUND | changes).items():
        if text is not None:
            (folder / f"{name}_{part}.txt").write_text(text)
    return folder


def edges_of(graphs: tu.GraphSet, i: int) -> list[tuple[int, ...]]:
    return [tuple(edge) for edge in graphs.graph(i).edge_index.T.tolist()]


def test_graphs_labels_and_classes(tmp_path: Path) -> None:
    graphs = read_tu(write_tu(tmp_path), "TOY").checked()
    assert dict(graphs.summary()) == {"graphs": 3, "nodes": 6, "edges": 6 + 4 + 6, "features": 4}
    assert edges_of(graphs, 0) == [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0), (0, 0), (1, 1), (2, 2)]
    assert edges_of(graphs, 1) == [(0, 0)]
    assert edges_of(graphs, 2) == [(0, 1), (1, 0), (0, 1), (1, 0), (0, 0), (1, 1)]
    assert graphs.y is not None
    assert graphs.y.tolist() == [0, 1, 0]
    assert graphs.num_classes == 2
    assert graphs.x.tolist() == [0, 2, 0, 3, 0, 0]
    assert graphs.treatment == {"features": "labels", "self_loops": True, "coalesce": False, "codes": [6, 9]}


def test_edges_are_left_alone_or_taken_once(tmp_path: Path) -> None:
    write_tu(tmp_path)
    as_given = read_tu(tmp_path, "TOY", self_loops=False)
    assert edges_of(as_given, 0)[-1] == (0, 0)
    assert as_given.edge_ptr.tolist() == [0, 7, 7, 11]
    once = read_tu(tmp_path, "TOY", self_loops=False, coalesce=True, features="degree")
    assert edges_of(once, 2) == [(0, 1), (1, 0)]
    assert once.x.tolist() == [3, 2, 2, 0, 1, 1]
    assert as_given.edge_index.dtype == once.edge_index.dtype == torch.int64


def test_the_degree_is_that_of_the_raw_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tu(tmp_path, node_labels=None)
    graphs = read_tu(tmp_path, "TOY")  # auto, without labels
    assert graphs.x.tolist() == [3, 2, 2, 0, 2, 2]  # the self-loop and both copies of an edge count
    assert (graphs.in_channels, graphs.treatment["codes"]) == (4, [0, 3])
    monkeypatch.setattr(tu, "MAX_DEGREE", 2)
    capped = read_tu(tmp_path, "TOY", features="degree")
    assert (capped.x.tolist(), capped.in_channels) == ([2, 2, 2, 0, 2, 2], 3)


def test_attributes(tmp_path: Path) -> None:
    write_tu(tmp_path)
    plain = read_tu(tmp_path, "TOY", features="attributes").checked()
    assert plain.num_codes is None
    assert plain.x[3].tolist() == [3.5, -4.0]
    both = read_tu(tmp_path, "TOY", features="attributes+labels").checked()
    assert both.x[3].tolist() == [3.5, -4.0, 0.0, 0.0, 0.0, 1.0]


def test_a_treatment_brings_back_the_same_features(tmp_path: Path) -> None:
    """A model keeps its categories; another set is read with them."""
    write_tu(tmp_path / "one")
    write_tu(tmp_path / "two", node_labels="8\n8\n8\n8\n8\n8\n", A="1, 2\n")
    for features in ("labels", "degree", "attributes+labels"):
        treatment = dict(read_tu(tmp_path / "one", "TOY", features=features).treatment)  # type: ignore[arg-type]
        other = read_tu(tmp_path / "two", "TOY", **treatment)
        assert other.in_channels == read_tu(tmp_path / "one", "TOY", **treatment).in_channels
        assert other.treatment == treatment
    labels = read_tu(tmp_path / "two", "TOY", codes=[6, 9])
    assert labels.x.tolist() == [2] * 6
    with pytest.raises(DataError, match="labels from 6 to 9; the model knows those from 7 to 9"):
        read_tu(tmp_path / "one", "TOY", codes=[7, 9])
    assert read_tu(tmp_path / "one", "TOY", "degree", codes=[0, 2]).x.max() == 2
    for codes, features in (([3], "labels"), ([3, 1], "degree"), ([0, 1], "attributes")):
        with pytest.raises(DataError, match="codes"):
            read_tu(tmp_path / "one", "TOY", features, codes=codes)  # type: ignore[arg-type]


def test_graphs_may_lack_labels_and_have_one_class(tmp_path: Path) -> None:
    assert read_tu(write_tu(tmp_path / "a", graph_labels=None), "TOY").y is None
    assert read_tu(write_tu(tmp_path / "b", graph_labels="7\n7\n7\n"), "TOY").num_classes == 1
    assert read_tu(write_tu(tmp_path / "c", A=""), "TOY", self_loops=False).edge_index.shape == (2, 0)


def test_line_ends_blanks_and_signs_do_not_matter(tmp_path: Path) -> None:
    expected = read_tu(write_tu(tmp_path / "a"), "TOY")
    other = {part: text.replace("\n", " \r\n").replace(", ", "\t,") + "\n\n" for part, text in SOUND.items()}
    other["node_attributes"], other["graph_labels"] = SOUND["node_attributes"].rstrip("\n"), "-1\n+1\n-01"
    found = read_tu(write_tu(tmp_path / "b", **other), "TOY")
    for key in ("x", "edge_index", "node_ptr", "edge_ptr", "y"):
        assert torch.equal(getattr(found, key), getattr(expected, key))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """The graph of every node (each of them used, in any order) and edges within graphs (in any order)."""
    count = draw(st.integers(1, 5))
    owner = draw(st.permutations([*range(count), *draw(st.lists(st.integers(0, count - 1), max_size=12))]))
    pairs = [(a, b) for a in range(len(owner)) for b in range(len(owner)) if owner[a] == owner[b]]
    return list(owner), draw(st.lists(st.sampled_from(pairs), max_size=30))


@given(tables())
@settings(max_examples=40, deadline=None)
def test_any_order_of_nodes_and_edges_gives_the_same_graphs(table: tuple[list[int], list[tuple[int, int]]]) -> None:
    owner, edges = table
    with tempfile.TemporaryDirectory() as folder:
        write_tu(
            Path(folder),
            A="".join(f"{a + 1}, {b + 1}\n" for a, b in edges),
            graph_indicator="".join(f"{g + 1}\n" for g in owner),
            graph_labels="".join(f"{g}\n" for g in range(max(owner) + 1)),
            node_labels="".join(f"{i}\n" for i in range(len(owner))),
            node_attributes=None,
        )
        graphs = read_tu(folder, "TOY", self_loops=False).checked()
        degrees = read_tu(folder, "TOY", features="degree").x
    for g in range(len(graphs)):
        nodes = [i for i, other in enumerate(owner) if other == g]
        first = int(graphs.node_ptr[g])
        assert graphs.x[first : first + len(nodes)].tolist() == nodes
        assert [(nodes[a], nodes[b]) for a, b in edges_of(graphs, g)] == [e for e in edges if owner[e[0]] == g]
        counted = [sum(b == i for _, b in edges) for i in nodes]
        assert degrees[first : first + len(nodes)].tolist() == counted


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": "1, 2\n2, 7\n"}, r"TOY_A\.txt names node 7, but there are 6 nodes"),
        ({"A": "0, 1\n"}, r"TOY_A\.txt names node 0.*counted from 1"),
        ({"A": "1, 2\n3, 4\n"}, r"TOY_A\.txt: 1 edges lead.*node 3 of graph 1 → node 4 of graph 2"),
        ({"A": "1, 2\n2\n"}, r"TOY_A\.txt, line 2: '2' is not 2 whole numbers"),
        ({"A": "1, 2\n2, "}, r"TOY_A\.txt, line 2: '2,' is not"),
        ({"A": "1, 2\n\n1, 2, 3\n"}, r"TOY_A\.txt, line 3: '1, 2, 3' is not"),
        ({"A": "1 2\n"}, r"TOY_A\.txt, line 1"),
        ({"A": "1, 2 3\n"}, r"TOY_A\.txt, line 1: .1, 2 3. is not"),
        ({"A": "1, 2x\n"}, r"TOY_A\.txt, line 1"),
        ({"A": "1, - 2\n"}, r"TOY_A\.txt, line 1"),
        ({"A": "1, 2-\n"}, r"TOY_A\.txt, line 1"),
        ({"A": "1, 99999999999999999999\n"}, r"TOY_A\.txt, line 1"),
        ({"graph_indicator": ""}, r"TOY_graph_indicator\.txt is empty"),
        ({"graph_indicator": "1\n1\n1\n2\n3\n3.0\n"}, r"TOY_graph_indicator\.txt, line 6: '3\.0' is not one whole"),
        ({"graph_indicator": "0\n0\n0\n1\n2\n2\n"}, "names graph 0; graphs are counted from 1"),
        ({"graph_indicator": "1\n1\n1\n2\n3\n4\n"}, r"names graph 4, but .*TOY_graph_labels\.txt has labels for 3"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n3\n"}, "graph 2 of 3 has no nodes"),
        ({"graph_indicator": "1\n1\n1\n2\n2\n2\n"}, "graph 3 of 3 has no nodes"),
        ({"graph_indicator": "1\n1\n1\n2\n3\n99999999999999\n", "graph_labels": None}, "graph 4 of 9+ has no nodes"),
        ({"graph_indicator": "1\n1\n1\n2\n3\n"}, r"TOY_node_labels\.txt has 6 lines, TOY_graph_indicator\.txt 5"),
        ({"node_labels": "1\n2\n"}, r"TOY_node_labels\.txt has 2 lines"),
        ({"node_labels": "1\n2\n1\n1\n2\nC\n"}, r"TOY_node_labels\.txt, line 6: 'C'"),
        ({"node_labels": "1\n2\n1\n1\n2\n1000000\n"}, "makes 1000000 one-hot features; renumber"),
        ({"node_attributes": "1, 2\n3\n"}, r"TOY_node_attributes\.txt is truncated"),
        ({"node_attributes": "1, 2\n3, x\n"}, r"TOY_node_attributes\.txt is truncated"),
        ({"node_attributes": ""}, r"TOY_node_attributes\.txt has 0 lines"),
        ({"node_attributes": "1\n2\n3\n4\nnan\n6\n"}, r"TOY_node_attributes\.txt, line 5: .*finite"),
        ({"node_attributes": "1\n2\n3\n4\n5\n1e300\n"}, r"TOY_node_attributes\.txt, line 6: .*finite"),
        ({"graph_labels": "1\n-1\n"}, "labels for 2; one of them is truncated"),
        ({"graph_labels": "1\n-1\n0.5\n"}, r"TOY_graph_labels\.txt, line 3"),
        ({"graph_indicator": None}, "no TOY_graph_indicator"),
        ({"A": None, "graph_indicator": None}, "no TOY_A.txt and no TOY_graph_indicator"),
    ],
)
def test_every_defect_is_named(changes: dict[str, str | None], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_tu(write_tu(tmp_path, **changes), "TOY")


def test_features_that_cannot_be_had_are_refused(tmp_path: Path) -> None:
    write_tu(tmp_path, node_labels=None, node_attributes=None)
    for features in ("labels", "attributes", "attributes+labels"):
        with pytest.raises(DataError, match=r"TOY_node_(labels|attributes)\.txt.*'degree' needs no file"):
            read_tu(tmp_path, "TOY", features=features)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="did you mean 'degree'"):
        read_tu(tmp_path, "TOY", features="degrees")  # type: ignore[arg-type]


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    assert load_tu(write_tu(tmp_path / "flat", "mine")).name == "mine"
    write_tu(tmp_path / "deep/raw", "mine")
    assert load_tu(str(tmp_path / "deep"), self_loops=False).treatment["self_loops"] is False
    write_tu(tmp_path / "flat", "other")
    with pytest.raises(DataError, match="several sets \\(mine, other\\)"):
        load_tu(tmp_path / "flat")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no TU set"):
        load_tu(tmp_path / "empty")
    with pytest.raises(DataError, match=r"did you mean 'mutag'.*or a folder"):
        load_tu("mutagg")


@pytest.mark.usefixtures("trusting")
def test_published_names_are_found_below_the_root(tmp_path: Path) -> None:
    write_tu(tmp_path / "TUDataset/MUTAG/raw", "MUTAG")
    before = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.rglob("*") if p.is_file()}
    graphs = load_tu("mutag", tmp_path, features="degree")
    assert (graphs.name, len(graphs)) == ("mutag", 3)
    assert {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.rglob("*") if p.is_file()} == before
    (tmp_path / "TUDataset/MUTAG/raw/MUTAG_node_labels.txt").unlink()
    with pytest.raises(DataError, match=r"missing MUTAG_node_labels.txt .*Two ways to get it"):
        load_tu("mutag", tmp_path)


def test_a_missing_set_is_fetched_from_the_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHMAE_OFFLINE")
    monkeypatch.delenv("GRAPHMAE_DATA", raising=False)
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tu, "ORIGIN", tmp_path.as_uri())
    with zipfile.ZipFile(tmp_path / "NCI1.zip", "w") as bundle:
        for path in write_tu(tmp_path / "NCI1", "NCI1").iterdir():
            bundle.write(path, f"NCI1/{path.name}")
    assert len(load_tu("nci1")) == 3


def test_files_are_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    write_tu(tmp_path / "set")
    first = read_tu(tmp_path / "set", "TOY")
    monkeypatch.setattr(tu, "read", lambda *_: pytest.fail("parsed again"))
    assert torch.equal(read_tu(tmp_path / "set", "TOY").edge_index, first.edge_index)


# graphs, nodes, edges (each way once), categories, graphs a class
REAL = {
    "mutag": (188, 3371, 7442, 7, [63, 125]),
    "imdb-binary": (1000, 19773, 193062, 136, [500, 500]),
    "nci1": (4110, 122747, 265506, 37, [2053, 2057]),
    "proteins": (1113, 43471, 162088, 3, [663, 450]),
}


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(REAL))
def test_the_real_sets(name: str, data_root: Path) -> None:
    count, nodes, edges, features, classes = REAL[name]
    graphs = load_tu(name, data_root, coalesce=True).checked()
    expected = {"graphs": count, "nodes": nodes, "edges": edges + nodes, "features": features}
    assert dict(graphs.summary()) == expected
    assert graphs.y is not None
    assert graphs.y.bincount().tolist() == classes


@pytest.mark.data
def test_the_published_imdb_files_give_every_edge_twice(data_root: Path) -> None:
    graphs = load_tu("imdb-binary", data_root)
    assert graphs.edge_index.size(1) == 2 * 193062 + 19773
    assert graphs.in_channels == 271  # twice the highest degree, and 0


@pytest.mark.data
@pytest.mark.parametrize("name", ["mutag", "proteins"])
def test_the_real_sets_are_what_pyg_reads(name: str, data_root: Path) -> None:
    data, slices, _ = read_tu_data(str(data_root / f"TUDataset/{name.upper()}/raw"), name.upper())
    features = "attributes+labels" if name == "proteins" else "labels"
    graphs = load_tu(name, data_root, self_loops=False, coalesce=True, features=features)
    assert torch.equal(graphs.features(slice(None)), data.x)
    assert torch.equal(graphs.y, data.y)
    assert torch.equal(graphs.node_ptr, slices["x"])
    assert torch.equal(graphs.edge_ptr, slices["edge_index"])
    start = graphs.first_node()
    source, target = (graphs.edge_index + start).numpy()
    order = np.lexsort((target, source))
    assert torch.equal(graphs.edge_index[:, order], data.edge_index)


def test_a_mark_in_front_of_a_file_is_passed_over(tmp_path: Path) -> None:
    marked = {part: "\ufeff" + text for part, text in SOUND.items() if part in ("A", "graph_indicator", "node_labels")}
    plain = read_tu(write_tu(tmp_path / "plain"), "TOY")
    found = read_tu(write_tu(tmp_path / "marked", **marked), "TOY")
    assert torch.equal(found.edge_index, plain.edge_index)
    assert torch.equal(found.x, plain.x)


def test_edges_that_all_go_one_way_and_unused_attributes_are_mentioned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "graphmae"):
        read_tu(write_tu(tmp_path / "both"), "TOY")
        assert "one way" not in caplog.text
        assert "one-hot label; its node attributes are not used" in caplog.text
        read_tu(write_tu(tmp_path / "one", A="1, 2\n2, 3\n1, 3\n1, 1\n5, 6\n"), "TOY")
    assert "no edge is listed both ways" in caplog.text
