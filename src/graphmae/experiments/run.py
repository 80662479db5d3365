"""One recipe × seeds → a `Result`, with everything it took in one folder.

out/recipe.json          the resolved recipe
out/result.json          all scores
out/seed-0/              a checkpoint: config.json, model.safetensors, README.md
out/seed-0/metrics.jsonl one line per epoch
out/seed-0/scores.json   this seed's rows (and folds); a seed that has it is finished
"""

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
from .. import evaluation, model, pretrained
from ..config import Evaluation, Recipe
from ..data import GraphSet, NodeDataset
from ..data.molecules import Assay
from ..registry import import_parts
from ..results import Result, claim_folder, read_json, shown, write_json
from ..runtime.compiled import limit_threads
from ..runtime.device import numerics, resolve_device
from ..runtime.environment import commit, cpu_count, hardware, peak_bytes, versions
from ..runtime.errors import InputError
from ..runtime.seed import check_seeds, preserved_randomness
from ..runtime.turns import side_by_side
from ..training import quiet
from ..training.progress import Display
from . import finetune as transfer
from .pretrain import check_features, facts_of, forget_state, train

SCORES = "scores.json"
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
    seeds, out, place = check_seeds(seeds), Path(out), resolve_device(device)
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    jobs = min(jobs, len(seeds))
    model.check(recipe)
    dataset = data_room.load(recipe.data.name, root, **recipe.data.options)
    dataset.check_labels()
    recipe, prepare = _task(recipe, dataset, place, resume)
    claim_folder(out, recipe.to_dict(), resume)
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats(place)

    if jobs > 1 and place.type == "cpu":
        prepare(())  # what all seeds share is made once, and found by the others
        _in_processes(recipe, seeds, out, root, place, jobs, imports)
        resume = True  # all that is left is to read what they wrote
    folders = {seed: out / f"seed-{seed}" for seed in seeds}
    pending = [seed for seed in seeds if not (resume and (folders[seed] / SCORES).is_file())]

    def finish(seed: int) -> None:
        with preserved_randomness(seed):
            scores = run_seed(seed=seed, folder=folders[seed], device=place, display=display if jobs == 1 else quiet)
        write_json(folders[seed] / SCORES, {**scores, "commit": commit()})
        forget_state(folders[seed])
        _announce(scores, recipe, dataset)

    with numerics(place, recipe.train.precision):
        run_seed = prepare(pending) if pending else _nothing
        if jobs == 1:
            for seed in pending:
                finish(seed)
        else:
            for _ in side_by_side([partial(finish, seed) for seed in pending], place, jobs):
                pass
    runs = [read_json(folders[seed] / SCORES) for seed in seeds]
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
        commit=", ".join(dict.fromkeys(run["commit"] for run in runs if run.get("commit"))),  # resumed: several
    )
    result.save(out / "result.json")
    return result


def _nothing(**_: Any) -> dict[str, Any]:
    raise AssertionError("every seed is finished")


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
        return recipe, lambda seeds: partial(evaluation.run_supervised, recipe, dataset)
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
        network = model.build(recipe, dataset.in_channels)
        model.rehearse(network)
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
) -> None:
    """One seed per task, `jobs` at a time; each leaves its scores.json."""
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
    raw: Mapping[int, dict[str, float]],
    seed: int,
    folder: Path,
    device: torch.device,
    resume: bool,
    display: Display,
) -> dict[str, Any]:
    quick = replace(recipe.evaluation, baselines=(), converged=False, choose=False)  # between epochs: the score alone
    network = model.build(recipe, dataset.in_channels)
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
    pretrained.save(network, folder)
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
