"""Fine-tuned encoders of an automatic predictor: how they are trained is compared first, then one is trained for
every fold, two or more at a time where there are as many cores."""

from __future__ import annotations

import copy
import json
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..batching import GraphStore
from ..config import Finetune
from ..data import GraphSet
from ..runtime.compiled import limit_threads
from ..runtime.environment import cpu_count
from ..runtime.processes import in_processes
from ..runtime.seed import preserved_randomness
from ..runtime.tensors import Damaged, read_tensors, write_tensors
from ..training import make_schedule
from .finetune import batches_of, stages_of, trainer_of
from .predictor import Kind, Predictor
from .stack import score

PASSES = 12_000  # molecules a training sees, some of them many times; epochs follow from it
EPOCHS = (6, 30)
FEW = 4_000  # passes over molecules that are not worth another process
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Way:
    """One way to fine-tune."""

    mode: str
    lr: float
    dropout: float

    def __str__(self) -> str:
        return f"{self.mode}, lr {self.lr:g}, dropout {self.dropout:g}"


WAYS = (Way("full", 1e-3, 0.5), Way("full", 3e-4, 0.2), Way("staged", 1e-3, 0.2), Way("frozen", 1e-2, 0.2))


def epochs_for(rows: int) -> int:
    """As many as give about 12,000 passes over molecules, at least 6 and at most 30; fewer of very large assays."""
    least = EPOCHS[0] if rows < 15_000 else 3
    return min(max(round(PASSES / max(rows, 1)), least), EPOCHS[1])


@dataclass(frozen=True)
class Task:
    """One training: an encoder, molecules, targets [n, T], which to train on and which to predict afterwards."""

    number: int
    encoder: nn.Module
    graphs: GraphSet
    targets: np.ndarray
    train: np.ndarray
    wanted: np.ndarray
    names: tuple[str, ...]
    kind: Kind
    settings: Finetune
    seed: int
    last: int  # training ends after so many epochs, though the schedule is for `settings.epochs`
    device: str = "cpu"
    tracks: bool = False  # score what is wanted after every epoch

    @property
    def cost(self) -> int:
        return len(self.train) * self.last


@dataclass(frozen=True)
class Trained:
    """What a task gave: weights, predictions for what was wanted [w, T], and their score after every epoch."""

    number: int
    state: dict[str, Tensor]
    answers: np.ndarray
    history: list[float]


def train_one(task: Task) -> Trained:
    """Train a predictor; everything of it follows from the task."""
    device = torch.device(task.device)
    with preserved_randomness(task.seed):
        settings = task.settings
        encoder = copy.deepcopy(task.encoder)  # tasks in one process begin with the same one
        predictor = Predictor(encoder, task.names, task.kind, settings.readout, settings.dropout).to(device)
        nn.init.zeros_(predictor.head.weight)
        nn.init.zeros_(predictor.head.bias)
        store, targets = GraphStore(task.graphs, device), torch.from_numpy(task.targets).to(device)
        train, wanted = torch.from_numpy(task.train), torch.from_numpy(task.wanted)
        predictor.fit_scale(targets[train.to(device)], settings.balance)
        truth, held = task.targets[task.wanted], list(batches_of(store, wanted))
        history: list[float] = []

        @torch.no_grad()
        def answers() -> np.ndarray:
            predictor.eval()
            return torch.cat([predictor.answer(predictor(batch)).cpu() for batch in held]).double().numpy()

        def after_epoch(epoch: int) -> dict[str, bool]:
            history.append(score(answers(), truth, task.kind) if task.tracks else 0.0)
            return {"stop": len(history) >= task.last}

        for number, (epochs, opened) in enumerate(stages := list(stages_of(predictor, settings))):
            trainer, batches = trainer_of(predictor, opened, store, targets, train, settings)
            is_last = number + 1 == len(stages)
            trainer.schedule = make_schedule("cosine" if is_last else "constant", epochs, len(batches))
            trainer.after_epoch = [after_epoch]
            trainer.fit(batches, epochs * len(batches))
            if len(history) >= task.last:
                break
        predictor.undo_balance()
        found = answers()
    state = {key: value.detach().cpu() for key, value in predictor.state_dict().items()}
    return Trained(task.number, state, found, history)


