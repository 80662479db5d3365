"""Raw files of large graphs, read a piece at a time, give the graph that is read from them at once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import graphmae as gm
from graphmae.data import naming
from graphmae.data.ondisk import StoredGraph, pieces, raw
from graphmae.runtime.errors import DataError, InputError
from raw_files import write_arxiv, write_reddit


@pytest.fixture(autouse=True, params=[64, 1 << 24], ids=["pieces", "at once"])
def small_pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows at a time, which the graph must not depend on. Lines of CSV need room for one of them."""
    monkeypatch.setattr(pieces, "BYTES", request.param)
    monkeypatch.setattr(pieces, "LEAST_BLOCK", 256)


def edges_of(graph: object) -> set[tuple[int, int]]:
    return set(map(tuple, graph.edge_index.t().tolist()))  # type: ignore[attr-defined]


def same(stored: StoredGraph, graph: object) -> None:
    found = stored.single_graph()
    assert edges_of(found) == edges_of(graph) and found.edge_index.shape == graph.edge_index.shape  # type: ignore[attr-defined]
    assert torch.allclose(found.x, graph.x, atol=1e-5) and torch.equal(found.y, graph.y)  # type: ignore[attr-defined]
    for part in ("train", "val", "test"):
        assert torch.equal(found[f"{part}_mask"], graph[f"{part}_mask"])  # type: ignore[index]
    stored.verify()


def test_ogb_as_it_is_in_memory(tmp_path: Path) -> None:
    folder = write_arxiv(tmp_path / "data")
    stored = gm.store(folder, tmp_path / "store")
    dataset = gm.data.load("ogbn-arxiv", root=tmp_path / "data")
    same(stored, dataset.graphs[0])
    assert np.allclose(stored.treatment["moments"]["std"], dataset.treatment["moments"]["std"])
    assert dict(gm.store(folder / "raw", tmp_path / "again").summary()) == dict(stored.summary())
    stored.check_labels()


def test_the_binary_files_of_ogb(tmp_path: Path) -> None:
    """As ogbn-papers100M has them: two rows of edges, labels that are NaN where they are not known."""
    folder, rng = tmp_path / "papers", np.random.default_rng(0)
    x = rng.normal(size=(50, 6)).astype(np.float16)
    edges, label = rng.integers(0, 50, (2, 300)), np.arange(50.0).reshape(-1, 1) % 3
    label[40:] = np.nan
    (folder / "raw").mkdir(parents=True)
    (folder / "split/time").mkdir(parents=True)
    for name, rows in (("train", range(20)), ("valid", range(20, 30)), ("test", range(30, 40))):
        with gzip.open(folder / f"split/time/{name}.csv.gz", "wt") as file:
            file.write("".join(f"{i}\n" for i in rows))
    np.savez(folder / "raw/node-label.npz", node_label=label)
    stored = {}
    for way, save, kept in (("plain", np.savez, edges), ("packed", np.savez_compressed, np.asfortranarray(edges))):
        save(folder / "raw/data.npz", node_feat=x, edge_index=kept, num_nodes_list=np.array([50]))
        stored[way] = gm.store(folder, tmp_path / way, directed=True)
    found = stored["plain"].single_graph()
    wanted = {(a, b) for a, b in edges.T.tolist() if a != b} | {(i, i) for i in range(50)}
    assert edges_of(found) == wanted
    assert torch.equal(found.y, torch.tensor(np.nan_to_num(label[:, 0], nan=-1)).long())
    train = x[:20].astype(np.float64)
    assert np.allclose(found.x, (x - train.mean(0)) / train.std(0), atol=1e-4)
    for name, array in stored["plain"].arrays.items():
        assert np.array_equal(array, stored["packed"].arrays[name]), name


