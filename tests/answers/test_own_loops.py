"""A training loop of one's own, with any optimiser, over the parts as they are built by default."""

from __future__ import annotations

import pytest
import torch

import graphmae as gm


@pytest.mark.parametrize("decoder", [gm.decoders.GAT, gm.decoders.GCN, gm.decoders.GIN, gm.decoders.MLP])
def test_plain_sgd_over_a_default_model_stays_finite(decoder: type) -> None:
    """The largest gradient was 1.3e11 and the largest weight 1.3e9 after 30 steps, while the loss looked fine."""
    torch.manual_seed(0)
    data = gm.data.load("synthetic", num_nodes=200).graphs[0]
    width = data.num_features
    mask = gm.masking.RandomNodeMask(0.9)  # so that masked nodes have masked neighbours only
    model = gm.GraphMAE(gm.encoders.GAT(width, hidden_channels=16), decoder(16, width), mask)
    optimizer, largest = torch.optim.SGD(model.parameters(), lr=0.01), 0.0
    for _ in range(30):
        optimizer.zero_grad()
        model(data.x, data.edge_index).backward()
        largest = max(largest, *(float(p.grad.abs().max()) for p in model.parameters() if p.grad is not None))
        optimizer.step()
    assert largest < 100
    assert max(float(p.detach().abs().max()) for p in model.parameters()) < 100


def test_the_published_recipes_keep_the_published_bias() -> None:
    """The numbers of the paper depend on it."""
    for name in ("node/cora", "node/citeseer", "node/pubmed", "node/ppi", "node/reddit", "node/ogbn-arxiv", "default"):
        recipe = gm.recipe(name)
        assert recipe.decoder.options["bias"] == "trained", name
