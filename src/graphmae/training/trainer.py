"""The one loop: everything that is ever trained here goes through `Trainer.fit`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from ..runtime import turns
from ..runtime.errors import Interrupted
from ..runtime.seed import random_state, restore_random_state
from .journal import Journal, check_weights
from .optim import set_rates
from .state import Outcome, Progressed, Remembers

B = TypeVar("B")
BatchType = TypeVar("BatchType", covariant=True)
GO_ON = "the same command with --resume goes on from there"
SECONDS_PER_TURN = 0.004  # of launching work on the device, before another training that shares it may


class Batches(Protocol[BatchType]):
    """The batches of one epoch; iterating again gives the next epoch's."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[BatchType]: ...


@runtime_checkable
class Skips(Protocol[BatchType]):
    """Batches of which the first ones of an epoch can be left out without being made."""

    def starting_at(self, first: int) -> Iterator[BatchType]: ...


def _as_it_is(step: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    return step


@dataclass
class Trainer(Generic[B]):
    """Minimises `loss(module, batch)` over the parameters of `module`, step by step.

    Attributes:
        optimizer: see `make_optimizer`.
        schedule: number of finished steps → what the learning rate is multiplied with; see `make_schedule`.
        clip_norm: of all gradients together.
        accumulate: batches whose gradients are added up before the optimiser moves.
        record: what becomes of the function that does one step: `CapturedStep` and `CapturedBatches` replay it on CUDA.
        wrap: applied to the module first, as torch's DistributedDataParallel is; the loss is given the result.
        rank: of this process among several; only rank 0 reports and writes.
        in_step: called in every step after the optimiser has moved, and recorded with it: a method's `after_step`.
        after_step: called with the number of finished steps and the loss, a tensor on the device.
        after_epoch: called with the number of finished epochs. What they return joins the metrics line, and a true
            "stop" in it ends the training. One that has `state_dict` and `load_state_dict` is saved with the state.
        journal: how it is reported, and where its state is kept.

    >>> line = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(line.parameters(), lr=0.1)
    >>> trainer = Trainer(line, lambda line, x: (line(x) - 3 * x).square().mean(), optimizer)
    >>> trainer.fit([torch.ones(4, 1)], steps=50).loss < 1e-3
    True
    """

    module: nn.Module
    loss: Callable[[Any, B], Tensor]
    optimizer: torch.optim.Optimizer
    schedule: Callable[[int], float] = lambda step: 1.0
    clip_norm: float | None = None
    accumulate: int = 1
    record: Callable[[Callable[[Any], Tensor]], Callable[[Any], Tensor]] = _as_it_is
    wrap: Callable[[nn.Module], nn.Module] = lambda module: module
    rank: int = 0
    in_step: Callable[[], None] = lambda: None
    after_step: Sequence[Callable[[int, Tensor], None]] = ()
    after_epoch: Sequence[Callable[[int], dict[str, Any] | None]] = ()
    journal: Journal = field(default_factory=Journal)

    def fit(self, batches: Batches[B], steps: int) -> Outcome:
        """Train for `steps` steps in all, those of earlier sessions included; returns the last loss and the time."""
        journal, per_epoch = self.journal if self.rank == 0 else Journal(), len(batches)
        if self.accumulate > 1 and self.record is not _as_it_is:
            raise ValueError("a recorded step always does the same: accumulate must be 1")
        base = [float(group.get("initial_lr", group["lr"])) for group in self.optimizer.param_groups]
        remembering: list[Any] = [hook for hook in self.after_epoch if isinstance(hook, Remembers)]
        before = self.journal.restore(self.module, self.optimizer, per_epoch, remembering)  # every rank from the same
        step, losses, turned = before.step, list(before.losses), time.monotonic()
        factor: float | None = None
        advance = self.record(self._update(self.wrap(self.module)))
        with journal.open(steps, per_epoch, before) as log:
            while step < steps and not log.ended:
                # The order of an epoch's batches follows from the host's generators as they are now.
                began = before.epoch_random if losses else random_state(cuda=False) if per_epoch > 1 else None
                source = self._continued(batches, before) if losses else iter(batches)
                self.module.train()
                for batch in source:
                    if (now := self.schedule(step)) != factor:
                        factor = now
                        set_rates(self.optimizer, [rate * factor for rate in base])
                    losses.append(advance(batch))
                    step += 1
                    for hook in self.after_step:
                        hook(step, losses[-1])
                    if time.monotonic() - turned > SECONDS_PER_TURN:
                        turns.pass_turn()
                        turned = time.monotonic()
                    if step == steps or step % per_epoch == 0:
                        break
                    stopping = log.is_stopping()
                    if step % self.accumulate:
                        continue  # gradients are not part of the state
                    if log.wants_save(stopping):  # within an epoch
                        log.check(losses, step)
                        stood = Progressed(step, log.outcome(step), per_epoch, losses, began)
                        log.save(stood, self.module, self.optimizer, remembering)
                    if stopping:
                        raise Interrupted(f"stopped after step {step} of {steps}; {GO_ON}", stopping)
                extra = {k: v for hook in self.after_epoch for k, v in (hook(-(-step // per_epoch)) or {}).items()}
                log.epoch(step, torch.stack(losses).mean(), base[0] * (factor or 1.0), extra)
                losses, stopping = [], log.is_stopping()
                if log.wants_save(stopping):
                    stood = Progressed(step, log.outcome(step), per_epoch, ended=log.ended)
                    log.save(stood, self.module, self.optimizer, remembering)
                if stopping:
                    done, of = step // per_epoch, -(-steps // per_epoch)
                    raise Interrupted(f"stopped after epoch {done} of {of}; {GO_ON}", stopping)
            outcome = log.outcome(step)
        check_weights(self.module, self.journal.label, step)
        return outcome

    def _update(self, module: nn.Module) -> Callable[[B], Tensor]:
        """One step: a batch in, its loss out."""
        calls = 0

        def update(batch: B) -> Tensor:
            nonlocal calls
            if calls % self.accumulate == 0:
                self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss(module, batch)
            (loss if self.accumulate == 1 else loss / self.accumulate).backward()
            calls += 1
            if calls % self.accumulate == 0:
                if self.clip_norm is not None:
                    nn.utils.clip_grad_norm_(self.module.parameters(), self.clip_norm)
                self.optimizer.step()
                self.in_step()
            return loss.detach()

        return update

    def _continued(self, batches: Batches[B], before: Progressed) -> Iterator[B]:
        """The rest of an epoch that was left in the middle: the same order, from the same random numbers."""
        assert before.epoch_random is not None
        now = random_state()
        restore_random_state(*before.epoch_random)
        if isinstance(batches, Skips):
            source = batches.starting_at(len(before.losses))
        else:
            source = iter(batches)
            for _ in before.losses:
                next(source)
        restore_random_state(*now)
        return source
