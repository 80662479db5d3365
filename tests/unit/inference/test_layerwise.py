"""Layer by layer gives what the whole graph at once gives, also after an interruption, and on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import torch
from torch import Tensor, nn

import graphmae as gm
from graphmae import encoders
from graphmae.data.nodes import NodeDataset
from graphmae.inference import large, layerwise
from graphmae.inference.embedding import NodeReading, embed_graph
from graphmae.inference.layerwise import embed_layerwise
from graphmae.runtime.errors import GraphMAEError, InputError

READINGS = [NodeReading(), NodeReading("all", smooth=2, l2=True)]


@pytest.fixture(scope="module")
def data() -> NodeDataset:
    return gm.data.load("synthetic", num_nodes=150)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layerwise, "EDGES", 120)
    monkeypatch.setattr(layerwise, "ROWS", 64)


def encoder_of(kind: str, channels: int) -> nn.Module:
    torch.manual_seed(0)
    if kind == "gat":
        return encoders.GAT(channels, 16, num_layers=3, heads=4, residual=True, norm="layer").eval()
    if kind == "gcn":
        return encoders.GCN(channels, 16, num_layers=2).eval()
    if kind == "all":
        return encoders.GAT(channels, 16, num_layers=2, heads=2, output="all").eval()
    encoder = encoders.GIN(channels, 16, num_layers=2)
    encoder(torch.rand(50, channels), torch.arange(50).expand(2, -1))  # its batch norms have seen something
    return encoder.eval()


@pytest.mark.parametrize("reading", READINGS, ids=["last", "read"])
@pytest.mark.parametrize("kind", ["gat", "gcn", "gin", "all"])
def test_it_equals_the_whole_graph(data: NodeDataset, tmp_path: Path, kind: str, reading: NodeReading) -> None:
    encoder = encoder_of(kind, data.in_channels)
    expected = embed_graph(encoder, data.graphs[0], reading=reading)
    found = embed_layerwise(encoder, data.compressed(), tmp_path / "scratch", reading=reading)
    assert float((expected - torch.from_numpy(found)).abs().max()) < 1e-5


@pytest.mark.parametrize("after", [1, 4, 7])
def test_an_interrupted_call_goes_on(
    data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    encoder, graph, scratch = encoder_of("gat", data.in_channels), data.compressed(), tmp_path / "scratch"
    whole = np.array(embed_layerwise(encoder, graph, tmp_path / "whole"))
    monkeypatch.setattr(layerwise, "SECONDS", 0.0)
    blocks, computed = layerwise._blocks, [0]

    def counted(*arguments: object) -> object:
        for block in blocks(*arguments):  # type: ignore[arg-type]
            if computed[0] == after and stops[0]:
                raise KeyboardInterrupt
            computed[0] += 1
            yield block

    stops = [True]
    monkeypatch.setattr(layerwise, "_blocks", counted)
    with pytest.raises(KeyboardInterrupt):
        embed_layerwise(encoder, graph, scratch)
    stops[0] = False
    found = embed_layerwise(encoder, graph, scratch)
    assert np.array_equal(found, whole)
    total = computed[0]
    computed[0] = 0
    embed_layerwise(encoder, graph, tmp_path / "again")
    assert total == computed[0]  # nothing was computed twice
    with torch.no_grad():
        next(encoder.parameters()).add_(1.0)
    assert not np.array_equal(embed_layerwise(encoder, graph, scratch), whole)  # another encoder begins anew


def test_a_store_is_embedded_to_files(data: NodeDataset, tmp_path: Path) -> None:
    stored, encoder = gm.store(data, tmp_path / "store"), encoder_of("gcn", data.in_channels)
    expected = embed_graph(encoder, data.graphs[0])
    for out in (None, tmp_path / "z.npy", tmp_path / "z.parquet"):
        found = gm.embed(encoder, stored, out=out)
        assert torch.allclose(found, expected, atol=1e-5)
    assert np.allclose(np.load(tmp_path / "z.npy"), expected.numpy(), atol=1e-5)
    table = pyarrow.parquet.read_table(tmp_path / "z.parquet")
    assert table.column_names[0] == "z0" and table.num_rows == 150
    assert np.allclose(table.column("z3").to_numpy(), expected[:, 3].numpy(), atol=1e-5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "z.npy", "z.parquet"]


def test_a_graph_in_memory_that_does_not_fit_at_once(data: NodeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of("gat", data.in_channels)
    expected = gm.embed(encoder, data)
    monkeypatch.setattr(large, "free_bytes", lambda device: 1000)
    assert large.wants_layers(encoder, data)
    assert torch.allclose(gm.embed(encoder, data), expected, atol=1e-5)


class Own(nn.Module):
    """An encoder that is no stack of ours."""

    in_channels, out_channels = 3, 3

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x


def test_what_cannot_be_done_is_said(data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="Own is not a stack of layers"):
        embed_layerwise(Own(), data.compressed(), tmp_path / "scratch")
    encoder = encoder_of("gcn", data.in_channels)
    with torch.no_grad():
        encoder.blocks[0].conv.weight.fill_(float("inf"))  # type: ignore[union-attr]
    with pytest.raises(GraphMAEError, match="layer 1 of node 0 is not finite"):
        embed_layerwise(encoder, data.compressed(), tmp_path / "scratch")
    from collections import namedtuple

    monkeypatch.setattr(layerwise.shutil, "disk_usage", lambda path: namedtuple("Usage", "free")(10))
    with pytest.raises(InputError, match="write to another disk"):
        embed_layerwise(encoder, data.compressed(), tmp_path / "other")
