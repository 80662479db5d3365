from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import torch
from torch import nn

from graphmae.runtime.errors import GraphMAEError, InputError, Interrupted
from graphmae.runtime.seed import seed_everything
from graphmae.training import TrainingState, fit, schedule_factor


class Noisy(nn.Module):
    """A model whose loss depends on the random state, as masking and dropout do."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.norm(self.linear(x + torch.rand_like(x))) - x).square().mean()


def train(
    folder: Path, epochs: int = 8, resume: bool = False, stop_after: int | None = None, **options: object
) -> Noisy:
    seed_everything(0)
    module = Noisy()
    x = torch.rand(16, 4)

    def after_epoch(epoch: int) -> None:
        if epoch == stop_after:
            os.kill(os.getpid(), signal.SIGINT)

    fit(
        module,
        module,
        lambda: [x],
        epochs=epochs,
        lr=0.01,
        weight_decay=1e-4,
        schedule="cosine",
        metrics=folder / "metrics.jsonl",
        state=TrainingState(folder / "state.safetensors"),
        resume=resume,
        after_epoch=after_epoch,
        **options,  # type: ignore[arg-type]
    )
    return module


def test_interrupted_and_resumed_gives_the_same_weights(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole")
    with pytest.raises(Interrupted, match="epoch 3 of 8"):
        train(tmp_path / "cut", stop_after=3)
    again = train(tmp_path / "cut", resume=True)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    lines = [
        [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in path.read_text().splitlines()]
        for path in (tmp_path / "whole/metrics.jsonl", tmp_path / "cut/metrics.jsonl")
    ]
    assert lines[0] == lines[1]
    assert [line["epoch"] for line in lines[0]] == list(range(1, 9))


def test_state_is_saved_every_so_often(tmp_path: Path) -> None:
    train(tmp_path, seconds_between_saves=0)
    state = TrainingState(tmp_path / "state.safetensors")
    module = Noisy()
    epoch, outcome = state.load(module, torch.optim.Adam(module.parameters()))
    assert epoch == 8
    assert outcome.loss > 0
    assert outcome.seconds > 0
    resumed = train(tmp_path, resume=True)  # nothing is left to do; weights and last loss come from the state
    assert torch.equal(resumed.linear.weight, module.linear.weight)
    assert not list(tmp_path.glob("*.partial"))


def test_a_damaged_or_foreign_state_is_refused(tmp_path: Path) -> None:
    train(tmp_path, seconds_between_saves=0)
    path = tmp_path / "state.safetensors"
    other = nn.Linear(2, 2)
    with pytest.raises(InputError, match="another model"):
        TrainingState(path).load(other, torch.optim.Adam(other.parameters()))
    path.write_bytes(path.read_bytes()[:100])
    module = Noisy()
    with pytest.raises(InputError, match="not a training state"):
        TrainingState(path).load(module, torch.optim.Adam(module.parameters()))


def test_a_loss_that_is_not_finite_stops_with_advice() -> None:
    module = nn.Linear(1, 1)
    with pytest.raises(GraphMAEError, match="smaller learning rate"):
        fit(module, lambda x: module(x).sum() * float("nan"), lambda: [torch.ones(1, 1)], epochs=2, lr=0.1)


def test_gradient_clipping_limits_the_step() -> None:
    moved = []
    for clip in (None, 1e-12):
        torch.manual_seed(0)
        module = nn.Linear(3, 1)
        before = module.weight.detach().clone()
        fit(
            module,
            lambda x, m=module: m(x).square().sum(),
            lambda: [torch.ones(4, 3)],
            epochs=1,
            lr=0.1,
            clip_norm=clip,
        )
        moved.append(float((module.weight - before).norm().detach()))
    assert moved[1] < 1e-3 < moved[0]


def test_cosine_schedule() -> None:
    assert schedule_factor("cosine", 0, 10) == 1
    assert schedule_factor("cosine", 5, 10) == pytest.approx(0.5)
    assert schedule_factor("constant", 5, 10) == 1
