from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.data import check_graph, from_data, load, read_graph
from graphmae.data.cache import cached
from graphmae.data.splits import stratified_split
from graphmae.runtime.errors import ConfigError, DataError


def test_a_sound_graph_passes(tiny: Data) -> None:
    assert torch.equal(check_graph(tiny).x, tiny.x)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.full((12, 6), float("nan"))}, "12 nodes have NaN or infinite features"),
        ({"x": torch.rand(12)}, "must be a matrix"),
        ({"x": torch.ones(12, 6, dtype=torch.long)}, "floating-point"),
        ({"edge_index": torch.tensor([[0, 3], [1, 12]])}, "1 edges name a node that does not exist"),
        ({"edge_index": torch.tensor([[0], [-1]])}, "does not exist"),
        ({"edge_index": torch.rand(2, 3)}, "whole numbers"),
        ({"edge_index": torch.zeros(3, 4, dtype=torch.long)}, r"\[2, edges\]"),
        ({"y": torch.zeros(11, dtype=torch.long)}, "y has 11 rows for 12 nodes"),
        ({"y": torch.tensor(3)}, "one row per node"),
        ({"y": torch.full((12,), 10**12)}, "names class"),
        ({"y": torch.rand(12, 3)}, "0 and 1 alone"),
        ({"y": torch.rand(12)}, "whole"),
        ({"x": torch.full((12, 6), 1e300, dtype=torch.float64)}, "infinite"),
        ({"y": torch.full((12,), -1)}, "from 0 up"),
        ({"train_mask": torch.ones(12)}, "true or false"),
    ],
)
def test_every_defect_is_named(change: dict[str, torch.Tensor], message: str, tiny: Data) -> None:
    for key, value in change.items():
        tiny[key] = value
    with pytest.raises(DataError, match=message):
        check_graph(tiny)


def test_all_defects_in_one_report(tiny: Data) -> None:
    tiny.x[3, 2] = float("inf")
    tiny.edge_index[1, 0] = 99
    with pytest.raises(DataError, match=r"node 3.*0 → 99"):
        check_graph(tiny)


def test_self_loops_are_added_once(tiny: Data) -> None:
    tiny.edge_index = torch.cat([tiny.edge_index, torch.tensor([[0, 0], [0, 0]])], dim=1)
    edge_index = from_data(tiny).graphs[0].edge_index
    assert torch.equal(edge_index[0][edge_index[0] == edge_index[1]].sort().values, torch.arange(12))


def test_graph_files(tmp_path: Path, tiny: Data) -> None:
    arrays = {key: tiny[key].numpy() for key in ("x", "edge_index", "y", "train_mask")}
    np.savez(tmp_path / "graph.npz", **arrays)
    torch.save(tiny, tmp_path / "graph.pt")
    for name in ("graph.npz", "graph.pt"):
        read = read_graph(tmp_path / name)
        assert torch.equal(read.x, tiny.x)
        assert torch.equal(read.train_mask, tiny.train_mask)


def test_broken_graph_files_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones((3, 2), np.float32), edges=np.zeros((2, 1), np.int64))
    with pytest.raises(DataError, match=r"unknown array 'edges'.*'edge_index' is missing"):
        read_graph(tmp_path / "a.npz")
    for name in ("b.npz", "b.pt"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 not really")
        with pytest.raises(DataError, match="truncated"):
            read_graph(tmp_path / name)
    torch.save([1, 2], tmp_path / "c.pt")
    with pytest.raises(DataError, match="not a PyG Data"):
        read_graph(tmp_path / "c.pt")
    with pytest.raises(DataError, match="no file"):
        read_graph(tmp_path / "none.npz")
    (tmp_path / "d.xyz").write_text("")
    with pytest.raises(DataError, match="Allowed"):
        read_graph(tmp_path / "d.xyz")


def test_object_arrays_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([object()], dtype=object), edge_index=np.zeros((2, 0), np.int64))
    with pytest.raises(DataError):
        read_graph(tmp_path / "a.npz")


def test_the_synthetic_graph_is_the_same_everywhere() -> None:
    a, b = load("synthetic").graphs[0], load("synthetic").graphs[0]
    assert torch.equal(a.x, b.x)
    assert torch.equal(a.edge_index, b.edge_index)
    assert int(a.edge_index.sum()) == SYNTHETIC_EDGE_SUM
    same = a.y[a.edge_index[0]] == a.y[a.edge_index[1]]
    other = a.edge_index[0] != a.edge_index[1]
    assert 0.7 < float(same[other].float().mean()) < 0.9
    with pytest.raises(ConfigError, match="num_nodes"):
        load("synthetic", num_nodes=5)


SYNTHETIC_EDGE_SUM = 11234838


def test_splits_are_stratified_and_disjoint() -> None:
    y = torch.tensor([0] * 50 + [1] * 10 + [2] * 3)
    masks = stratified_split(y)
    total = sum(mask.long() for mask in masks.values())
    assert (total == 1).all()
    assert all(len(y[masks["train"]].unique()) == 3 for _ in range(1))


def test_the_cache_is_keyed_by_content(tmp_path: Path) -> None:
    calls = []

    def read() -> dict[str, torch.Tensor]:
        calls.append(1)
        return {"x": torch.arange(3)}

    (tmp_path / "raw").write_text("one")
    for _ in range(2):
        assert torch.equal(cached("set", {"raw": tmp_path / "raw"}, read)["x"], torch.arange(3))
    assert len(calls) == 1
    (tmp_path / "raw").write_text("two")
    cached("set", {"raw": tmp_path / "raw"}, read)
    assert len(calls) == 2


def test_embed_takes_whatever_pretrain_took(tiny: Data) -> None:
    model = gm.GraphMAE(gm.encoders.GCN(6, 4), gm.decoders.GCN(4, 6))
    gm.pretrain(model, [tiny, tiny], epochs=2, batch_size=2, progress=False, device="cpu")
    both = gm.embed(model, [tiny, tiny])
    assert len(both) == 2
    assert torch.equal(both[0], gm.embed(model, tiny))
    assert torch.equal(both[0], gm.embed(model.encoder, tiny))
    with pytest.raises(DataError, match="6 features"):
        gm.embed(model, Data(x=torch.rand(3, 5), edge_index=torch.zeros(2, 0, dtype=torch.long)))


def test_a_member_of_an_archive_that_is_not_an_array_is_named(tmp_path: Path) -> None:
    """NumPy gives the bytes of such a member, not an error."""
    np.savez(tmp_path / "a.npz", x=np.ones((3, 2), np.float32))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("edge_index.npy", b"not what an array begins with")
    with pytest.raises(DataError, match="'edge_index' is not an array"):
        read_graph(tmp_path / "a.npz")
