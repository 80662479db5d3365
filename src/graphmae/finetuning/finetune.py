"""Fine-tuning on measured targets: train a `Predictor` on the training molecules, score it on the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .. import kernels
from ..batching import Batch, GraphStore, Shuffled
from ..config import Finetune
from ..data import GraphSet
from ..data.molecules import Assay
from ..encoders import StackedEncoder
from ..evaluation.metrics import by_rule, regression_errors, roc_auc
from ..runtime.errors import GraphMAEError
from ..runtime.resting import resting_copy
from ..training import CapturedBatches, Journal, Trainer, UnrecordedStep, make_optimizer, make_schedule
from .predictor import Predictor

AT_ONCE = 1024  # molecules, where nothing is trained
Scores = dict[str, float]


def finetune_predictor(
    predictor: Predictor,
    assay: Assay,
    settings: Finetune,
    device: torch.device,
    *,
    label: str = "finetune",
    journal: Callable[[int, int], Journal] = lambda stage, stages: Journal(),
) -> Scores:
    """Train `predictor` in place; afterwards it is the one `settings.rule` names. Returns scores by both rules.

    `journal` gives that of a stage: its number, from 1 up, and how many there are.
    """
    predictor.to(device)
    store = GraphStore(assay.graphs(), device)
    targets = torch.from_numpy(assay.targets).to(device)
    split = {part: torch.from_numpy(positions) for part, positions in assay.split.items()}
    predictor.fit_scale(targets[split["train"].to(device)], settings.balance)
    truth = torch.from_numpy(assay.scored).to(device)
    scorer = _Scorer(predictor, store, truth, split, keep=settings.rule == "best-validation")
    stages = list(stages_of(predictor, settings))
    done = 0
    for number, (epochs, opened) in enumerate(stages):
        last = number + 1 == len(stages)
        trainer, batches = trainer_of(predictor, opened, store, targets, split["train"], settings)
        trainer.schedule = make_schedule(settings.schedule if last else "constant", epochs, len(batches))
        trainer.after_epoch = [scorer]
        trainer.journal = journal(number + 1, len(stages))
        trainer.fit(batches, epochs * len(batches))
        done += epochs
    predictor.requires_grad_(True)
    assert done == settings.epochs
    if not bool(scorer.is_finite):
        raise GraphMAEError(f"{label}: the model predicts NaN or infinite values; try a smaller finetune.lr")
    scores = scorer.scores()
    scorer.restore()
    predictor.undo_balance()
    predictor.eval()
    return scores


def stages_of(predictor: Predictor, settings: Finetune) -> Iterator[tuple[int, nn.ModuleList]]:
    """(epochs, the modules that are trained): all at once, the head alone, or one layer more at a time from the top."""
    whole = nn.ModuleList([predictor.encoder, predictor.head])
    if settings.mode != "staged":
        yield settings.epochs, whole if settings.mode == "full" else nn.ModuleList([predictor.head])
        return
    encoder = predictor.encoder
    blocks = list(encoder.blocks) if isinstance(encoder, StackedEncoder) else []
    steps = min(max(len(blocks), 1), settings.epochs - 1)
    each = max(1, settings.epochs // (2 * (steps + 1)))  # the first half opens the layers, the second has all
    for opened in range(steps):
        yield each, nn.ModuleList([*blocks[len(blocks) - opened :], predictor.head])
    yield settings.epochs - steps * each, whole


def trainer_of(
    predictor: Predictor,
    opened: nn.ModuleList,
    store: GraphStore,
    targets: Tensor,
    train: Tensor,
    settings: Finetune,
) -> tuple[Trainer[Any], Shuffled]:
    """What trains the `opened` modules; the others rest, without dropout and with the norms they have."""
    predictor.eval()
    predictor.requires_grad_(False)
    opened.requires_grad_(True)
    optimizer = make_optimizer(opened, settings.lr, settings.weight_decay)
    if len(opened) == 1:  # the head alone: what it sees does not change
        with torch.no_grad():
            seen = torch.cat([predictor.embed(batch) for batch in batches_of(store)])

        def head_loss(opened: nn.Module, ids: Tensor) -> Tensor:
            rows = nn.functional.dropout(seen[ids], predictor.dropout)
            return predictor.loss(predictor.head(rows), targets[ids])

        numbers = Shuffled(train, settings.batch_size, pairs=True, device=seen.device)
        of_head: Trainer[Any] = Trainer(opened, head_loss, optimizer)
        if seen.is_cuda:
            of_head.record = UnrecordedStep
        return of_head, numbers

    def loss(opened: nn.Module, batch: Batch) -> Tensor:
        return predictor.loss(predictor(batch), targets[batch.ids])

    trainer, batches = Trainer(opened, loss, optimizer), Shuffled(train, settings.batch_size, store.take, pairs=True)
    # On CUDA steps are recorded where the encoder allows it, and molecules taken by their numbers.
    if targets.is_cuda and kernels.has("cuda") and getattr(predictor.encoder, "records_steps", False):
        trainer.record, batches.take = partial(CapturedBatches, store=store), None
    return trainer, batches


def batches_of(store: GraphStore, ids: Tensor | None = None) -> Iterator[Batch]:
    """The molecules `ids` (None: all), some at a time."""
    yield from map(store.take, (torch.arange(len(store)) if ids is None else ids).split(AT_ONCE))


class _Scorer:
    """Called after every epoch: scores on validation and test, and the best weights by validation."""

    def __init__(
        self, predictor: Predictor, store: GraphStore, targets: Tensor, split: Mapping[str, Tensor], keep: bool
    ) -> None:
        self.predictor, self.keep = predictor, keep
        self.count = len(split["val"])
        ids = torch.cat([split["val"], split["test"]])
        self.batches, self.truth = list(batches_of(store, ids)), targets[ids.to(targets.device)]
        self.validation: list[Tensor] = []
        self.tests: list[Tensor] = []
        self.absolute: list[Tensor] = []
        self.is_finite = torch.ones((), dtype=torch.bool, device=targets.device)
        self.best: dict[str, Tensor] = {}
        self.best_score: Tensor | None = None

    @property
    def lower(self) -> bool:
        return self.predictor.kind == "regression"

    @torch.no_grad()
    def __call__(self, epoch: int) -> None:
        self.predictor.eval()
        answers = self.predictor.answer(torch.cat([self.predictor(batch) for batch in self.batches]))
        self.is_finite = self.is_finite & answers.isfinite().all()
        for part, kept in ((slice(self.count), self.validation), (slice(self.count, None), self.tests)):
            if self.lower:
                squared, absolute = regression_errors(answers[part], self.truth[part])
                kept.append(squared)
                if kept is self.tests:
                    self.absolute.append(absolute)
            else:
                kept.append(roc_auc(answers[part], self.truth[part]).nanmean())
        if self.keep:
            self._remember()

    def _remember(self) -> None:
        now = self.validation[-1]
        if self.best_score is None or bool((now < self.best_score) if self.lower else (now > self.best_score)):
            self.best_score = now
            self.best = {key: value.clone() for key, value in self.predictor.state_dict().items()}

    def state_dict(self) -> dict[str, Any]:
        """All scores so far and the best weights, for a training that is resumed."""
        lists = {"validation": self.validation, "tests": self.tests, "absolute": self.absolute}
        state: dict[str, Any] = {key: torch.stack(values) for key, values in lists.items() if values}
        state |= {"is_finite": self.is_finite, **{f"best.{key}": value for key, value in self.best.items()}}
        return state if self.best_score is None else {**state, "best_score": self.best_score}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        device = self.truth.device
        for name in ("validation", "tests", "absolute"):
            getattr(self, name)[:] = state[name].to(device).unbind() if name in state else []
        self.is_finite = state["is_finite"].to(device)
        self.best = {k.removeprefix("best."): v.to(device) for k, v in state.items() if k.startswith("best.")}
        self.best_score = state["best_score"].to(device) if "best_score" in state else None

    def scores(self) -> Scores:
        found = by_rule(self.validation, self.tests, self.lower)
        if self.lower:
            found["mae"] = float(self.absolute[-1])
        return found

    def restore(self) -> None:
        """Give the predictor its best weights back, where they were kept."""
        if self.best:
            self.predictor.load_state_dict(self.best)


def predict_graphs(predictor: Predictor, graphs: GraphSet, device: torch.device) -> Tensor:
    """[graphs, targets] on the CPU: probabilities of class 1, or numbers."""
    predictor = resting_copy(predictor, device)
    store = GraphStore(graphs, device)
    with torch.no_grad():
        return torch.cat([predictor.answer(predictor(batch)).cpu() for batch in batches_of(store)])
