from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from graphmae.batching import Shuffled
from graphmae.runtime.errors import GraphMAEError, InputError, Interrupted
from graphmae.runtime.seed import seed_everything
from graphmae.training import Journal, Ranks, Trainer, TrainingState, make_optimizer, make_schedule

X = torch.rand(16, 4, generator=torch.Generator().manual_seed(0))


class Noisy(nn.Module):
    """A model whose loss depends on the random state, as masking and dropout do."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: Tensor) -> Tensor:
        return (self.norm(self.linear(x + torch.rand_like(x))) - x).square().mean()


def train(
    folder: Path, resume: bool = False, stop_after: int | None = None, size: int = 16, **options: Any
) -> tuple[Noisy, Trainer[Any]]:
    """Eight epochs; `stop_after` some steps Ctrl-C is pressed."""
    seed_everything(0)
    module = Noisy()
    batches = Shuffled(torch.arange(16), size, take=lambda ids: X[ids])

    def press(step: int, loss: Tensor) -> None:
        if step == stop_after:
            os.kill(os.getpid(), signal.SIGINT)

    state = TrainingState(folder / "state.safetensors")
    journal = Journal(metrics=folder / "metrics.jsonl", state=state, resume=resume, **options)
    trainer = Trainer(module, lambda module, x: module(x), make_optimizer(module, 0.01, 1e-4), journal=journal)
    trainer.schedule, trainer.after_step = make_schedule("cosine", 8, len(batches)), [press]
    trainer.fit(batches, 8 * len(batches))
    return module, trainer


def lines_of(folder: Path) -> list[dict[str, float]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


@pytest.mark.parametrize(
    ("size", "stop", "message"),
    [(16, 3, "after epoch 3 of 8"), (4, 12, "after epoch 3 of 8"), (4, 14, "after step 14 of 32")],
    ids=["one batch", "between epochs", "within an epoch"],
)
def test_interrupted_and_resumed_gives_the_same_weights(tmp_path: Path, size: int, stop: int, message: str) -> None:
    whole, _ = train(tmp_path / "whole", size=size)
    with pytest.raises(Interrupted, match=message):
        train(tmp_path / "cut", size=size, stop_after=stop)
    again, _ = train(tmp_path / "cut", size=size, resume=True)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    assert lines_of(tmp_path / "whole") == lines_of(tmp_path / "cut")
    assert [line["epoch"] for line in lines_of(tmp_path / "cut")] == list(range(1, 9))


def test_state_is_saved_every_so_often(tmp_path: Path) -> None:
    train(tmp_path, seconds_between_saves=0)
    state = TrainingState(tmp_path / "state.safetensors")
    module = Noisy()
    stood = state.load(module, torch.optim.Adam(module.parameters()))
    assert (stood.step, stood.outcome.epochs) == (8, 8)
    assert stood.outcome.loss > 0
    assert stood.outcome.seconds > 0
    resumed, _ = train(tmp_path, resume=True)  # nothing is left to do; weights and last loss come from the state
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


def line(**options: Any) -> Trainer[Tensor]:
    torch.manual_seed(0)
    module = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    return Trainer(module, lambda module, x: module(x).square().mean(), optimizer, **options)


def test_a_loss_that_is_not_finite_stops_with_advice() -> None:
    trainer = line()
    trainer.loss = lambda module, x: module(x).sum() * float("nan")
    with pytest.raises(GraphMAEError, match="smaller learning rate"):
        trainer.fit([torch.ones(1, 3)], 2)


def test_gradient_clipping_limits_the_step() -> None:
    moved = []
    for clip in (None, 1e-12):
        trainer = line(clip_norm=clip)
        before = trainer.module.weight.detach().clone()
        trainer.fit([torch.ones(4, 3)], 1)
        moved.append(float((trainer.module.weight - before).norm().detach()))
    assert moved[1] < 1e-3 < moved[0]


def test_accumulated_batches_are_one_larger_batch() -> None:
    parts, whole = line(accumulate=2), line()
    parts.fit([X[:8, :3], X[8:, :3]], 2)
    whole.fit([X[:, :3]], 1)
    assert torch.allclose(parts.module.weight, whole.module.weight, atol=1e-6)


@pytest.mark.parametrize("cuts", [[5, 11], [3, 3, 10], [16]], ids=str)
def test_accumulated_batches_count_by_their_terms(cuts: list[int]) -> None:
    whole, parts = line(), line(accumulate=3, terms=len)
    whole.fit([X[:, :3]], 1)
    parts.fit(list(X[:, :3].split(cuts)), len(cuts))  # fewer than three: the end of an epoch makes the step
    assert torch.allclose(parts.module.weight, whole.module.weight, atol=1e-6)
    equal = line(accumulate=3)
    equal.fit(list(X[:, :3].split(cuts)), len(cuts))
    assert torch.allclose(equal.module.weight, whole.module.weight, atol=1e-6) == (cuts == [16])


def test_the_loss_is_given_the_wrapped_module_and_hooks_run_in_order() -> None:
    class Doubled(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            return 2 * self.inner(x)

    seen: list[Any] = []
    trainer = line(
        wrap=Doubled,
        in_step=lambda: seen.append("in"),
        after_step=[lambda step, loss: seen.append(step)],
        after_epoch=[lambda epoch: seen.append(f"epoch {epoch}")],
    )
    plain = line()
    plain.fit([X[:, :3]], 1)
    trainer.fit([X[:, :3]], 1)
    assert seen == ["in", 1, "epoch 1"]
    assert not torch.equal(trainer.module.weight, plain.module.weight)
    assert set(trainer.module.state_dict()) == {"weight", "bias"}


def test_a_hook_can_stop_the_training() -> None:
    outcome = line(after_epoch=[lambda epoch: {"stop": True} if epoch == 3 else None]).fit([X[:, :3]], 10)
    assert outcome.epochs == 3


def test_only_rank_0_writes(tmp_path: Path) -> None:
    for rank in (1, 0):
        line(ranks=Ranks(rank), journal=Journal(metrics=tmp_path / "metrics.jsonl")).fit([X[:, :3]], 2)
        assert (tmp_path / "metrics.jsonl").exists() == (rank == 0)


def test_schedules_change_between_epochs() -> None:
    cosine = make_schedule("cosine", 10, steps_per_epoch=3)
    assert [cosine(step) for step in (0, 1, 2)] == [1, 1, 1]
    assert cosine(15) == pytest.approx(0.5)
    assert make_schedule("constant", 10)(5) == 1


def test_the_rate_follows_the_schedule() -> None:
    journal: list[dict[str, Any]] = []
    line(schedule=lambda step: 1 / (1 + step), journal=Journal(log=journal.append)).fit([X[:, :3]], 3)
    assert [entry["lr"] for entry in journal] == pytest.approx([0.1, 0.05, 0.1 / 3])


def test_a_state_of_other_batches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path, size=4, stop_after=6)
    with pytest.raises(InputError, match="4 steps per epoch, this one has 2"):
        train(tmp_path, size=8, resume=True)


def test_a_state_is_not_overwritten_by_one_that_diverged(tmp_path: Path) -> None:
    trainer = line(journal=Journal(state=TrainingState(tmp_path / "state.safetensors"), seconds_between_saves=0))
    trainer.loss = lambda module, x: module(x).sum() * (float("nan") if x.size(0) == 2 else 1.0)
    with pytest.raises(GraphMAEError, match="before step 2"):
        trainer.fit([torch.ones(1, 3), torch.ones(2, 3), torch.ones(3, 3)], 6)
    stood = TrainingState(tmp_path / "state.safetensors").load(trainer.module, trainer.optimizer)
    assert stood.step == 1


def test_recorded_steps_are_not_accumulated() -> None:
    with pytest.raises(ValueError, match="accumulate must be 1"):
        line(accumulate=2, record=lambda step: lambda batch: step(batch)).fit([X[:, :3]], 1)
