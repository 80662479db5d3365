"""Search recipe keys: by the validation score where there are labels, else by the error of reconstruction."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .. import config, evaluation, methods, pretrained
from ..config import Recipe
from ..data import Dataset
from ..data.splits import with_split
from ..inference.reconstruction import reconstructing, reconstruction_error
from ..runtime.device import numerics, resolve_device
from ..runtime.errors import ConfigError, GraphMAEError, InputError
from ..runtime.files import locked
from ..runtime.values import parse_value
from . import pretrain as pretraining
from .folder import RunFolder
from .memory import check_memory

logger = logging.getLogger("graphmae")
SPACE = (
    "encoder.hidden_channels=128,256,512",
    "encoder.norm=none,layer,batch",
    "mask.rate=0.25,0.5,0.75",
    "loss.gamma=1,2,3",
    "train.lr=3e-4..3e-3",
    "train.weight_decay=0,1e-4,1e-3",
)


@dataclass(frozen=True)
class Choice:
    """One key and the values it may take: a list, or a range, searched on a logarithmic scale where it is wide."""

    key: str
    values: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Tuned:
    """The best recipe and every trial: {"score", "seconds", "settings"}, the score None where a trial failed."""

    recipe: Recipe
    score: float
    criterion: str
    trials: list[dict[str, Any]]


def parse_choice(text: str) -> Choice:
    """'mask.rate=0.25,0.5' or 'train.lr=1e-4..1e-2'.

    >>> parse_choice("mask.rate=0.25,0.5").values
    (0.25, 0.5)
    """
    key, equals, values = text.partition("=")
    if not equals or "." not in key or not values:
        raise ConfigError(f"{text!r} is not of the form section.key=A,B,C or section.key=LOW..HIGH")
    low, dots, high = values.partition("..")
    if not dots:
        return Choice(key.strip(), tuple(parse_value(value.strip()) for value in values.split(",")))
    try:
        ends = float(low), float(high)
    except ValueError:
        raise ConfigError(f"{text!r}: the ends of a range are numbers") from None
    if not ends[0] < ends[1]:
        raise ConfigError(f"{text!r}: a range goes from the lower to the higher number")
    return Choice(key.strip(), (), *ends)


def tune(
    dataset: Dataset,
    recipe: Recipe,
    space: Iterable[str] = SPACE,
    trials: int = 20,
    *,
    seed: int = 0,
    device: str = "auto",
    out: RunFolder | None = None,
) -> Tuned:
    """Try `trials` settings of the keys in `space`, the recipe's own first; with `out`, the best goes to recipe.toml.

    With labels the score is the probe's validation accuracy (never the test nodes'). Without, it is how far hidden
    nodes are from their reconstruction, half of them hidden at a time, which says less about how useful embeddings are.
    """
    optuna = _optuna()
    if trials < 1:
        raise InputError(f"trials must be at least 1, not {trials}")
    choices, used = [parse_choice(text) for text in space], resolve_device(device)
    graph, dataset = dataset.single_graph(), with_split(dataset)
    labelled = "y" in graph
    if labelled:
        dataset.check_labels()
        evaluation.evaluator_for(dataset, replace(recipe.evaluation, baselines=()), used)  # refused now, or never
    check_memory(dataset, recipe, used)
    criterion = "validation score" if labelled else "reconstruction error"
    found: list[dict[str, Any]] = []

    def evaluate(settings: Mapping[str, Any]) -> float:
        made = recipe.override(*(f"{key}={_text(value)}" for key, value in settings.items()))
        methods.check(made)
        model = pretraining.pretrain_once(made, dataset, seed, used)
        if not labelled:
            with numerics(used):
                return reconstruction_error(reconstructing(model), graph, used, 2, share=0.5)
        evaluator = evaluation.evaluator_for(dataset, replace(made.evaluation, baselines=()), used).quick()
        fresh = partial(pretrained.fresh_encoder, model)
        return evaluator.rows(model.reader, fresh, [seed])[0]["pretrained"].scores["validation-last"]

    def objective(trial: Any) -> float:
        settings = {choice.key: _suggest(trial, choice) for choice in choices}
        began, score = time.monotonic(), math.nan
        try:
            score = evaluate(settings)
        except GraphMAEError as error:
            logger.info("trial %d failed: %s", trial.number, error)
        entry = {
            "score": None if math.isnan(score) else score,
            "seconds": time.monotonic() - began,
            "settings": settings,
        }
        found.append(entry)
        shown = ", ".join(f"{key}={_text(value)}" for key, value in settings.items())
        logger.info("trial %d of %d: %s %.4g (%s)", trial.number + 1, trials, criterion, score, shown)
        if out is not None:
            out.write_trials({"criterion": criterion, "trials": found})
        if math.isnan(score):
            raise optuna.TrialPruned
        return score

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="maximize" if labelled else "minimize", sampler=optuna.samplers.TPESampler(seed=seed)
    )
    study.enqueue_trial(_own(recipe, choices))
    with nullcontext() if out is None else locked(out.path):
        study.optimize(objective, n_trials=trials)
    good = [entry for entry in found if entry["score"] is not None]
    if not good:
        raise GraphMAEError("every trial failed; see the messages above")
    best = (max if labelled else min)(good, key=lambda entry: entry["score"])
    made = recipe.override(*(f"{key}={_text(value)}" for key, value in best["settings"].items()))
    if out is not None:
        out.write_recipe_toml(config.to_toml(made))
    return Tuned(made, float(best["score"]), criterion, found)


def _suggest(trial: Any, choice: Choice) -> Any:
    if choice.values:
        return choice.values[trial.suggest_categorical(choice.key, range(len(choice.values)))]
    return trial.suggest_float(
        choice.key, choice.low, choice.high, log=choice.low > 0 and choice.high >= 10 * choice.low
    )


def _own(recipe: Recipe, choices: Sequence[Choice]) -> dict[str, Any]:
    """The recipe's own values, as far as the space holds them."""
    raw, start = recipe.to_dict(), dict[str, Any]()
    for choice in choices:
        section, _, key = choice.key.partition(".")
        value = raw.get(section, {}).get(key)
        if choice.values and value in choice.values:
            start[choice.key] = choice.values.index(value)
        elif not choice.values and isinstance(value, int | float) and choice.low <= value <= choice.high:
            start[choice.key] = value
    return start


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("tuning needs optuna: pip install 'graphmae[tune]'") from None
    return optuna
