"""One recipe × seeds → a `Result`, with everything it took in one folder (see `folder`)."""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from .. import data as data_room
from .. import evaluation, methods, pretrained
from ..config import Evaluation, Recipe
from ..data import GraphSet, NodeDataset
from ..data.molecules import Assay
from ..registry import import_parts
from ..results import Result, shown
from ..runtime.compiled import limit_threads
from ..runtime.device import numerics, resolve_device
from ..runtime.environment import commit, cpu_count, hardware, peak_bytes, versions
from ..runtime.errors import InputError
from ..runtime.seed import check_seeds, preserved_randomness
from ..runtime.turns import side_by_side
from ..training import quiet
from ..training.progress import Display
from . import finetune as transfer
from .folder import RunFolder
from .pretrain import check_features, facts_of, train

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
    """Pre-train and evaluate once per seed. Nothing is written before recipe and data are known to be sound.

    `jobs` is how many seeds run at a time. On CUDA they share this process and take turns; on the CPU each has a
    process of its own, where `imports` names the files that register parts.
    """
    seeds, place = check_seeds(seeds), resolve_device(device)
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    jobs = min(jobs, len(seeds))
    methods.check(recipe)
    dataset = data_room.load(recipe.data.name, root, **recipe.data.options)
    dataset.check_labels()
    recipe, prepare = _task(recipe, dataset, place, resume)
    folder = RunFolder(Path(out))
    with folder.claim(recipe.to_dict(), resume):
        if place.type == "cuda":
            torch.cuda.reset_peak_memory_stats(place)
        pending = [seed for seed in seeds if not (resume and folder.seed(seed).read_scores())]
        if jobs > 1 and place.type == "cpu":
            prepare(())  # what all seeds share is made once, and found by the others
            _in_processes(recipe, pending, folder.path, root, place, jobs, imports, resume)
        elif pending:
            with numerics(place, recipe.train.precision):
                finish = partial(
                    _finish_seed, recipe, dataset, prepare(pending), folder, place, display if jobs == 1 else quiet
                )
                if jobs == 1:
                    for seed in pending:
                        finish(seed)
                else:
                    for _ in side_by_side([partial(finish, seed) for seed in pending], place, jobs):
                        pass
        result = _result_of(recipe, dataset, [folder.seed(seed) for seed in seeds], place)
        folder.write_result(result)
    return result


def _finish_seed(
    recipe: Recipe,
    dataset: NodeDataset | GraphSet | Assay,
    run_seed: Callable[..., dict[str, Any]],
    folder: RunFolder,
    device: torch.device,
    display: Display,
    seed: int,
) -> None:
    """Run one seed; its scores are written last, so a seed that has them is finished."""
    own = folder.seed(seed)
    with preserved_randomness(seed):
        scores = run_seed(seed=seed, folder=own, device=device, display=display)
    own.write_scores({**scores, "commit": commit()})
    own.state.delete()
    _announce(scores, recipe, dataset)


def _result_of(
    recipe: Recipe, dataset: NodeDataset | GraphSet | Assay, seeds: Sequence[RunFolder], device: torch.device
) -> Result:
    runs = [scores for seed in seeds if (scores := seed.read_scores()) is not None]
    assert len(runs) == len(seeds)
    return Result(
        recipe=recipe.id,
        metric=dataset.metric,
        rule=recipe.evaluation.rule,
        runs=runs,
        published=recipe.to_dict().get("published"),
        config=recipe.to_dict(),
        data={"name": dataset.name, **dict(dataset.summary())},
        seconds=sum(run["seconds"] for run in runs),
        peak_bytes=max(run["peak_bytes"] for run in runs),
        hardware=hardware(str(device)),
        versions=versions(),
        commit=", ".join(dict.fromkeys(run["commit"] for run in runs if run.get("commit"))),  # resumed: several
    )


def _task(
    recipe: Recipe, dataset: NodeDataset | GraphSet | Assay, device: torch.device, resume: bool
) -> tuple[Recipe, Callable[[Sequence[int]], Callable[..., dict[str, Any]]]]:
    """The recipe as it is run on this data, and what prepares some seeds and gives the function that runs one."""
    if isinstance(dataset, Assay):
        recipe, network = transfer.starting_point(recipe, dataset)

        def prepare_assay(seeds: Sequence[int]) -> Callable[..., dict[str, Any]]:
            transfer.fingerprint_rows(recipe, dataset)
            shared = transfer.frozen_row(recipe, network, dataset, device) if seeds else {}
            return partial(transfer.run_seed, recipe, network, dataset, shared)

        return recipe, prepare_assay
    if recipe.supervised is not None:
        settings = replace(recipe.evaluation, rule="best-validation")
        recipe = replace(recipe, evaluation=settings)
        return recipe, lambda seeds: partial(_run_supervised, recipe, dataset)
    recipe = judged_by(recipe, dataset)
    _check_before(recipe, dataset)

    def prepare(seeds: Sequence[int]) -> Callable[..., dict[str, Any]]:
        raw: dict[int, dict[str, float]] = {}
        if isinstance(dataset, NodeDataset) and "raw" in recipe.evaluation.baselines and seeds:
            with numerics(device):
                scores = evaluation.raw_scores(dataset, recipe.evaluation, seeds, device)
            raw = dict(zip(seeds, scores, strict=True))
        return partial(_run_seed, recipe, dataset, raw, resume=resume)

    return recipe, prepare


