"""What only a CUDA device can show. Run on one: python -m pytest tests/gpu"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import graphmae as gm
from graphmae import kernels, model
from graphmae.kernels import reference
from graphmae.training import TrainingState, pretrain_model

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("channels", [3, 130, 700])
def test_triton_aggregate_agrees_with_the_reference_in_float64(heads: int, channels: int) -> None:
    torch.manual_seed(heads * channels)
    edge_index = torch.randint(300, (2, 2000), device="cuda")
    adj = kernels.adjacency(edge_index, 310)
    x = torch.randn(310, heads, channels, device="cuda", requires_grad=True)
    weight = torch.rand(2000, heads, device="cuda", requires_grad=True)
    grad = torch.randn(310, heads, channels, device="cuda")
    fast = kernels.aggregate(adj, x, weight)
    slow = reference.aggregate(adj, x.double(), weight.double())
    for a, b in zip(
        (fast, *torch.autograd.grad(fast, (x, weight), grad)),
        (slow, *torch.autograd.grad(slow, (x, weight), grad.double())),
        strict=True,
    ):
        assert (a - b).norm() / b.norm() < 1e-5


def test_a_captured_run_learns_like_an_eager_one(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = gm.recipe("default", "train.epochs=60")
    dataset = gm.data.load("synthetic")
    losses = []
    for captured in (True, False):
        if not captured:
            monkeypatch.setattr(model.GraphMAE, "has_fixed_shapes", property(lambda self: False))
        torch.manual_seed(0)
        network = model.build(recipe, dataset.in_channels)
        outcome = pretrain_model(network, dataset.pretrain_graphs(), recipe.train, torch.device("cuda"))
        losses.append(outcome.loss)
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
    assert losses[0] < 0.9


def test_resume_on_cuda_restores_weights_and_generators(tmp_path) -> None:  # type: ignore[no-untyped-def]
    recipe = gm.recipe("default", "train.epochs=12")
    dataset = gm.data.load("synthetic")
    torch.manual_seed(0)
    network = model.build(recipe, dataset.in_channels)
    state = TrainingState(tmp_path / "state.safetensors")
    pretrain_model(
        network, dataset.pretrain_graphs(), recipe.train, torch.device("cuda"), state=state, seconds_between_saves=0
    )
    again = model.build(recipe, dataset.in_channels)
    pretrain_model(
        again,
        dataset.pretrain_graphs(),
        replace(recipe.train, epochs=12),
        torch.device("cuda"),
        state=state,
        resume=True,
    )
    for a, b in zip(network.parameters(), again.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-3)
