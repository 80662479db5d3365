"""Every registered method trains on CUDA, recorded where it says it can be, and its encoder gives there what it gives
on the CPU."""

from __future__ import annotations

import math

import pytest
import torch

import graphmae as gm
from graphmae import methods
from graphmae.inference.embedding import embed_graph
from graphmae.training import pretrain_model
from graphmae.training.capture import CapturedStep
from method_recipes import recipe

pytestmark = pytest.mark.gpu


WAYS = {
    "maskgae": ["method.kind=path"],
    "joint": ["method.kind=path"],
    "gae": ["method.variational=true encoder.num_layers=2"],
    "dgi": ["method.score=sum"],
}
CASES = [(name, change) for name in methods.names() for change in ["", *WAYS.get(name, [])]]


@pytest.mark.parametrize(("name", "change"), CASES)
def test_it_learns_on_cuda(name: str, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[CapturedStep[object]] = []
    begin = CapturedStep.__init__

    def init(self: CapturedStep[object], step: object) -> None:
        begin(self, step)  # type: ignore[arg-type]
        recorded.append(self)

    monkeypatch.setattr(CapturedStep, "__init__", init)
    data = gm.data.load("synthetic", num_nodes=80)
    torch.manual_seed(0)
    model = methods.build(recipe(name, *change.split()), data.in_channels)
    before = [weight.detach().clone() for weight in model.encoder.parameters()]
    outcome = pretrain_model(model, data, recipe(name, "train.epochs=12").train, torch.device("cuda"))
    assert math.isfinite(outcome.loss)
    assert [one.graph is not None for one in recorded] == ([True] if model.records_steps else [])
    moved = [not torch.equal(a, b.cpu()) for a, b in zip(before, model.encoder.parameters(), strict=True)]
    assert any(moved)
    there = embed_graph(model.encoder, data.graphs[0], "cuda")
    here = embed_graph(model.cpu().encoder, data.graphs[0], "cpu")
    assert torch.allclose(there, here, atol=2e-3)
