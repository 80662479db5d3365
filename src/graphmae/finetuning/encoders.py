"""The fine-tuned encoder of an automatic predictor: how it is trained is compared first, then one is trained without
every fold, two or more at a time where there are as many cores, and their weights are averaged."""

from __future__ import annotations

import copy
import logging
import math
import time
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

PASSES = 10_000  # molecules a training sees, some of them many times; epochs follow from it
EPOCHS = (6, 30)
FEW = 4_000  # passes over molecules that are not worth another process
SAID = {
    "way": "comparing ways to fine-tune",
    "fold": "fine-tuning, each time without one fold",
    "final": "fine-tuning with the test part too, each time without one fold",
}
AGAIN = "the same command with --resume goes on with the trainings that are left"
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Way:
    """One way to fine-tune."""

    mode: str
    lr: float
    dropout: float

    def __str__(self) -> str:
        return f"{self.mode}, lr {self.lr:g}, dropout {self.dropout:g}"


WAYS = (Way("full", 1e-3, 0.5), Way("staged", 1e-3, 0.2), Way("frozen", 1e-2, 0.2))


def epochs_for(rows: int) -> int:
    """As many as give about 10,000 passes over molecules, at least 6 and at most 30; fewer of very large assays."""
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
    device: str = "cpu"

    @property
    def cost(self) -> int:
        return len(self.train) * self.settings.epochs


@dataclass(frozen=True)
class Trained:
    """What a task gave: weights, and predictions for what was wanted [w, T]."""

    number: int
    state: dict[str, Tensor]
    answers: np.ndarray


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
        for number, (epochs, opened) in enumerate(stages := list(stages_of(predictor, settings))):
            trainer, batches = trainer_of(predictor, opened, store, targets, train, settings)
            is_last = number + 1 == len(stages)
            trainer.schedule = make_schedule("cosine" if is_last else "constant", epochs, len(batches))
            trainer.fit(batches, epochs * len(batches))
        predictor.undo_balance()
        predictor.eval()
        with torch.no_grad():
            found = [predictor.answer(predictor(batch)).cpu() for batch in batches_of(store, wanted)]
    state = {key: value.detach().cpu() for key, value in predictor.state_dict().items()}
    return Trained(task.number, state, torch.cat(found).double().numpy())


def train_each(tasks: Sequence[Task], folder: Path | None, label: str) -> list[Trained]:
    """Every task, in their order. What is finished is kept in `folder` until everything is, for a run that is resumed.

    On the CPU each has a process with one thread, as many at a time as there are cores: a second thread makes a single
    training no faster.
    """
    done: dict[int, Trained] = {}
    for task in tasks:
        if folder is not None and (kept := _read(_path(folder, label, task.number), task.number)) is not None:
            done[task.number] = kept
    left, began = [task for task in tasks if task.number not in done], time.monotonic()
    if left:
        logger.info("%s: %d trainings of %d epochs", SAID[label], len(left), left[0].settings.epochs)
    for count, trained in enumerate(_running(left), 1):
        done[trained.number] = trained
        if folder is not None:
            _write(_path(folder, label, trained.number), trained)
        seconds = (time.monotonic() - began) / count * (len(left) - count)
        further = f", {seconds:.0f} s left" if count < len(left) else ""
        logger.info("%s: %d of %d trainings are done%s", SAID[label], len(done), len(tasks), further)
    return [done[task.number] for task in tasks]


def _running(tasks: Sequence[Task]) -> Iterator[Trained]:
    width = min(cpu_count(), len(tasks))
    small = sum(task.cost for task in tasks) <= FEW
    if width < 2 or small or any(task.device != "cpu" for task in tasks):
        yield from map(train_one, tasks)
        return
    yield from in_processes(train_one, tasks, width, limit_threads, (1,), saves=False, again=AGAIN)


def _path(folder: Path, label: str, number: int) -> Path:
    return folder / f"state-{label}-{number}.safetensors"


def _write(path: Path, trained: Trained) -> None:
    write_tensors(path, trained.state | {"answers": torch.from_numpy(trained.answers)})


def _read(path: Path, number: int) -> Trained | None:
    """A training that was finished before; None where it was not, or its file was cut off."""
    if not path.is_file():
        return None
    try:
        tensors, _ = read_tensors(path, must_have_digest=True)
    except Damaged:
        return None
    answers = tensors.pop("answers").numpy()
    return Trained(number, tensors, answers)


def averaged(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of the weights of several trainings that began with the same encoder (Wortsman et al. 2022).

    Its predictions are as good as the mean of theirs, at the cost of one. On molecules of BACE and of BBBP that were
    left out: 89.7 and 85.6, against 89.4 and 85.6 for the mean and 88.8 and 84.8 for one training on all of them.
    """
    own = [_in_units(state) for state in states]
    return {
        key: torch.stack([state[key] for state in own]).mean(0) if value.is_floating_point() else value
        for key, value in own[0].items()
    }


def _in_units(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A predictor whose head gives numbers as they are: what was trained on has another mean in every fold."""
    center, scale = state["center"], state["scale"]
    head = {"head.weight": state["head.weight"] * scale[:, None], "head.bias": state["head.bias"] * scale + center}
    return {**state, **head, "center": torch.zeros_like(center), "scale": torch.ones_like(scale)}


@dataclass(frozen=True)
class Chosen:
    """The way that was best on part of the training molecules, and what all of them had there."""

    way: Way
    tried: dict[str, float]


def choose_way(base: Task, folds: np.ndarray, folder: Path | None) -> Chosen:
    """Compare ways to fine-tune: trained without one fold for half of the epochs, scored on it at the end.

    The rows of `base.train` have `folds`. The epoch that was best on a fold is not looked for: of a few hundred
    molecules it says little, and a staged training that ends early has not opened its layers.
    """
    settings = base.settings
    if not settings.search:
        return Chosen(Way(settings.mode, settings.lr, settings.dropout), {})
    own = int(np.argmin([abs((folds == fold).mean() - 0.2) for fold in np.unique(folds)]))
    held = folds == np.unique(folds)[own]
    half = replace(settings, epochs=max(settings.epochs // 2, 2))
    tasks = [
        replace(base, number=number, train=base.train[~held], wanted=base.train[held],
                settings=replace(half, mode=way.mode, lr=way.lr, dropout=way.dropout))  # type: ignore[arg-type]
        for number, way in enumerate(WAYS)
    ]  # fmt: skip
    found = train_each(tasks, folder, "way")
    scores = [score(trained.answers, base.targets[base.train[held]], base.kind) for trained in found]
    tried = dict(zip(map(str, WAYS), scores, strict=True))
    # NaN, where a fold has one class only, is the worst.
    winner = max(range(len(WAYS)), key=lambda number: scores[number] if math.isfinite(scores[number]) else -math.inf)
    return Chosen(WAYS[winner], tried)
