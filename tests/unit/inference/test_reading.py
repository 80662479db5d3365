"""How node embeddings are read: layers, averaging, length; and that the evaluation reads them so."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.nn import functional as F

import graphmae as gm
from graphmae import encoders
from graphmae.inference.embedding import NodeReading, embed_graph, propagated


def test_readings_are_what_they_say() -> None:
    torch.manual_seed(0)
    graph = gm.data.load("synthetic", num_nodes=60).graphs[0]
    encoder = encoders.GCN(graph.x.size(1), hidden_channels=8, out_channels=4, dropout=0.0)
    last, both = embed_graph(encoder, graph), embed_graph(encoder, graph, reading=NodeReading(layers="all"))
    assert last.shape == (60, 4) and both.shape == (60, 12) and torch.equal(both[:, 8:], last)
    assert encoder.output == "last"
    assert torch.allclose(embed_graph(encoder, graph, reading=NodeReading(l2=True)), F.normalize(last))
    dense = torch.zeros(60, 60)
    dense[graph.edge_index[1], graph.edge_index[0]] = 1
    into, out = dense.sum(1), dense.sum(0)
    dense = dense / (into[:, None] * out).sqrt()
    smooth = embed_graph(encoder, graph, reading=NodeReading(smooth=3))
    assert torch.allclose(smooth, last + dense @ dense @ dense @ last, atol=1e-5)
    assert torch.allclose(propagated(graph.x, graph.edge_index, 1), dense @ graph.x, atol=1e-5)


def test_the_evaluation_reads_as_the_recipe_says(tmp_path: Path) -> None:
    def rows(*changes: str) -> dict[str, float]:
        small = ("train.epochs=1", "encoder.hidden_channels=8", "evaluation.epochs=20", "evaluation.baselines=[]")
        made = gm.recipe("default", "data.num_nodes=200", *small, *changes)
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        return dict(gm.run(made, out=out, device="cpu", progress=False).runs[0]["rows"]["pretrained"])

    plain = rows()
    for change in ("evaluation.layers=all", "evaluation.smooth=5", "evaluation.l2=true"):
        assert rows(change) != plain, change
