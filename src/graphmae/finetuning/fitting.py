"""How an automatic predictor is made: members compared in folds of the training part, weighed, calibrated, refitted."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..config import Finetune
from ..data.molecules import Assay
from ..data.molecules.featurized import Featurized
from ..inference.molecules import embed_molecules
from . import members as library
from .automatic import AutomaticPredictor, mean_of_tuned
from .calibration import Conformal, Platt, coverage, expected_calibration_error, logistic
from .domain import Domain
from .encoders import Task, Trained, averaged, choose_way, epochs_for, train_each
from .members import FINETUNED, SPECS, Fitted, Kind
from .parts import Parts, folds_of, parts_of
from .predictor import Predictor
from .stack import Choice, as_logits, choose, combined, effective, score, spread_of

METRICS = {"classification": "ROC-AUC", "regression": "RMSE"}
logger = logging.getLogger("graphmae")


@dataclass(frozen=True)
class Members:
    """Every member, compared in folds and fitted to the whole training part.

    Attributes:
        seen: member → [n, T] what it says of each training molecule, by a model that had not seen it.
        test: member → [m, T] what it says of the test part.
        fitted: members but the fine-tuned encoder; tuned: that one, where it is a member.
        chosen: the setting of each of `fitted`; way: that of `tuned`.
        facts: which settings were chosen, and how encoders were fine-tuned.
    """

    parts: Parts
    kind: Kind
    seen: dict[str, np.ndarray]
    test: dict[str, np.ndarray]
    fitted: list[Fitted]
    tuned: list[Predictor]
    chosen: dict[str, float]
    way: Finetune | None
    facts: dict[str, Any]

    @property
    def y(self) -> np.ndarray:
        """[n, T] of the training molecules."""
        return self.parts.y[self.parts.train]


@dataclass(frozen=True)
class Fitting:
    """What `fit_automatic` gives.

    Attributes:
        predictor: learned from the training part alone.
        rows: scores of it and of every member.
        answers: [M, T] its predictions for all molecules; those of the training part by models of folds they are not
            in.
        final: with `refit`, a predictor that learned from all molecules, and so has no score of its own.
    """

    predictor: AutomaticPredictor
    rows: dict[str, dict[str, float]]
    answers: np.ndarray
    final: AutomaticPredictor | None = None


def fit_automatic(
    encoder: nn.Module,
    assay: Assay,
    settings: Finetune,
    seed: int,
    device: torch.device,
    folder: Path | None = None,
    label: str = "finetune",
) -> Fitting:
    """Compare members, weigh them, score the predictor they make.

    Everything is chosen inside the training part, which is what the split calls train and val; the test part is
    predicted once, by the finished models. With a `folder`, trainings that are finished are kept there to resume from.
    """
    began = time.monotonic()
    members = fit_members(encoder, assay, settings, seed, device, folder, label)
    parts, kind, y = members.parts, members.kind, members.y
    as_seen, platts = as_logits(members.seen, y) if kind == "classification" else (members.seen, {})
    choice = choose(as_seen, y, parts.folds, kind, costly(members.seen))
    logger.info("%s: %s has %s %.4g in the folds", label, _shown(choice), METRICS[kind], choice.inner)
    kept = [member for member in members.fitted if member.name in choice.weights]
    uses = members.tuned if FINETUNED in choice.weights else []
    predictor = AutomaticPredictor(
        assay.names, kind, settings.readout, dict(assay.treatment), encoder.cpu().eval(), uses, kept, choice.weights,
        {name: platts[name] for name in choice.weights} if platts else {},
    )  # fmt: skip
    facts = members.facts | _calibrate(predictor, as_seen, choice, y, parts.folds, settings.level)
    predictor.domain = _domain(predictor, assay, parts, device, seed)
    rows, answers = _test_rows(predictor, members, choice, assay, device)
    answers[parts.train] = _share(predictor, combined(as_seen, choice.weights))
    predictor.report = {
        "way": choice.way, "weights": choice.weights, "inner": choice.scores, "tried": choice.tried,
        "folds": settings.folds, "grouped": parts.grouped, **facts, "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    if not settings.refit:
        return Fitting(predictor, rows, answers)
    logger.info("%s: the same once more, learning from all %d molecules", label, len(parts.train) + len(parts.test))
    return Fitting(
        predictor, rows, answers, _refitted(predictor, members, encoder, assay, settings, device, seed, folder)
    )


def _refitted(
    predictor: AutomaticPredictor, members: Members, encoder: nn.Module, assay: Assay, settings: Finetune,
    device: torch.device, seed: int, folder: Path | None,
) -> AutomaticPredictor:  # fmt: skip
    """The same members, settings, weights and calibration, fitted to the test part too."""
    train = np.sort(np.concatenate([members.parts.train, members.parts.test]))
    folds, grouped = folds_of(assay, train, settings, seed)
    parts = replace(members.parts, train=train, test=train[:0], folds=folds, grouped=grouped)
    training, y = parts.rows(train), parts.y[train]
    fitted = [
        library.fit(one.name, members.chosen[one.name], training, y, members.kind, seed) for one in predictor.members
    ]
    tuned = predictor.tuned
    if tuned and members.way is not None:
        base = _task(encoder, assay, members.way, parts, seed, device)
        tuned = [_mean_of_trainings(encoder, assay, members.way, _without_folds(base, folds, folder, "final"))]
    final = replace(predictor, members=fitted, tuned=tuned, report={**predictor.report, "molecules": len(train)})
    final.domain = _domain(final, assay, parts, device, seed)
    return final


def fit_members(
    encoder: nn.Module,
    assay: Assay,
    settings: Finetune,
    seed: int,
    device: torch.device,
    folder: Path | None = None,
    label: str = "finetune",
) -> Members:
    """Compare all members in folds of the training part, fit them to all of it, and predict the test part."""
    parts = parts_of(encoder, assay, settings, seed, device)
    names, kind, y = _names(settings, parts), assay.kind, parts.y[parts.train]
    logger.info(
        "%s: %d molecules to learn from (train and val), %s to test on; %d folds %s; members: %s", label,
        len(parts.train), _tested(assay, parts), settings.folds, "by scaffold" if parts.grouped else "by chance",
        ", ".join(names),
    )  # fmt: skip
    seen, chosen = _compare(names, parts, kind, seed, label)
    facts: dict[str, Any] = {
        "settings": {name: value for name, value in chosen.items() if len(SPECS[name].settings) > 1}
    }
    tuned: list[Predictor] = []
    way = None
    if FINETUNED in names:
        one, seen[FINETUNED], way, facts["finetuning"] = _tuned(encoder, assay, settings, parts, seed, device, folder)
        tuned.append(one)
    training = parts.rows(parts.train)
    others = "the others" if FINETUNED in names else "the members"
    logger.info("%s: fitting %s to the whole training part", label, others)
    fitted = [library.fit(name, chosen[name], training, y, kind, seed) for name in chosen]
    test = {member.name: member.predict(parts.rows(parts.test)) for member in fitted}
    if tuned:
        embedded = embed_molecules([p.encoder for p in tuned], assay.graphs(), settings.readout, device)
        test[FINETUNED] = mean_of_tuned(tuned, [rows[torch.from_numpy(parts.test)] for rows in embedded])
    return Members(parts, kind, seen, test, fitted, tuned, chosen, way, facts)


def _tested(assay: Assay, parts: Parts) -> str:
    """Molecules of which only a bound is known are predicted and not scored."""
    exact = int((~np.isnan(assay.scored[parts.test])).any(axis=1).sum())
    return f"{len(parts.test)}" + (f" ({exact} of them with an exact value)" if exact < len(parts.test) else "")


def costly(names: Collection[str]) -> list[str]:
    """Members that need the pre-trained encoder beside the fine-tuned one: every molecule is then embedded twice."""
    return [name for name in names if FINETUNED in names and name in SPECS and "embedding" in SPECS[name].blocks]


def _share(predictor: AutomaticPredictor, middle: np.ndarray) -> np.ndarray:
    return middle if predictor.platt is None else predictor.platt(middle)


def _names(settings: Finetune, parts: Parts) -> list[str]:
    if "auto" not in settings.members:
        return list(dict.fromkeys(settings.members))
    rows, values = len(parts.train), int(np.isfinite(parts.y[parts.train]).sum())
    return [FINETUNED, *(name for name in SPECS if library.affordable(name, rows, values))]


def _compare(
    names: list[str], parts: Parts, kind: Any, seed: int, label: str
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """(name → predictions for the training molecules by models that had not seen them, name → its best setting)."""
    guesses, chosen = {}, {}
    y = parts.y[parts.train]
    for name in [name for name in names if name != FINETUNED]:
        began, tried = time.monotonic(), {}
        for setting in SPECS[name].settings:
            out = np.full(y.shape, np.nan)
            for fold in np.unique(parts.folds):
                rest, own = parts.train[parts.folds != fold], parts.train[parts.folds == fold]
                model = library.fit(name, setting, parts.rows(rest), parts.y[rest], kind, seed)
                out[parts.folds == fold] = model.predict(parts.rows(own))
            tried[setting] = out
        scored = {setting: score(out, y, kind) for setting, out in tried.items()}
        chosen[name] = max(scored, key=lambda setting: scored[setting])
        guesses[name] = tried[chosen[name]]
        reached = f"{METRICS[kind]} {abs(scored[chosen[name]]):.4g}"
        logger.info("%s: %s has %s in the folds (%.0f s)", label, name, reached, time.monotonic() - began)
    return guesses, chosen


def _tuned(
    encoder: nn.Module, assay: Assay, settings: Finetune, parts: Parts, seed: int, device: torch.device,
    folder: Path | None,
) -> tuple[Predictor, np.ndarray, Finetune, dict[str, Any]]:  # fmt: skip
    """(the fine-tuned predictor, what those of the folds say of the molecules they had not seen, how it was done: as
    settings, and to report)."""
    rows = len(parts.train)
    epochs = settings.epochs or epochs_for(round(rows * (1 - 1 / settings.folds)))
    batch = settings.batch_size if rows < 5_000 else max(settings.batch_size, 64)
    base = _task(encoder, assay, replace(settings, epochs=epochs, batch_size=batch), parts, seed, device)
    found = choose_way(base, parts.folds, folder)
    mode, lr, dropout = found.way.mode, found.way.lr, found.way.dropout
    way = replace(base.settings, mode=mode, lr=lr, dropout=dropout)  # type: ignore[arg-type]
    trained = _without_folds(replace(base, settings=way), parts.folds, folder, "fold")
    out = np.full((rows, len(assay.names)), np.nan)
    for result, fold in zip(trained, np.unique(parts.folds), strict=True):
        out[parts.folds == fold] = result.answers
    tuned = _mean_of_trainings(encoder, assay, way, trained)
    sign = 1 if assay.kind == "classification" else -1
    tried = {name: sign * value for name, value in found.tried.items()}
    return tuned, out, way, {"way": str(found.way), "epochs": epochs, "tried": tried, "averaged": len(trained)}


def _task(encoder: nn.Module, assay: Assay, settings: Finetune, parts: Parts, seed: int, device: torch.device) -> Task:
    targets = assay.targets.astype(np.float32)
    return Task(
        0, encoder.cpu(), assay.graphs(), targets, parts.train, parts.train, assay.names, assay.kind, settings, seed,
        str(device),
    )  # fmt: skip


def _without_folds(base: Task, folds: np.ndarray, folder: Path | None, label: str) -> list[Trained]:
    """Train on `base.train` without each of its folds, which is predicted."""
    tasks = [
        replace(base, number=number, train=base.train[folds != fold], wanted=base.train[folds == fold],
                seed=base.seed + number)
        for number, fold in enumerate(np.unique(folds))
    ]  # fmt: skip
    return train_each(tasks, folder, label)


def _mean_of_trainings(encoder: nn.Module, assay: Assay, way: Finetune, trained: Sequence[Trained]) -> Predictor:
    tuned = Predictor(copy.deepcopy(encoder).cpu(), assay.names, assay.kind, way.readout, way.dropout)
    tuned.load_state_dict(averaged([result.state for result in trained]))
    tuned.inputs = dict(assay.treatment)
    return tuned.eval()


def _calibrate(
    predictor: AutomaticPredictor, guesses: Mapping[str, np.ndarray], choice: Choice, y: np.ndarray,
    folds: np.ndarray, level: float,
) -> dict[str, Any]:  # fmt: skip
    """Fit probabilities or intervals to what was predicted out of the folds; report how good they are on others."""
    middle, spread = combined(guesses, choice.weights), spread_of(guesses, choice.weights)
    if predictor.kind == "classification":
        predictor.platt = Platt.fit(middle, y)
        held = np.full(y.shape, np.nan)
        for fold in np.unique(folds):
            held[folds == fold] = Platt.fit(middle[folds != fold], y[folds != fold])(middle[folds == fold])
        return {
            "calibration_error": {
                "before": round(expected_calibration_error(logistic(middle), y), 3),
                "after": round(expected_calibration_error(held, y), 3),
            }
        }
    count = effective(choice.weights)
    predictor.conformal = Conformal.fit(middle, spread, y, count, level)
    half = np.full(y.shape, np.nan)
    for fold in np.unique(folds):
        own = folds == fold
        half[own] = Conformal.fit(middle[~own], spread[~own], y[~own], count, level).half_width(spread[own])
    return {"coverage": {"level": 100 * level, "inner": round(coverage(middle - half, middle + half, y), 2)}}


def _domain(predictor: AutomaticPredictor, assay: Assay, parts: Parts, device: torch.device, seed: int) -> Domain:
    embedding = parts.blocks["embedding"]
    if not predictor.reads_frozen:
        embedding = embed_molecules([predictor.tuned[0].encoder], assay.graphs(), predictor.readout, device)[0].numpy()
    smiles, ids = (tuple(values[row] for row in parts.train) for values in (assay.smiles, assay.ids or assay.smiles))
    return Domain.fit(parts.blocks["ecfp"][parts.train], embedding[parts.train], smiles, ids, seed)


def _test_rows(
    predictor: AutomaticPredictor, members: Members, choice: Choice, assay: Assay, device: torch.device
) -> tuple[dict[str, dict[str, float]], np.ndarray]:
    """Scores on the test part, by the models as they are (`test`), and of the inner folds (`inner`); and predictions
    for all molecules."""
    parts = members.parts
    test, y = parts.test, np.asarray(assay.scored, dtype=np.float64)[parts.test]
    sign = 1 if assay.kind == "classification" else -1
    graphs = assay.graphs()
    rows = {
        name: {
            "test": sign * score(guess, y, assay.kind), "inner": choice.scores[name],
            "weight": 100 * choice.weights.get(name, 0.0),
        }
        for name, guess in members.test.items()
    }  # fmt: skip
    # All molecules, for their graphs are one after another; the rows of the test part alone are looked at.
    molecules = Featurized(
        np.arange(len(assay)), list(assay.smiles), graphs, parts.blocks["ecfp"], parts.blocks["descriptors"]
    )
    everything = predictor.answer(molecules, device)
    whole = everything.of(test)
    rows["automatic"] = {"test": sign * score(whole.values, y, assay.kind), "inner": choice.inner}
    assert predictor.domain is not None and whole.near is not None
    rows["automatic"]["outside"] = float(100 * (1 - whole.near.inside.mean()))
    if assay.kind == "classification":
        rows["automatic"]["ece"] = expected_calibration_error(whole.values, y)
    else:
        assert whole.low is not None and whole.high is not None
        rows["automatic"]["coverage"] = coverage(whole.low, whole.high, y)
        rows["automatic"]["mae"] = float(np.nanmean(np.abs(whole.values - y)))
    return rows, everything.values.copy()


def _shown(choice: Choice) -> str:
    parts = ", ".join(f"{name} {100 * weight:.0f} %" for name, weight in choice.weights.items())
    return f"the average of {parts}" if len(choice.weights) > 1 else f"{next(iter(choice.weights))} alone"