def test_graphsaint(tmp_path: Path) -> None:
    folder, rng = tmp_path / "flickr", np.random.default_rng(0)
    (folder / "raw").mkdir(parents=True)
    x, matrix = rng.normal(size=(30, 4)), sp.random(30, 30, 0.2, "csr", random_state=0)
    sp.save_npz(folder / "raw/adj_full.npz", matrix)
    np.save(folder / "raw/feats.npy", x)
    (folder / "raw/class_map.json").write_text(json.dumps({str(i): i % 4 for i in range(30)}))
    roles = {"tr": list(range(15)), "va": list(range(15, 20)), "te": list(range(20, 30))}
    (folder / "raw/role.json").write_text(json.dumps(roles))
    found = gm.store(folder, tmp_path / "store").single_graph()
    pairs = {(int(a), int(b)) for a, b in zip(*matrix.nonzero(), strict=True) if a != b}
    assert edges_of(found) == pairs | {(b, a) for a, b in pairs} | {(i, i) for i in range(30)}
    assert found.y.tolist() == [i % 4 for i in range(30)] and int(found.val_mask.sum()) == 5
    (folder / "raw/class_map.json").write_text(json.dumps({str(i): [0, 1] for i in range(30)}))
    several = gm.store(folder, tmp_path / "several")  # stored without labels
    with pytest.raises(DataError, match="without labels"):
        several.check_labels()
    np.savez(folder / "raw/adj_full.npz", indptr=matrix.indptr, indices=matrix.indices[:-3])
    with pytest.raises(DataError, match="indices, and indptr says"):
        gm.store(folder, tmp_path / "fewer")
    sp.save_npz(folder / "raw/adj_full.npz", matrix)
    roles["va"] = [0]
    (folder / "raw/role.json").write_text(json.dumps(roles))
    with pytest.raises(DataError, match="a node of val is in another part too"):
        gm.store(folder, tmp_path / "twice")


def test_reddit(tmp_path: Path) -> None:
    write_reddit(tmp_path / "data")
    stored = gm.store(tmp_path / "data/Reddit", tmp_path / "store")
    whole = gm.data.load("reddit", root=tmp_path / "data").graphs[1]
    found = stored.single_graph()
    assert torch.allclose(found.x, whole.x, atol=1e-5) and torch.equal(found.y, whole.y)
    assert edges_of(found) == edges_of(whole)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_small_types(tmp_path: Path, dtype: str) -> None:
    folder = write_arxiv(tmp_path / "data")
    found = gm.store(folder, tmp_path / dtype, dtype=dtype).single_graph().x
    exact = gm.store(folder, tmp_path / "exact").single_graph().x
    assert 0 < (found - exact).abs().max() < 0.03


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    folder = write_arxiv(tmp_path / "data")
    with pytest.raises(InputError, match="first: graphmae store"):
        gm.data.open(str(folder))
    with pytest.raises(InputError, match="for tables"):
        gm.store(folder, tmp_path / "store", columns={"id": "x"})
    edges = folder / "raw/edge.csv.gz"
    for text, said in (("0,60\n", "names node 60"), ("0,1,2\n", "two numbers per line"), ("0,\n1,2\n", "empty cell"),
                       ("a,b\n", "not a gzipped table")):  # fmt: skip
        edges.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(DataError, match=said):
            gm.store(folder, tmp_path / "store")
    (folder / "split/time/test.csv.gz").unlink()
    with pytest.raises(InputError, match=r"no file .*test\.csv\.gz"):
        gm.store(folder, tmp_path / "store")
    binary = tmp_path / "binary/raw"
    binary.mkdir(parents=True)
    np.savez(binary / "data.npz", node_feat=np.array([{}], dtype=object), edge_index=np.zeros((2, 1), np.int64))
    with pytest.raises(DataError, match="node_feat is missing or damaged"):
        gm.store(tmp_path / "binary", tmp_path / "store")
    np.savez(binary / "data.npz", node_feat=np.eye(3), edge_index=np.zeros((3, 1), np.int64))
    with pytest.raises(DataError, match=r"must be \[2, edges\]"):
        gm.store(tmp_path / "binary", tmp_path / "store")
    np.savez(binary / "data.npz", node_feat=np.full((3, 2), np.nan), edge_index=np.array([[0], [1]]))
    with pytest.raises(DataError, match="not a number"):
        gm.store(tmp_path / "binary", tmp_path / "store")


def test_the_names_that_are_recognised_are_those_that_are_read() -> None:
    assert set(naming.RAW) == set(raw.LAYOUTS)


def test_a_model_is_trained_on_it(tmp_path: Path) -> None:
    """The whole path: raw files → store → pre-training → embeddings and scores."""
    stored = gm.store(write_arxiv(tmp_path / "data"), tmp_path / "store")
    changes = ["train.sampler=neighbour", "train.batch_size=32", "encoder.hidden_channels=8", "train.epochs=2"]
    gm.pretrain("auto", stored, out=tmp_path / "run", overrides=changes, progress=False)
    assert np.isfinite(np.asarray(gm.embed(tmp_path / "run", stored))).all()
