"""From a pre-trained encoder to measured targets: one seed of fine-tuning, with its baselines."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from .. import evaluation, pretrained
from ..config import Finetune, Recipe
from ..data.molecules import Assay
from ..finetuning import Predictor, finetune_predictor, fit_automatic, predict_graphs
from ..methods import Method
from ..runtime.environment import peak_bytes
from ..runtime.errors import ConfigError, InputError
from ..runtime.seed import preserved_randomness
from ..training import Journal, quiet
from ..training.progress import Display
from .folder import RunFolder


def starting_point(recipe: Recipe, assay: Assay) -> tuple[Recipe, Method]:
    """The checkpoint a recipe fine-tunes, and the recipe with the parts that checkpoint was made of."""
    settings = settings_of(recipe)
    if not settings.checkpoint:
        raise ConfigError(
            f"{recipe.id} fine-tunes a pre-trained model: say which with --set finetune.checkpoint=FOLDER; "
            "graphmae pretrain zinc-moses (or your own .smi file) makes one",
        )
    network = pretrained.load(settings.checkpoint)
    if network.inputs.get("features") != "molecule":
        raise InputError(
            f"{settings.checkpoint} was not pre-trained on molecules; pre-train on SMILES: graphmae pretrain file.smi"
        )
    parts: dict[str, Any] = {**dict.fromkeys(("decoder", "mask", "loss")), **pretrained.parts_of(network)}
    rule = "test" if settings.members else settings.rule
    recipe = replace(recipe, **parts, evaluation=replace(recipe.evaluation, rule=rule))
    assay.check_split()
    return recipe, network


def settings_of(recipe: Recipe) -> Finetune:
    if recipe.finetune is None:
        raise ConfigError(
            f"{recipe.id}: an assay is evaluated by fine-tuning, so the recipe needs a [finetune] section"
        )
    settings = recipe.finetune
    return settings if settings.epochs or settings.members else replace(settings, epochs=100)


def fingerprint_rows(recipe: Recipe, assay: Assay) -> dict[str, dict[str, float]]:
    """Rows that are the same for every seed; kept beside the molecules, so the second call is free."""
    settings = settings_of(recipe)
    return {
        row: evaluation.fingerprint_scores(assay, row)
        for row in settings.baselines
        if row in evaluation.FINGERPRINT_ROWS and not settings.members
    }


def frozen_row(recipe: Recipe, network: Method, assay: Assay, device: torch.device) -> dict[str, dict[str, float]]:
    """A linear model on the pre-trained embeddings: the same for every seed."""
    settings = settings_of(recipe)
    if "frozen" not in settings.baselines or settings.members:
        return {}
    return {"frozen": evaluation.frozen_scores(network.encoder, assay, settings.readout, device)}


def run_seed(
    recipe: Recipe,
    network: Method,
    assay: Assay,
    shared: Mapping[str, dict[str, float]],
    seed: int,
    folder: RunFolder,
    device: torch.device,
    resume: bool = False,
    display: Display = quiet,
) -> dict[str, Any]:
    """Fine-tune, score and save; everything of it depends on the seed alone."""
    settings, began = settings_of(recipe), time.monotonic()
    if settings.members:
        return _automatic_seed(recipe, network, assay, seed, folder, device, resume)

    def tuned(make: Callable[[], nn.Module], row: str) -> tuple[Predictor, dict[str, float]]:
        with preserved_randomness(seed):
            predictor = Predictor(make(), assay.names, assay.kind, settings.readout, settings.dropout)
            predictor.inputs = dict(assay.treatment)
            label = f"{recipe.id}, {row}, seed {seed}"

            def journal(stage: int, stages: int) -> Journal:
                metrics = folder.metrics if row == "pretrained" and stage == stages else None
                part = label if stages == 1 else f"{label}, stage {stage} of {stages}"
                return Journal(part, display, metrics, state=folder.state_of(f"{row}-{stage}"), resume=resume)

            scores = finetune_predictor(predictor, assay, settings, device, label=label, journal=journal)
        return predictor, scores

    rows = {**fingerprint_rows(recipe, assay), **shared}
    if "frozen" in settings.baselines:
        with preserved_randomness(seed):
            fresh = evaluation.settled(pretrained.fresh_encoder(network), assay, device)
            rows["frozen-untrained"] = evaluation.frozen_scores(fresh, assay, settings.readout, device)
    if "scratch" in settings.baselines:
        rows["scratch"] = tuned(lambda: pretrained.fresh_encoder(network), "scratch")[1]
    predictor, rows["pretrained"] = tuned(lambda: copy.deepcopy(network.encoder), "pretrained")
    facts = {
        "assay": assay.name,
        "molecules": len(assay.split["train"]),
        "chosen_by": settings.rule,
        "split": assay.division,
        "seed": seed,
        "pre_trained_model": dict(network.trained_on) or settings.checkpoint,
    }
    answers = predict_graphs(predictor, assay.graphs(), device).numpy()
    pretrained.save_predictor(predictor, folder.path, assay.metric, rows["pretrained"], facts)
    assay.write_answers(answers, folder.path)
    seconds = time.monotonic() - began
    return {
        "seed": seed,
        "seconds": seconds,
        "pretrain_seconds": 0.0,
        "peak_bytes": peak_bytes(str(device)),
        "loss": None,
        "rows": rows,
        "tasks": evaluation.part_scores(assay, answers),
    }


def _automatic_seed(
    recipe: Recipe, network: Method, assay: Assay, seed: int, folder: RunFolder, device: torch.device, resume: bool
) -> dict[str, Any]:
    """One seed of an automatic predictor: its members compared, weighed, scored and saved."""
    settings, began = settings_of(recipe), time.monotonic()
    if not resume:
        folder.delete_states()
    encoder, label = copy.deepcopy(network.encoder), f"{recipe.id}, seed {seed}"
    folder.path.mkdir(parents=True, exist_ok=True)
    found = fit_automatic(encoder, assay, settings, seed, device, folder.path, label)
    token = network.mask_token.detach().clone() if getattr(encoder, "mask_embedding", False) else None  # type: ignore[operator]
    facts = {
        "assay": assay.name,
        "molecules": len(assay.split["train"]) + len(assay.split["val"]),
        "split": assay.division,
        "seed": seed,
        "pre_trained_model": dict(network.trained_on) or settings.checkpoint,
    }
    found.predictor.token = token
    pretrained.save_automatic(found.predictor, folder.path, assay.metric, found.rows, facts)
    assay.write_answers(found.answers, folder.path)
    if found.final is not None:
        found.final.token = token
        count = sum(len(part) for part in assay.split.values())
        whole = facts | {
            "molecules": count,
            "scores": f"before the {len(assay.split['test'])} of the test part were learned from",
        }
        pretrained.save_automatic(
            found.final, RunFolder(folder.path.parent).final(seed).path, assay.metric, found.rows, whole
        )
    return {
        "seed": seed,
        "seconds": time.monotonic() - began,
        "pretrain_seconds": 0.0,
        "peak_bytes": peak_bytes(str(device)),
        "loss": None,
        "chosen": found.predictor.report,
        "rows": found.rows,
        "tasks": evaluation.part_scores(assay, found.answers),
    }
