"""The contract of an evaluator: an encoder and labelled data in, named scores out, baselines as further rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, ClassVar, TypeVar

import torch
from torch import nn

from ..config import Evaluation
from ..data import Dataset
from ..runtime.device import numerics
from ..runtime.errors import ConfigError, InputError, unknown

Scores = dict[str, float]
MakeEncoder = Callable[[], nn.Module]
E = TypeVar("E", bound="type[Evaluator]")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """One row of a table: rule or check → score, and of whole graphs what every fold chose and scored.

    Where nodes have several splits, the scores are means over them, and `splits` has those of each.
    """

    scores: Scores
    folds: Mapping[str, Any] = field(default_factory=dict)
    splits: Sequence[Scores] = ()


class Evaluator:
    """Scores an encoder on a labelled data set; `evaluator_for` gives the one that fits the data.

    One for another task is a subclass with `@evaluates("task")` on it, which defines `score`. A baseline is a function
    with `@baseline("task", "name")` on it: (evaluator, make_encoder, seeds) → one `Row` per seed.

    Attributes:
        rules: the scores that can be reported first, the default first.
    """

    rules: ClassVar[tuple[str, ...]]

    def __init__(self, dataset: Any, settings: Evaluation, device: torch.device) -> None:
        self.dataset, self.device = dataset, device
        self.settings = self.fitted(settings)
        self._known: dict[tuple[str, int], Row] = {}

    def score(self, encoder: nn.Module, seeds: Sequence[int]) -> list[Row]:
        """The encoder's own row, once per seed."""
        raise TypeError(f"{type(self).__name__} must define score(encoder, seeds)")

    def rows(self, encoder: nn.Module, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[dict[str, Row]]:
        """For every seed, the encoder's row ("pretrained") and one for every baseline asked for.

        `make_encoder` gives a fresh encoder of the same shape. Randomness outside is left alone. Everything is computed
        in float32, whatever the precision of the training.
        """
        with numerics(self.device):
            columns = {"pretrained": self.score(encoder, seeds)}
            for name in self.settings.baselines:
                columns[name] = self._baseline(name, make_encoder, seeds)
        return [{name: rows[number] for name, rows in columns.items()} for number in range(len(seeds))]

    def tables(self, encoder: nn.Module, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[dict[str, Any]]:
        """The same as `Result.runs` has it: {"rows": row → scores, "folds": row → …, "splits": row → …} per seed."""
        out = []
        for table in self.rows(encoder, make_encoder, seeds):
            folds = {name: dict(row.folds) for name, row in table.items() if row.folds}
            splits = {name: list(row.splits) for name, row in table.items() if row.splits}
            entry: dict[str, Any] = {"rows": {name: row.scores for name, row in table.items()}}
            out.append(entry | ({"folds": folds} if folds else {}) | ({"splits": splits} if splits else {}))
        return out

    def over_splits(self, score: Callable[[Any], Sequence[Scores]]) -> list[Row]:
        """One row per seed of what `score` gives, once for every split of the data set."""
        found = [score(dataset) for dataset in self.dataset.each_split()]
        if len(found) == 1:
            return [Row(scores) for scores in found[0]]
        return [Row(_means(each), splits=each) for each in zip(*found, strict=True)]

    def prepare(self, seeds: Sequence[int]) -> None:
        """Score what depends on no encoder now, for all seeds at once."""
        with numerics(self.device):
            for name in self.settings.baselines:
                if getattr(BASELINES[self.dataset.task][name], "is_fixed", False):
                    self._baseline(name, _no_encoder, seeds)

    def quick(self) -> Evaluator:
        """The same without baselines and with nothing that takes long, for a look between epochs."""
        plain = replace(self.settings, baselines=(), converged=False, choose=False)
        return type(self)(self.dataset, plain, self.device)

    def fitted(self, settings: Evaluation) -> Evaluation:
        """The settings with a rule and baselines that apply; a baseline that does not is refused, not left out.

        A rule for another task becomes the first one of this task where it is a default, and is refused where it was
        chosen: "folds" and "chosen" have no meaning for nodes.
        """
        rule, allowed, task = settings.rule, BASELINES.get(self.dataset.task, {}), self.dataset.task
        if rule not in self.rules:
            if rule != Evaluation.rule:
                raise ConfigError(f"evaluation.rule = {rule!r} is not for {task}s; {unknown('rule', rule, self.rules)}")
            rule = self.rules[0]  # type: ignore[assignment]
        names = tuple(allowed) if "all" in settings.baselines else settings.baselines
        if self.dataset.on_disk and "all" in settings.baselines:  # the others need the whole graph in memory
            names = tuple(name for name in allowed if name in ON_DISK)
        if other := [name for name in names if name not in allowed]:
            raise ConfigError(f"{unknown('baseline', other[0], allowed)} ({self.dataset.name} is evaluated by {task}s)")
        return replace(settings, rule=rule, baselines=tuple(names))

    def _baseline(self, name: str, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
        function = BASELINES[self.dataset.task][name]
        missing = [seed for seed in seeds if (name, seed) not in self._known]
        rows = dict(zip(missing, function(self, make_encoder, missing), strict=True)) if missing else {}
        if getattr(function, "is_fixed", False):
            self._known |= {(name, seed): row for seed, row in rows.items()}
        return [rows[seed] if seed in rows else self._known[name, seed] for seed in seeds]


ON_DISK = ("raw", "untrained")
EVALUATORS: dict[str, type[Evaluator]] = {}
BASELINES: dict[str, dict[str, Callable[..., list[Row]]]] = {}


def evaluates(task: str) -> Callable[[E], E]:
    """Decorator: this evaluator is for data sets of this task."""

    def add(cls: E) -> E:
        EVALUATORS[task] = cls
        return cls

    return add


def baseline(task: str, name: str, fixed: bool = False) -> Callable[[F], F]:
    """Decorator: a row `name` for data sets of this task; `fixed` where it does not depend on the encoder's shape."""

    def add(function: F) -> F:
        BASELINES.setdefault(task, {})[name] = function
        function.is_fixed = fixed  # type: ignore[attr-defined]
        return function

    return add


def evaluator_for(dataset: Dataset, settings: Evaluation, device: torch.device) -> Evaluator:
    """The evaluator of a data set, with settings that fit it; scores do not depend on how a table is sorted."""
    if dataset.task not in EVALUATORS:
        raise InputError(f"{dataset.name} has no labels to evaluate with; for measured targets use graphmae finetune")
    return EVALUATORS[dataset.task](dataset.sorted_by_id(), settings, device)


def _means(each: Sequence[Scores]) -> Scores:
    return {key: fmean(scores[key] for scores in each) for key in each[0] if all(key in scores for scores in each)}


def _no_encoder() -> nn.Module:
    raise AssertionError("a fixed baseline asked for an encoder")
