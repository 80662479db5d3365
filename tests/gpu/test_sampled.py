"""Sampled batches on CUDA: the same losses and gradients as on the CPU, features copied or kept there."""

from __future__ import annotations

import copy

import pytest
import torch

import graphmae as gm
from graphmae import decoders, encoders
from graphmae.batching import Batch, prefetch
from graphmae.batching.prefetch import Neighbourhoods, Parts, SampledBatches
from graphmae.experiments import pretrain as pretraining
from graphmae.masking.nodes import MaskedNodes, NodeMask
from graphmae.methods import GraphMAE

pytestmark = pytest.mark.gpu


class Every(NodeMask):
    """Masks every other seed, without a draw."""

    def draw_in(self, batch: Batch) -> MaskedNodes:
        assert batch.seeds is not None
        return MaskedNodes.of(batch.seeds[::2], len(batch.x))


@pytest.mark.parametrize("kind", ["gat", "gcn", "gin"])
@pytest.mark.parametrize("kept_there", [False, True])
def test_losses_and_gradients_are_those_of_the_cpu(
    kind: str, kept_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefetch, "SHARE", 0.1 if kept_there else 0.0)
    data = gm.data.load("synthetic", num_nodes=600)
    plan = Neighbourhoods(data.compressed(), (5, 4, 3), 64)
    torch.manual_seed(0)
    encoder = encoders.build(
        kind, in_channels=data.in_channels, hidden_channels=32, num_layers=2, dropout=0.0, norm="none"
    )
    for block in encoder.blocks:
        if hasattr(block.conv, "attention_dropout"):
            block.conv.attention_dropout = 0.0
    decoder = decoders.GAT(32, data.in_channels, dropout=0.0, attention_dropout=0.0)
    begun = GraphMAE(encoder, decoder, Every())
    found = []
    for device in ("cpu", "cuda"):
        model = copy.deepcopy(begun).to(device)
        torch.manual_seed(1)
        batches = SampledBatches(plan, torch.device(device), workers=2)
        assert (batches.resident is not None) == (device == "cuda" and kept_there)
        for number, batch in enumerate(batches):
            if number == 3:
                break
            model(batch).backward()
        found.append([p.grad.cpu() for p in model.parameters() if p.grad is not None])
    for a, b in zip(*found, strict=True):
        assert torch.allclose(a, b, atol=1e-4, rtol=1e-3), (a - b).abs().max()


@pytest.mark.parametrize("sampler", ["neighbour", "cluster", "random"])
def test_it_is_trained(sampler: str) -> None:
    data = gm.data.load("synthetic", num_nodes=600)
    recipe = gm.recipe("default", f"train.sampler={sampler}", "train.batch_size=128", "train.epochs=10")
    model = pretraining.pretrain_once(recipe, data, 0, torch.device("cuda"))
    assert gm.embed(model, data, device="cuda").shape == (600, 256)


def test_parts_on_the_device() -> None:
    data = gm.data.load("synthetic", num_nodes=600)
    batches = SampledBatches(Parts(data.compressed(), 128, True), torch.device("cuda"), workers=2)
    assert sum(len(batch.x) for batch in batches) >= 600


@pytest.mark.parametrize("kind", ["gat", "gcn", "gin"])
def test_layer_by_layer_on_cuda(kind: str, tmp_path: pytest.TempPathFactory) -> None:
    data = gm.data.load("synthetic", num_nodes=600)
    stored = gm.store(data, str(tmp_path / "store"))  # type: ignore[operator]
    encoder = encoders.build(kind, in_channels=data.in_channels, hidden_channels=32, num_layers=2)
    expected = gm.embed(encoder, data, device="cuda")
    assert torch.allclose(gm.embed(encoder, stored, device="cuda"), expected, atol=1e-4)
