"""What is computed only where the loss looks is what the page of the paper computes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import graphmae as gm
from graphmae import kernels
from graphmae.batching import Batch


def words(n: int = 30, d: int = 60, density: float = 0.04) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.rand(n, d) * (torch.rand(n, d) < density)


@pytest.mark.parametrize("density", [0.04, 0.5])
@pytest.mark.parametrize(
    "settings",
    [
        ["encoder.name=gat"],
        ["encoder.name=gat", "encoder.norm=layer", "encoder.num_layers=3", "encoder.residual=true"],
        ["encoder.name=gat", "mask.remask=learnable"],
        ["encoder.name=gat", "mask.remask=none", "loss.name=mse"],
        ["encoder.name=gat", "encoder.output=all"],
        ["encoder.name=gat", "decoder.heads=2"],
        ["encoder.name=gat", "encoder.num_layers=1", "decoder.bias=none"],
        ["encoder.name=gcn", "decoder.name=gcn"],
        ["encoder.name=gin", "decoder.name=gin", "encoder.norm=batch", "decoder.norm=batch"],
        ["encoder.name=gin", "decoder.name=mlp"],
    ],
    ids=lambda settings: ",".join(s.split(".")[1] for s in settings),
)
def test_a_training_step_agrees_with_the_naive_one(settings: list[str], density: float) -> None:
    """Without dropout, and with the same mask, loss and all gradients agree to rounding."""
    recipe = gm.recipe("default", "encoder.hidden_channels=16", "encoder.dropout=0", "decoder.dropout=0")
    others = {s.split(".")[0] for s in settings if ".name=" in s and not s.endswith("=gat")}
    quiet = [f"{part}.attention_dropout=0" for part in ("encoder", "decoder") if part not in others]
    recipe = recipe.override(*settings).override(*quiet)
    x, edge_index = words(density=density), torch.randint(30, (2, 90))
    results = []
    for plain in (False, True):
        torch.manual_seed(1)
        model = gm.methods.build(recipe, 60)
        torch.manual_seed(2)
        with kernels.use("reference" if plain else "auto"):
            loss = model.plain_loss(Batch(x, edge_index)) if plain else model(x, edge_index)
        loss.backward()
        grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        results.append((loss.detach(), grads))
    assert torch.allclose(results[0][0], results[1][0], rtol=1e-5)
    assert results[0][1].keys() == results[1][1].keys()
    for name, grad in results[1][1].items():
        assert torch.allclose(results[0][1][name], grad, atol=2e-5 * float(grad.abs().max()) + 1e-6, rtol=1e-3), name


def test_reconstruction_is_that_of_the_plain_model() -> None:
    recipe = gm.recipe("default", "encoder.hidden_channels=16")
    torch.manual_seed(1)
    model, masked = gm.methods.build(recipe, 60).eval(), torch.tensor([3, 7, 11])
    x, edge_index = words(), torch.randint(30, (2, 90))
    hidden = gm.masking.MaskedNodes.of(masked, 30)
    with torch.no_grad():
        assert torch.allclose(
            model.reconstruct(x, edge_index, masked), model._rebuild(x, edge_index, hidden), atol=1e-5
        )


def test_the_paper_is_on_one_page() -> None:
    page = Path(gm.methods.__file__).with_name("graphmae.py").read_text().splitlines()
    assert len(page) <= 103
