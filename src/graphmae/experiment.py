"""One recipe × seeds → a `Result`, with everything it took in one folder.

out/recipe.json          the resolved recipe
out/result.json          all scores
out/seed-0/              a checkpoint: config.json, model.safetensors, README.md
out/seed-0/metrics.jsonl one line an epoch
out/seed-0/scores.json   this seed's rows; a seed that has it is finished
"""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from . import data as data_room
from . import evaluation, model, pretrained, transfer
from .config import Evaluation, Recipe
from .data import GraphSet, NodeDataset
from .data.molecules import Assay
from .pretraining import check_features, facts_of, forget_state, train
from .registry import import_parts
from .results import Result, claim_folder, read_json, shown, write_json
from .runtime.compiled import limit_threads
from .runtime.device import numerics, resolve_device
from .runtime.environment import cpu_count, hardware, peak_bytes, versions
from .runtime.errors import InputError
from .runtime.seed import check_seeds, preserved_randomness
from .training import quiet
from .training.progress import Display

STATE = "state.safetensors"
logger = logging.getLogger("graphmae")


def run(
    recipe: Recipe,
    seeds: Iterable[int],
    out: str | Path,
    *,
    root: str | Path | None = None,
    device: str | torch.device = "auto",
    resume: bool = False,
    jobs: int = 1,
    imports: Sequence[str] = (),
    display: Display = quiet,
) -> Result:
    """Pre-train and evaluate once a seed. Nothing is written before recipe and data are known to be sound.

    With `jobs`, so many seeds run side by side in processes of their own, which pays on a GPU that one small graph
    leaves idle; `imports` names the files that register parts there.
    """
    seeds, out, place = check_seeds(seeds), Path(out), resolve_device(device)
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    model.check(recipe)
    dataset = data_room.load(recipe.data.name, root, **recipe.data.options)
    dataset.check_labels()
    if isinstance(dataset, Assay):
        recipe, network = transfer.starting_point(recipe, dataset)
        run_seed: Callable[..., dict[str, Any]] = partial(transfer.run_seed, recipe, network, dataset)
    else:
        recipe = judged_by(recipe, dataset)
        _check_before(recipe, dataset)
        run_seed = partial(_run_seed, recipe, dataset, resume=resume)
    claim_folder(out, recipe.to_dict(), resume)
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats(place)
    if isinstance(dataset, Assay):
        transfer.fingerprint_rows(recipe, dataset)

    if jobs > 1 and len(seeds) > 1:
        _side_by_side(recipe, seeds, out, root, place, min(jobs, len(seeds)), imports)
        resume = True  # all that is left is to read what they wrote
    runs = []
    for seed in seeds:
        folder = out / f"seed-{seed}"
        finished = folder / "scores.json"
        if not (resume and finished.is_file()):
            with preserved_randomness(seed), numerics(place, recipe.train.precision):
                scores = run_seed(seed=seed, folder=folder, device=place, display=display)
            write_json(finished, scores)
            forget_state(folder)
        runs.append(read_json(finished))
        _announce(runs[-1], recipe, dataset)
    result = Result(
        recipe=recipe.id,
        metric=dataset.metric,
        rule=recipe.evaluation.rule,
        runs=runs,
        published=recipe.to_dict().get("published"),
        config=recipe.to_dict(),
        data={"name": dataset.name, **dict(dataset.summary())},
        seconds=sum(run["seconds"] for run in runs),
        peak_bytes=max(run["peak_bytes"] for run in runs),
        hardware=hardware(str(place)),
        versions=versions(),
    )
    result.save(out / "result.json")
    return result


def _check_before(recipe: Recipe, dataset: NodeDataset | GraphSet) -> None:
    """Everything that would fail in training, and what could not be stored, is refused now."""
    with preserved_randomness():
        network = model.build(recipe, dataset.in_channels)
        model.rehearse(network)
        check_features(network, dataset.pretrain_graphs(), dataset.name)
        pretrained.describe(network)


def judged_by(recipe: Recipe, dataset: NodeDataset | GraphSet) -> Recipe:
    """The recipe with a rule that fits the data: sets of graphs are judged in ten folds, single graphs are not."""
    if isinstance(dataset, GraphSet):
        assert dataset.y is not None
        evaluation.check_folds(dataset.y.numpy())
        return replace(recipe, evaluation=replace(recipe.evaluation, rule="folds"))
    if recipe.evaluation.rule == "folds":
        raise InputError(f"evaluation.rule = 'folds' is for sets of graphs; {dataset.name} is judged by 'last'")
    return recipe


def _side_by_side(
    recipe: Recipe,
    seeds: Sequence[int],
    out: Path,
    root: str | Path | None,
    device: torch.device,
    jobs: int,
    imports: Sequence[str],
) -> None:
    """One seed a task, `jobs` at a time; each leaves its scores.json behind."""
    work = [(recipe, seed, out, root, str(device)) for seed in seeds]
    share = max(1, cpu_count() // jobs)
    with multiprocessing.get_context("spawn").Pool(jobs, _prepare_process, (list(imports), share)) as pool:
        for seed in pool.imap_unordered(_one_seed, work):
            logger.info("%s, seed %d is done", recipe.id, seed)


def _prepare_process(imports: list[str], threads: int) -> None:
    import_parts(imports)
    limit_threads(threads)


def _one_seed(task: tuple[Recipe, int, Path, str | Path | None, str]) -> int:
    recipe, seed, out, root, device = task
    run(recipe, [seed], out, root=root, device=device, resume=True)
    return seed


def _run_seed(
    recipe: Recipe,
    dataset: NodeDataset | GraphSet,
    seed: int,
    folder: Path,
    device: torch.device,
    resume: bool,
    display: Display,
) -> dict[str, Any]:
    quick = replace(recipe.evaluation, baselines=())
    network = model.build(recipe, dataset.in_channels)
    network.inputs, network.trained_on = dict(dataset.treatment), facts_of(dataset, recipe.train, seed)

    make_encoder = partial(pretrained.fresh_encoder, network)

    def judged(settings: Evaluation) -> dict[str, dict[str, float]]:
        if isinstance(dataset, GraphSet):
            return evaluation.judge_graphs(network.encoder, make_encoder, dataset, settings, seed, device)
        return evaluation.judge(network.encoder, make_encoder, dataset, settings, seed, device)

    def probe(epoch: int) -> dict[str, Any] | None:
        if not quick.every or epoch % quick.every:
            return None
        return {"probe": judged(quick)["pretrained"]}

    outcome = train(
        network,
        dataset.pretrain_graphs(),
        recipe.train,
        folder,
        device,
        resume=resume,
        display=display,
        label=f"{recipe.id}, seed {seed}",
        after_epoch=probe,
    )
    began = time.monotonic()
    rows = judged(recipe.evaluation)
    pretrained.save(network, folder)
    return {
        "seed": seed,
        "seconds": outcome.seconds + time.monotonic() - began,
        "pretrain_seconds": outcome.seconds,
        "peak_bytes": peak_bytes(str(device)),
        "loss": outcome.loss,
        "rows": rows,
    }


def _announce(run: dict[str, Any], recipe: Recipe, dataset: NodeDataset | GraphSet | Assay) -> None:
    rule = recipe.evaluation.rule
    scores = ", ".join(f"{row} {shown(values[rule], dataset.metric)}" for row, values in run["rows"].items())
    logger.info("%s, seed %d: %s %s (%.0f s)", recipe.id, run["seed"], dataset.metric, scores, run["seconds"])