def train_each(tasks: Sequence[Task], folder: Path | None, label: str) -> list[Trained]:
    """Every task, in their order. What is finished is kept in `folder` until everything is, for a run that is resumed.

    On the CPU each has a process with one thread, as many at a time as there are cores: a second thread makes a single
    training no faster.
    """
    done: dict[int, Trained] = {}
    for task in tasks:
        if folder is not None and (kept := _read(_path(folder, label, task.number), task.number)) is not None:
            done[task.number] = kept
    left = [task for task in tasks if task.number not in done]
    for trained in _running(left):
        done[trained.number] = trained
        if folder is not None:
            _write(_path(folder, label, trained.number), trained)
        logger.info("%s: %d of %d trainings are done", label, len(done), len(tasks))
    return [done[task.number] for task in tasks]


def _running(tasks: Sequence[Task]) -> Iterator[Trained]:
    width = min(cpu_count(), len(tasks))
    small = sum(task.cost for task in tasks) <= FEW
    if width < 2 or small or any(task.device != "cpu" for task in tasks):
        yield from map(train_one, tasks)
        return
    yield from in_processes(train_one, tasks, width, limit_threads, (1,))


def _path(folder: Path, label: str, number: int) -> Path:
    return folder / f"state-{label}-{number}.safetensors"


def _write(path: Path, trained: Trained) -> None:
    answers = {"answers": torch.from_numpy(trained.answers)}
    write_tensors(path, trained.state | answers, {"history": json.dumps(trained.history)})


def _read(path: Path, number: int) -> Trained | None:
    """A training that was finished before; None where it was not, or its file was cut off."""
    if not path.is_file():
        return None
    try:
        tensors, facts = read_tensors(path, must_have_digest=True)
    except Damaged:
        return None
    answers = tensors.pop("answers").numpy()
    return Trained(number, tensors, answers, json.loads(facts["history"]))


@dataclass(frozen=True)
class Chosen:
    """The way that was best on part of the training molecules, after how many epochs, and what the others had there."""

    way: Way
    epochs: int
    tried: dict[str, float]


def choose_way(base: Task, folds: np.ndarray, folder: Path | None) -> Chosen:
    """Compare ways to fine-tune: trained without one fold, scored on it; the rows of `base.train` have `folds`."""
    if not base.settings.search:
        settings = base.settings
        return Chosen(Way(settings.mode, settings.lr, settings.dropout), base.last, {})
    own = int(np.argmin([abs((folds == fold).mean() - 0.2) for fold in np.unique(folds)]))
    held = folds == np.unique(folds)[own]
    tasks = []
    for number, way in enumerate(WAYS):
        settings = replace(base.settings, mode=way.mode, lr=way.lr, dropout=way.dropout)  # type: ignore[arg-type]
        part = replace(base, number=number, settings=settings, train=base.train[~held],
                       wanted=base.train[held], tracks=True)  # fmt: skip
        tasks.append(part)
    found = train_each(tasks, folder, "way")
    best = [max(range(len(t.history)), key=lambda epoch, t=t: _comparable(t.history[epoch])) for t in found]  # type: ignore[misc]
    tried = {str(way): trained.history[epoch] for way, trained, epoch in zip(WAYS, found, best, strict=True)}
    winner = max(range(len(WAYS)), key=lambda number: _comparable(found[number].history[best[number]]))
    return Chosen(WAYS[winner], max(best[winner] + 1, 2), tried)


def _comparable(value: float) -> float:
    """NaN, where a fold has one class only, is the worst."""
    return value if math.isfinite(value) else -math.inf
