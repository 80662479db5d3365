"""A graph on disk is the graph its tables hold, whatever the format; what is wrong is refused in words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmae as gm
from graphmae.data.compressed import CompressedGraph, DamagedGraph, FeatureRows
from graphmae.data.ondisk import StoredGraph, sorting, store_tables, streams
from graphmae.data.ondisk.keys import RowOf
from graphmae.data.ondisk.layout import GrowingArray
from graphmae.runtime.errors import DataError, InputError


def tables(folder: Path, ids: list[object], pairs: list[tuple[int, int]], kind: str = "parquet") -> list[str]:
    nodes = pa.table(
        {"id": ids, "a": [float(i * i % 17) for i in range(len(ids))], "b": ["xyz"[i % 3] for i in range(len(ids))]}
    )
    edges = pa.table({"source": [ids[i] for i, _ in pairs], "target": [ids[j] for _, j in pairs]})
    paths = [folder / f"nodes.{kind}", folder / f"edges.{kind}"]
    for table, path in zip((nodes, edges), paths, strict=True):
        pa.parquet.write_table(table, path) if kind == "parquet" else pa.csv.write_csv(table, path)
    return [str(path) for path in paths]


def edges_of(graph: object) -> set[tuple[int, int]]:
    return set(map(tuple, graph.edge_index.t().tolist()))  # type: ignore[attr-defined]


@given(
    size=st.integers(4, 30),
    pairs=st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), min_size=1, max_size=80),
    kind=st.sampled_from(["parquet", "csv"]),
    words=st.booleans(),
    directed=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_it_is_the_graph_of_the_tables(
    tmp_path_factory: pytest.TempPathFactory, size: int, pairs: list, kind: str, words: bool, directed: bool
) -> None:
    folder = tmp_path_factory.mktemp("round")
    pairs = [(a % size, b % size) for a, b in pairs] + [(0, 1)]
    ids: list[object] = [f"n{7 * i % 31}" if words else 7 * i % 31 for i in range(size)]
    paths = tables(folder, ids, pairs, kind)
    stored = gm.store(paths, folder / "store", directed=directed)
    expected = gm.data.from_tables(*paths, quiet=True, directed=directed).graphs[0]
    found = stored.single_graph()
    assert edges_of(found) == edges_of(expected) and found.edge_index.shape == expected.edge_index.shape
    assert torch.allclose(found.x, expected.x)
    assert stored.node_ids().to_pylist() == ids
    stored.verify()


def test_buckets_and_pieces_do_not_change_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    pairs = list(zip(rng.integers(0, 300, 2000).tolist(), rng.integers(0, 300, 2000).tolist(), strict=True))
    paths = tables(tmp_path, list(range(300)), pairs)
    whole = gm.store(paths, tmp_path / "whole")
    monkeypatch.setattr(sorting, "BUCKET_NODES", 16)
    monkeypatch.setattr(streams, "ROWS", 64)
    monkeypatch.setattr(streams, "CELLS", 1)
    cut = gm.store(paths, tmp_path / "cut")
    for name, array in whole.arrays.items():
        assert np.array_equal(array, cut.arrays[name]), name
    assert whole.header["arrays"] == cut.header["arrays"]


@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-6), ("float16", 2e-3), ("int8", 0.02)])
def test_features_are_kept_as_asked(tmp_path: Path, dtype: str, error: float) -> None:
    paths = tables(tmp_path, list(range(50)), [(i, i + 1) for i in range(49)])
    stored = gm.store(paths, tmp_path / "store", dtype=dtype)
    expected = gm.data.from_tables(*paths, quiet=True).graphs[0].x
    assert stored.arrays["features"].dtype == dtype
    assert float((stored.single_graph().x - expected).abs().max()) < error
    nodes = np.array([3, 49, 0])
    assert torch.equal(stored.compressed().features.take(nodes), stored.single_graph().x[nodes])
    with pytest.raises(InputError, match="Allowed: float16, float32, int8"):
        gm.store(paths, tmp_path / "other", dtype="float64")


def test_labels_splits_and_a_graph_in_memory(tmp_path: Path) -> None:
    dataset = gm.data.load("synthetic", num_nodes=120)
    stored = gm.store(dataset, tmp_path / "store")
    graph, found = dataset.graphs[0], stored.single_graph()
    stored.check_labels()
    assert edges_of(graph) == edges_of(found) and torch.equal(graph.x, found.x) and torch.equal(graph.y, found.y)
    assert torch.equal(graph.val_mask, found.val_mask)
    rows, labels = stored.gather([found.x], "test")
    assert torch.equal(rows, found.x[found.test_mask]) and torch.equal(labels, found.y[found.test_mask])
    again = gm.store(dataset, tmp_path / "store")  # complete already
    assert again.header == stored.header
    with pytest.raises(InputError, match="holds another graph"):
        gm.store(gm.data.load("synthetic", num_nodes=121), tmp_path / "store")


def test_ids_that_are_wrong_are_named(tmp_path: Path) -> None:
    paths = tables(tmp_path, ["a", "b", "c"], [(0, 1), (1, 2)])
    pa.parquet.write_table(pa.table({"source": ["a", "b"], "target": ["b", "zz"]}), tmp_path / "unknown.parquet")
    with pytest.raises(DataError, match=r"1 edge of 2 in unknown.parquet names a node .* the right columns"):
        gm.store([paths[0], str(tmp_path / "unknown.parquet")], tmp_path / "store")
    pa.parquet.write_table(pa.table({"id": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]}), tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="row 3 repeats the id"):
        gm.store([str(tmp_path / "twice.parquet"), paths[1]], tmp_path / "store")
    with pytest.raises(DataError, match="no column 'who'"):
        gm.store(paths, tmp_path / "store", columns={"id": "who"})
    stored = gm.store(paths, tmp_path / "store")  # what was left behind does not stand in the way
    assert stored.num_nodes == 3


def test_an_interrupted_build_begins_again_and_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = tables(tmp_path, list(range(40)), [(i, i + 1) for i in range(39)])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sorting.Buckets, "rows", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        gm.store(paths, tmp_path / "store")
    with pytest.raises(DataError, match="not a complete graph store"):
        gm.data.open(str(tmp_path / "store"))
    assert gm.store(paths, tmp_path / "store").num_nodes == 40
    assert not (tmp_path / "store" / "building").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="is not a graph store"):
        gm.store(paths, tmp_path / "mine")
    assert (tmp_path / "mine" / "letter.txt").exists()


FORGED = {
    "nodes": 10**9, "edges": -1, "format": 99, "kind": "x", "directed": True, "treatment": {"features": "../x"},
    "name": 5, "arrays": {},
}  # fmt: skip


@pytest.mark.parametrize("key", FORGED)
def test_a_forged_header_is_refused(tmp_path: Path, key: str) -> None:
    stored = gm.store(tables(tmp_path, list(range(9)), [(0, 1)]), tmp_path / "store")
    header = json.loads((stored.folder / "header.json").read_text())
    (stored.folder / "header.json").write_text(json.dumps({**header, key: FORGED[key]}))
    with pytest.raises(DataError):
        StoredGraph.open(stored.folder)


def test_damaged_arrays_are_refused(tmp_path: Path) -> None:
    paths = tables(tmp_path, list(range(9)), [(0, 1), (3, 4)])
    gm.store(paths, tmp_path / "store")
    for name in ("indices", "features"):
        shutil.copytree(tmp_path / "store", tmp_path / name)
        path = tmp_path / name / f"{name}.npy"
        path.write_bytes(path.read_bytes()[:-4])
        with pytest.raises(DamagedGraph, match=r"bytes and must have"):
            StoredGraph.open(tmp_path / name)
    path = tmp_path / "store" / "indices.npy"  # an edge to nowhere is noticed when it is read
    array = np.load(path)
    array[0] = 10**6
    np.save(path, array)
    stored = StoredGraph.open(tmp_path / "store")
    with pytest.raises(DamagedGraph, match="not what was written"):
        stored.verify()
    from graphmae.batching.sampling import InducedSampler, NeighbourSampler

    everyone = np.arange(9)
    with pytest.raises(DamagedGraph, match="does not exist"):
        NeighbourSampler(stored.compressed(), [2]).sample(everyone, 0)
    with pytest.raises(DamagedGraph, match="does not exist"):
        InducedSampler(stored.compressed()).sample(everyone)


def test_small_parts(tmp_path: Path) -> None:
    rows = RowOf(np.array([5, -3, 10**12]))
    assert rows.find(np.array([10**12, 0, -3])).tolist() == [2, -1, 1]
    assert RowOf(np.arange(4)).find(np.array([3, 4, -1])).tolist() == [3, -1, -1]
    assert RowOf(np.array([4, 4])).repeated == 1
    growing = GrowingArray(tmp_path / "a.npy", np.float32, 3)
    for _ in range(3):
        growing.append(np.ones((2, 3)))
    assert growing.close()["shape"] == [6, 3] and np.load(tmp_path / "a.npy").shape == (6, 3)
    halves = FeatureRows(np.array([[0.5], [2.0]], dtype=np.float16))
    assert halves.take(np.array([1, 0])).tolist() == [[2.0], [0.5]]


def test_a_model_of_tables_takes_a_store_that_is_like_it(tmp_path: Path) -> None:
    paths = tables(tmp_path, list(range(40)), [(i, i + 1) for i in range(39)])
    stored = gm.store(paths, tmp_path / "store")
    other = pa.table({"id": [0, 1], "a": [1.0, 2.0], "b": ["x", "q"]})
    pa.parquet.write_table(other, tmp_path / "new.parquet")
    pa.parquet.write_table(pa.table({"source": [0], "target": [1]}), tmp_path / "new-edges.parquet")
    new = [str(tmp_path / "new.parquet"), [str(tmp_path / "new-edges.parquet")]]
    same = store_tables(*new, tmp_path / "same", treatment=stored.treatment)
    assert gm.data.open(str(tmp_path / "same"), inputs=stored.treatment).in_channels == stored.in_channels
    assert torch.allclose(same.single_graph().x[0, 0], stored.single_graph().x[1, 0])  # both 1.0 there
    store_tables(*new, tmp_path / "unlike")
    with pytest.raises(InputError, match="--like"):
        gm.data.open(str(tmp_path / "unlike"), inputs=stored.treatment)


def test_weights_of_edges_are_refused() -> None:
    ring = torch.tensor([[0, 1], [1, 0]])
    from torch_geometric.data import Data

    with pytest.raises(InputError, match="weights of edges"):
        CompressedGraph.of(Data(x=torch.eye(2), edge_index=ring, edge_weight=torch.tensor([1.0, 2.0])))
