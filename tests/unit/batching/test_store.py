"""A batch taken from the store is the disjoint union of its graphs, padded or not."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

import graphmae as gm
from graphmae import kernels
from graphmae.batching import GraphStore
from graphmae.data import GraphSet
from graphmae.inference.embedding import embed_graph, embed_graphs
from graphmae.masking import RandomNodeMask
from graphmae.runtime.errors import ConfigError


def graph(nodes: int, edges: int, seed: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    return Data(
        x=torch.rand(nodes, 5, generator=generator), edge_index=torch.randint(nodes, (2, edges), generator=generator)
    )


sets = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 9), st.integers(0, 99)), min_size=1, max_size=6)


@settings(max_examples=50, deadline=None)
@given(sets, st.data())
def test_a_batch_is_the_union_of_its_graphs(shapes: list[tuple[int, int, int]], data: st.DataObject) -> None:
    graphs = [graph(*shape) for shape in shapes]
    store = GraphStore(GraphSet.from_list("some", graphs))
    ids = torch.tensor(data.draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=8)))
    taken, union = store.take(ids), Batch.from_data_list([graphs[i] for i in ids.tolist()])
    assert torch.equal(taken.x, union.x)
    assert torch.equal(taken.batch, union.batch)
    expected = kernels.Adjacency.from_edges(union.edge_index, union.num_nodes)
    for a, b in ((taken.graph, expected),):
        assert torch.equal(a.crow, b.crow)
        assert torch.equal(a.row, b.row)
        assert sorted(zip(a.row.tolist(), a.col.tolist(), strict=True)) == sorted(
            zip(b.row.tolist(), b.col.tolist(), strict=True)
        )
    ptr, back = taken.graph.transpose
    assert torch.equal(ptr, expected.transpose[0])
    assert torch.equal(taken.graph.col[back.long()], expected.col[expected.transpose[1].long()])


@pytest.mark.parametrize("encoder", ["gin", "gat", "gcn"])
def test_padding_changes_no_real_row(encoder: str) -> None:
    graphs = [graph(n, e, n) for n, e in ((4, 7), (1, 0), (6, 11))]
    store, ids = GraphStore(GraphSet.from_list("some", graphs)), torch.tensor([2, 0, 1])
    exact, padded = store.take(ids), store.take_padded(ids, 16, 32)
    assert int(padded.graph.valid) == 11
    assert (padded.x[11:] == 0).all()
    assert int(padded.graph.receivers.max()) < 16  # edges that only pad point nowhere outside
    options = {"dropout": 0.0, **({"heads": 2, "attention_dropout": 0.0, "norm": "batch"} if encoder == "gat" else {})}
    network = gm.encoders.build(encoder, in_channels=5, hidden_channels=8, **options)
    with kernels.use("reference"):
        assert torch.allclose(network(padded.x, padded.graph)[:11], network(exact.x, exact.graph), atol=1e-5)


def test_a_padded_draw_masks_every_graph_as_the_rule_says() -> None:
    sizes = torch.tensor([5, 1, 2, 40])
    batch = torch.repeat_interleave(torch.arange(5), torch.tensor([5, 1, 2, 40, 10]))
    rule = RandomNodeMask(rate=0.5, replace_rate=0.2, keep_rate=0.1)
    for _ in range(20):
        draw = rule.draw_padded(batch, sizes)
        masked = torch.zeros(5, dtype=torch.long).index_add(0, batch, draw.masked.long())
        assert masked.tolist() == [2, 1, 1, 20, 0]
        assert draw.replaced is not None
        assert draw.donors is not None
        assert int(draw.replaced.sum()) == 5
        assert int((draw.masked & ~draw.token & ~draw.replaced).sum()) == 2
        assert not (draw.replaced & draw.token).any()
        donors = draw.donors[draw.replaced]
        assert not draw.masked[donors].any()
        assert (batch[donors] < 4).all()
    x, token = torch.rand(58, 3), torch.full((3,), 9.0)
    seen = draw.apply(x, token)
    assert (seen[draw.token] == 9).all()
    assert torch.equal(seen[draw.replaced], x[donors])
    assert torch.equal(seen[~draw.masked], x[~draw.masked])


def test_the_padded_loss_is_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same masked nodes, flags or lists: the same loss."""
    graphs = [graph(n, 3 * n, n) for n in (4, 7, 6)]
    store, ids = GraphStore(GraphSet.from_list("some", graphs)), torch.tensor([1, 2, 0])
    recipe = gm.recipe("default", "encoder.name=gin", "encoder.dropout=0", "decoder.name=gin", "decoder.dropout=0")
    recipe = recipe.override("encoder.norm=batch", "decoder.norm=batch", "encoder.hidden_channels=8")
    network = gm.methods.build(recipe, 5)
    assert network.takes_padding
    padded, exact = store.take_padded(ids, 32, 64), store.take(ids)
    assert padded.graph.sizes is not None
    draw = RandomNodeMask(0.5).draw_padded(padded.batch, padded.graph.sizes)
    masked = draw.masked.nonzero().squeeze(1)
    visible = (~draw.masked[:17]).nonzero().squeeze(1)
    none = masked[:0]
    lists = gm.masking.MaskedNodes(masked, visible, masked, none, none, none)
    monkeypatch.setattr(RandomNodeMask, "draw_padded", lambda *_: draw)
    monkeypatch.setattr(RandomNodeMask, "draw", lambda *_: lists)
    with kernels.use("reference"):
        long = network(padded.x, padded.graph, padded.batch)
    assert torch.allclose(network(exact.x, exact.graph, exact.batch), long, rtol=1e-5)


@pytest.mark.parametrize("readout", ["mean", "max", "sum"])
def test_embedded_graphs_are_pooled_node_embeddings(readout: str) -> None:
    graphs = [graph(n, 2 * n, n) for n in (4, 1, 7, 3, 5)]
    encoder = gm.encoders.GIN(5, hidden_channels=8)
    rows = embed_graphs(encoder, GraphSet.from_list("some", graphs), readout, batch_size=2)
    for row, data in zip(rows, graphs, strict=True):
        nodes = embed_graph(encoder, data)
        expected = nodes.amax(0) if readout == "max" else getattr(nodes, readout)(0)
        assert torch.allclose(row, expected, atol=1e-5)
    assert encoder.training
    with pytest.raises(ConfigError, match="did you mean 'mean'"):
        embed_graphs(encoder, GraphSet.from_list("some", graphs), "meam")
