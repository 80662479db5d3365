"""The six node sets from small raw files of the real layouts; the three that lie in GRAPHMAE_DATA for real."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch

from graphmae.data import load
from graphmae.runtime.errors import DataError
from raw_files import write_arxiv, write_planetoid, write_ppi, write_reddit


def loops(edge_index: torch.Tensor) -> int:
    return int((edge_index[0] == edge_index[1]).sum())


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("gap", [False, True])
def test_planetoid(tmp_path: Path, gap: bool) -> None:
    write_planetoid(tmp_path, "CiteSeer", gap)
    dataset = load("citeseer", tmp_path)
    graph = dataset.graphs[0]
    assert graph.num_nodes == 532 + gap
    assert [int(graph[f"{s}_mask"].sum()) for s in ("train", "val", "test")] == [20, 500, 12]
    assert loops(graph.edge_index) == graph.num_nodes
    assert graph.edge_index.size(1) == 2 * graph.num_nodes + graph.num_nodes  # a ring, undirected, with one loop each
    sums = graph.x.sum(1)
    assert ((sums - 1).abs() < 1e-5).sum() == graph.num_nodes - int((sums == 0).sum())
    assert int((sums == 0).sum()) >= gap
    assert (dataset.pretrain, dataset.metric, dataset.num_classes) == ((0,), "accuracy", 3)


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("suffix", ["x", "allx", "graph", "test.index", "ty"])
def test_planetoid_truncated_files_are_named(tmp_path: Path, suffix: str) -> None:
    path = write_planetoid(tmp_path) / f"ind.cora.{suffix}"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 - 1])
    with pytest.raises(DataError, match=r"ind\.cora|do not belong together|differ in rows"):
        load("cora", tmp_path)


@pytest.mark.usefixtures("trusting")
def test_planetoid_refuses_a_pickle_that_would_run_code(tmp_path: Path) -> None:
    path = write_planetoid(tmp_path) / "ind.cora.y"
    path.write_bytes(b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.")
    with pytest.raises(DataError, match=r"os\.system"):
        load("cora", tmp_path)


def test_arxiv(tmp_path: Path) -> None:
    write_arxiv(tmp_path)
    dataset = load("ogbn-arxiv", tmp_path)
    graph = dataset.graphs[0]
    edges = {tuple(e) for e in graph.edge_index.T.tolist()}
    assert edges == {(b, a) for a, b in edges}
    assert loops(graph.edge_index) == 60
    train = graph.x[graph.train_mask]
    assert torch.allclose(train.mean(0), torch.zeros(8), atol=1e-5)
    assert torch.allclose(train.std(0, correction=0), torch.ones(8), atol=1e-4)
    assert [int(graph[f"{s}_mask"].sum()) for s in ("train", "val", "test")] == [30, 15, 15]


def test_ppi_is_split_by_graph(tmp_path: Path) -> None:
    write_ppi(tmp_path)
    dataset = load("ppi", tmp_path)
    assert len(dataset.graphs) == 7
    assert dataset.pretrain == (0, 1, 2)
    assert {i for i, _ in dataset.splits["test"]} == {5, 6}
    assert (dataset.metric, dataset.num_classes, dataset.in_channels) == ("micro-f1", 5, 6)
    for graph in dataset.graphs:
        edges = {tuple(e) for e in graph.edge_index.T.tolist()}
        assert edges == {(b, a) for a, b in edges}
        assert graph.edge_index.max() < 10


def test_reddit_keeps_test_posts_out_of_training(tmp_path: Path) -> None:
    write_reddit(tmp_path)
    dataset = load("reddit", tmp_path)
    seen, whole = dataset.graphs
    assert dataset.pretrain_graphs() == [seen]
    assert (seen.num_nodes, whole.num_nodes) == (30, 90)
    assert torch.allclose(seen.x.mean(0), torch.zeros(7), atol=1e-5)  # scaled by training posts alone
    assert whole.x[60:].mean() > 10
    assert torch.equal(seen.x, whole.x[:30])
    inside = (whole.edge_index < 30).all(0)
    expected = {tuple(e) for e in whole.edge_index[:, inside].T.tolist()}
    assert {tuple(e) for e in seen.edge_index.T.tolist()} == expected
    assert [i for split in ("train", "val", "test") for i, _ in dataset.splits[split]] == [0, 1, 1]


@pytest.mark.parametrize(
    ("write", "name", "file"),
    [
        (write_arxiv, "ogbn-arxiv", "raw/node-feat.csv.gz"),
        (write_arxiv, "ogbn-arxiv", "raw/edge.csv.gz"),
        (write_ppi, "ppi", "train_graph.json"),
        (write_ppi, "ppi", "test_feats.npy"),
        (write_reddit, "reddit", "reddit_data.npz"),
        (write_reddit, "reddit", "reddit_graph.npz"),
    ],
)
def test_truncated_and_missing_files_are_named(write, name: str, file: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path) / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=path.name.replace(".", r"\.")):
        load(name, tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"missing .*Two ways to get it"):
        load(name, tmp_path)


def test_nothing_is_written_into_the_data_root(tmp_path: Path) -> None:
    folder = write_reddit(tmp_path)
    before = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.rglob("*") if p.is_file()}
    tmp_path.chmod(0o555)
    folder.chmod(0o555)
    load("reddit", tmp_path)
    assert {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.rglob("*") if p.is_file()} == before


REAL = {"cora": (2708, 10556, 1433, 7, 0), "citeseer": (3327, 9104, 3703, 6, 15), "pubmed": (19717, 88648, 500, 3, 0)}


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(REAL))
def test_the_real_planetoid_sets(name: str, data_root: Path) -> None:
    dataset = load(name, data_root)
    graph = dataset.graphs[0]
    nodes, edges, features, classes, empty = REAL[name]
    assert (graph.num_nodes, graph.edge_index.size(1) - nodes) == (nodes, edges)
    assert (dataset.in_channels, dataset.num_classes) == (features, classes)
    assert int((graph.x.abs().sum(1) == 0).sum()) == empty
    assert [int(graph[f"{s}_mask"].sum()) for s in ("train", "val", "test")] == [20 * classes, 500, 1000]