def _check_before(recipe: Recipe, dataset: NodeDataset | GraphSet) -> None:
    """Everything that would fail in training, and what could not be stored, is refused now."""
    with preserved_randomness():
        network = methods.build(recipe, dataset.in_channels)
        methods.rehearse(network)
        check_features(network, dataset.pretrain_graphs(), dataset.name)
        pretrained.describe(network)


def judged_by(recipe: Recipe, dataset: NodeDataset | GraphSet) -> Recipe:
    """The recipe with the rule and the baselines that fit the data."""
    if isinstance(dataset, GraphSet):
        assert dataset.y is not None
        evaluation.check_folds(dataset.y.numpy())
    return replace(recipe, evaluation=evaluation.fitted_to(recipe.evaluation, dataset))


def _in_processes(
    recipe: Recipe,
    seeds: Sequence[int],
    out: Path,
    root: str | Path | None,
    device: torch.device,
    jobs: int,
    imports: Sequence[str],
    resume: bool,
) -> None:
    """One seed per task, `jobs` at a time; each writes into its own folder and nothing else."""
    work = [(recipe, seed, out, root, str(device), resume) for seed in seeds]
    share = max(1, cpu_count() // jobs)
    with multiprocessing.get_context("spawn").Pool(jobs, _prepare_process, (list(imports), share)) as pool:
        for seed in pool.imap_unordered(_one_seed, work):
            logger.info("%s, seed %d is done", recipe.id, seed)


def _prepare_process(imports: list[str], threads: int) -> None:
    import_parts(imports)
    limit_threads(threads)


def _one_seed(task: tuple[Recipe, int, Path, str | Path | None, str, bool]) -> int:
    """In a process of its own; the parent holds the folder of the run."""
    recipe, seed, out, root, device, resume = task
    place = resolve_device(device)
    dataset = data_room.load(recipe.data.name, root, **recipe.data.options)
    recipe, prepare = _task(recipe, dataset, place, resume)
    with numerics(place, recipe.train.precision):
        _finish_seed(recipe, dataset, prepare([seed]), RunFolder(out), place, quiet, seed)
    return seed


def _run_supervised(
    recipe: Recipe,
    dataset: NodeDataset | GraphSet,
    seed: int,
    folder: RunFolder,
    device: torch.device,
    display: Display,
) -> dict[str, Any]:
    return evaluation.run_supervised(recipe, dataset, seed, device)


def _run_seed(
    recipe: Recipe,
    dataset: NodeDataset | GraphSet,
    raw: Mapping[int, dict[str, float]],
    seed: int,
    folder: RunFolder,
    device: torch.device,
    resume: bool,
    display: Display,
) -> dict[str, Any]:
    quick = replace(recipe.evaluation, baselines=(), converged=False, choose=False)  # between epochs: the score alone
    network = methods.build(recipe, dataset.in_channels)
    network.inputs, network.trained_on = dict(dataset.treatment), facts_of(dataset, recipe.train, seed)

    make_encoder = partial(pretrained.fresh_encoder, network)

    def judged(settings: Evaluation) -> dict[str, Any]:
        with numerics(device):  # embeddings and probes in float32, whatever the training's precision
            if isinstance(dataset, GraphSet):
                return evaluation.judge_graphs(network.encoder, make_encoder, dataset, settings, seed, device)._asdict()
            rows = evaluation.judge(network.encoder, make_encoder, dataset, settings, seed, device, raw.get(seed))
            return {"rows": rows}

    def probe(epoch: int) -> dict[str, Any] | None:
        if not quick.every or epoch % quick.every:
            return None
        return {"probe": judged(quick)["rows"]["pretrained"]}

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
    found = judged(recipe.evaluation)
    pretrained.save(network, folder.path)
    return {
        "seed": seed,
        "seconds": outcome.seconds + time.monotonic() - began,
        "pretrain_seconds": outcome.seconds,
        "peak_bytes": peak_bytes(str(device)),
        "loss": outcome.loss,
        **found,
    }


def _announce(run: dict[str, Any], recipe: Recipe, dataset: NodeDataset | GraphSet | Assay) -> None:
    rule = recipe.evaluation.rule
    scores = ", ".join(f"{row} {shown(values[rule], dataset.metric)}" for row, values in run["rows"].items())
    logger.info("%s, seed %d: %s %s (%.0f s)", recipe.id, run["seed"], dataset.metric, scores, run["seconds"])
