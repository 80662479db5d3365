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
from .distributed import ALONE, Ranks
from .journal import Journal, Log, check_weights
from .optim import set_rates
from .state import Outcome, Progressed, Remembers
from .step import Step

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
        terms: how many terms the loss of the batch just seen is the mean of. The gradients of several batches, or of
            several processes, are then those of one batch that holds them all; by default every batch counts the same.
        accumulate: batches whose gradients are added up before the optimiser moves; at the end of an epoch it does.
        record: what becomes of the function that does one step: `CapturedStep` and `CapturedBatches` replay it on CUDA.
        wrap: applied to the module first; the loss is given the result.
        ranks: the processes that train together; only rank 0 reports, writes and asks the hooks `after_epoch`.
        sync_norm: whether batch norms look at the rows of all processes.
        in_step: called in every step after the optimiser has moved, and recorded with it: a method's `after_step`.
        in_epoch: called after every epoch, on every rank: a method's `after_epoch`.
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
    terms: Callable[[B], Tensor | float] = lambda batch: 1.0
    accumulate: int = 1
    record: Callable[[Callable[[Any], Tensor]], Callable[[Any], Tensor]] = _as_it_is
    wrap: Callable[[nn.Module], nn.Module] = lambda module: module
    ranks: Ranks = ALONE
    sync_norm: bool = True
    in_step: Callable[[], None] = lambda: None
    in_epoch: Callable[[], None] = lambda: None
    after_step: Sequence[Callable[[int, Tensor], None]] = ()
    after_epoch: Sequence[Callable[[int], dict[str, Any] | None]] = ()
    journal: Journal = field(default_factory=Journal)

    def fit(self, batches: Batches[B], steps: int) -> Outcome:
        """Train for `steps` steps in all, those of earlier sessions included; returns the last loss and the time."""
        ranks, per_epoch = self.ranks, len(batches)
        journal = self.journal if ranks.is_first else self.journal.silent()
        if (self.accumulate > 1 or ranks.size > 1) and self.record is not _as_it_is:
            raise ValueError("a recorded step always does the same: accumulate must be 1, and there is one process")
        base = [float(group.get("initial_lr", group["lr"])) for group in self.optimizer.param_groups]
        remembering: list[Any] = [hook for hook in self.after_epoch if isinstance(hook, Remembers)]
        ranks.draw_own()
        before = journal.restore(self.module, self.optimizer, per_epoch, remembering, ranks)
        step, losses, turned = before.step, list(before.losses), time.monotonic()
        factor: float | None = None
        update = Step(self, ranks.wrap(self.wrap(self.module), self.sync_norm))
        advance = self.record(update)
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
                    update.moves = (
                        (step % per_epoch + 1) % self.accumulate == 0
                        or (step + 1) % per_epoch == 0
                        or step + 1 == steps
                    )
                    losses.append(advance(batch))
                    step += 1
                    for hook in self.after_step:
                        hook(step, losses[-1])
                    if time.monotonic() - turned > SECONDS_PER_TURN:
                        turns.pass_turn()
                        turned = time.monotonic()
                    if step == steps or step % per_epoch == 0:
                        break
                    if not update.moves:
                        continue  # gradients are not part of the state
                    stopping, due = self._asked(log)
                    if due:  # within an epoch
                        log.check(losses, step)
                        stood = Progressed(step, log.outcome(step), per_epoch, losses, began)
                        log.save(stood, self.module, self.optimizer, remembering, ranks.others_random())
                    if stopping:
                        raise Interrupted(f"stopped after step {step} of {steps}; {GO_ON}", stopping)
                self.in_epoch()
                ranks.same_buffers(self.module)
                hooks = self.after_epoch if ranks.is_first else ()
                extra = {k: v for hook in hooks for k, v in (hook(-(-step // per_epoch)) or {}).items()}
                if ranks.highest(bool(extra.get("stop")))[0]:
                    extra["stop"] = True
                log.epoch(step, torch.stack(losses).mean(), base[0] * (factor or 1.0), extra)
                losses = []
                stopping, due = self._asked(log)
                if due:
                    stood = Progressed(step, log.outcome(step), per_epoch, ended=log.ended)
                    log.save(stood, self.module, self.optimizer, remembering, ranks.others_random())
                if stopping:
                    done, of = step // per_epoch, -(-steps // per_epoch)
                    raise Interrupted(f"stopped after epoch {done} of {of}; {GO_ON}", stopping)
            outcome = log.outcome(step)
        ranks.unwrap(self.module)
        check_weights(self.module, self.journal.label, step)
        return outcome

    def _asked(self, log: Log) -> tuple[int, bool]:
        """The signal that asks any rank to stop (0: none), and whether the state is to be saved now, on all alike."""
        asked = log.is_stopping()
        stopping, due = self.ranks.highest(asked, log.wants_save(asked))
        return stopping, bool(due or (stopping and self.journal.state is not None))

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
