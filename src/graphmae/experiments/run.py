"""One recipe × seeds → a `Result`, with everything it took in one folder (see `folder`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from .. import data as datasets
from .. import evaluation, methods, pretrained
from ..config import Published, Recipe
from ..data import Dataset
from ..data.sources import sha256
from ..registry import import_parts
from ..results import Result, shown
from ..runtime.alone import alone
from ..runtime.compiled import limit_threads
from ..runtime.device import resolve_device
from ..runtime.environment import commit, cpu_count, hardware, peak_bytes, versions
from ..runtime.errors import InputError
from ..runtime.files import as_path
from ..runtime.processes import in_processes
from ..runtime.ranks import check_alone, resumes
from ..runtime.seed import check_seeds, preserved_randomness
from ..runtime.turns import side_by_side
from ..training import distributed, quiet
from ..training.distributed import ALONE, Ranks
from ..training.progress import Display
from . import finetune as transfer
from .folder import RunFolder
from .memory import check_memory
from .pretrain import build, check, computing, pretrain

logger = logging.getLogger("graphmae")


def run(
    recipe: Recipe,
    seeds: Iterable[int],
    out: str | Path,
    *,
    root: str | Path | None = None,
    device: str | torch.device = "auto",
    resume: bool = False,
    force: bool = False,
    jobs: int = 1,
    imports: Sequence[str] = (),
    display: Display = quiet,
) -> Result:
    """Pre-train and evaluate once per seed. Nothing is written before recipe and data are known to be sound.

    `jobs` is how many seeds run at a time. On CUDA they share this process and take turns; on the CPU each has a
    process of its own, where `imports` names the files that register parts. Under torchrun all processes pre-train one
    seed after the other together, and rank 0 evaluates.
    """
    seeds, device = check_seeds(seeds), resolve_device(device)
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    ranks, resume = distributed.connect(device), resumes(resume)
    if ranks.size > 1 and jobs > 1:
        raise InputError("--jobs starts processes of its own; under torchrun, leave it at 1")
    jobs = min(jobs, len(seeds))
    methods.check(recipe)
    dataset = datasets.load(recipe.data.name, root, **recipe.data.options)
    dataset.check_labels()
    published = recipe.published  # of the settings asked for; what follows only fits them to the data
    recipe, prepare = _task(recipe, dataset, device, resume, jobs, ranks)
    folder = RunFolder(as_path(out, "out"))
    with folder.claim(recipe.to_dict(), resume, _inputs(recipe, dataset), force):
        dataset.write_records(folder.path)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        pending = ranks.agree([seed for seed in seeds if not folder.seed(seed).read_scores()])
        for seed in set(seeds) - set(pending) if ranks.is_first else ():
            folder.seed(seed).delete_states()  # in case the run was killed right after the seed's scores were written
        if jobs > 1 and device.type == "cpu":
            prepare(())  # what all seeds share is made once, and found by the others
            _in_processes(recipe, pending, folder.path, root, device, jobs, imports, resume)
        elif pending:
            with alone(), computing(recipe.train, device):
                seen = display if jobs == 1 and ranks.is_first else quiet
                finish = partial(_finish_seed, recipe, dataset, prepare(pending), folder, device, seen, ranks)
                if jobs == 1:
                    for seed in pending:
                        finish(seed)
                else:
                    for _ in side_by_side([partial(finish, seed) for seed in pending], device, jobs):
                        pass
        runs = ranks.agree([folder.seed(seed).read_scores() for seed in seeds])
        code = {name: ", ".join(digests) for name, digests in folder.read_code().items()}
        result = replace(_result_of(recipe, dataset, runs, device, published), code=code)
        if ranks.is_first:
            folder.write_result(result)
        ranks.wait()
    return result


def _inputs(recipe: Recipe, dataset: Dataset) -> dict[str, str]:
    """Digests of what the recipe only names."""
    found = {"molecules": dataset.digest()}
    if recipe.finetune is not None and recipe.finetune.checkpoint:
        found["checkpoint"] = sha256(pretrained.find_checkpoint(recipe.finetune.checkpoint) / "model.safetensors")
    return {name: digest for name, digest in found.items() if digest}


def _finish_seed(
    recipe: Recipe,
    dataset: Dataset,
    run_seed: Callable[..., dict[str, Any]],
    folder: RunFolder,
    device: torch.device,
    display: Display,
    ranks: Ranks,
    seed: int,
) -> None:
    """Run one seed; its scores are written last, so a seed that has them is finished."""
    own = folder.seed(seed)
    with preserved_randomness(seed), computing(recipe.train, device):  # again: side by side each has its own thread
        scores = run_seed(seed=seed, folder=own, device=device, display=display)
    if not ranks.is_first:
        return
    own.write_scores({**scores, "commit": commit()})
    own.delete_states()
    _announce(scores, recipe, dataset)


def _result_of(
    recipe: Recipe, dataset: Dataset, runs: list[dict[str, Any]], device: torch.device, published: Published | None
) -> Result:
    return Result(
        recipe=recipe.id,
        metric=dataset.metric,
        rule=recipe.evaluation.rule,
        runs=runs,
        published=None if published is None else _without_digest(published),
        config=recipe.to_dict(),
        data={"name": dataset.name, **dict(dataset.summary())},
        seconds=sum(run["seconds"] for run in runs),
        peak_bytes=max(run["peak_bytes"] for run in runs),
        hardware=hardware(str(device)),
        versions=versions(),
        commit=", ".join(dict.fromkeys(run["commit"] for run in runs if run.get("commit"))),  # resumed: several
    )


def _without_digest(published: Published) -> dict[str, Any]:
    return {key: value for key, value in asdict(published).items() if key != "settings"}


def _task(
    recipe: Recipe, dataset: Any, device: torch.device, resume: bool, jobs: int = 1, ranks: Ranks = ALONE
) -> tuple[Recipe, Callable[[Sequence[int]], Callable[..., dict[str, Any]]]]:
    """The recipe as it is run on this data, and what prepares some seeds and gives the function that runs one."""
    if dataset.task == "molecule" or recipe.supervised is not None:
        check_alone("training with labels")
    if dataset.task == "molecule":
        recipe, network = transfer.starting_point(recipe, dataset)
        check_memory(dataset, recipe, device, jobs)

        def prepare_targets(seeds: Sequence[int]) -> Callable[..., dict[str, Any]]:
            transfer.fingerprint_rows(recipe, dataset)
            shared = transfer.frozen_row(recipe, network, dataset, device) if seeds else {}
            return partial(transfer.run_seed, recipe, network, dataset, shared, resume=resume)

        return recipe, prepare_targets
    check_memory(dataset, recipe, device, jobs)
    if recipe.supervised is not None:
        settings = replace(recipe.evaluation, rule="best-validation")
        recipe = replace(recipe, evaluation=settings)
        return recipe, lambda seeds: partial(_run_supervised, recipe, dataset)
    evaluator = evaluation.evaluator_for(dataset, recipe.evaluation, device)
    recipe = replace(recipe, evaluation=evaluator.settings)
    with preserved_randomness():
        check(build(recipe, dataset), dataset, recipe.train)  # refused now what would fail later

    def prepare(seeds: Sequence[int]) -> Callable[..., dict[str, Any]]:
        if ranks.is_first:
            evaluator.prepare(seeds)
        return partial(_run_seed, recipe, dataset, evaluator, resume=resume, ranks=ranks)

    return recipe, prepare


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
    for seed in in_processes(_one_seed, work, jobs, _prepare_process, (list(imports), share)):
        logger.info("%s, seed %d is done", recipe.id, seed)


def _prepare_process(imports: list[str], threads: int) -> None:
    import_parts(imports)
    limit_threads(threads)


def _one_seed(task: tuple[Recipe, int, Path, str | Path | None, str, bool]) -> int:
    """In a process of its own; the parent holds the folder of the run."""
    recipe, seed, out, root, name, resume = task
    device = resolve_device(name)
    dataset = datasets.load(recipe.data.name, root, **recipe.data.options)
    recipe, prepare = _task(recipe, dataset, device, resume)
    with computing(recipe.train, device):
        _finish_seed(recipe, dataset, prepare([seed]), RunFolder(out), device, quiet, ALONE, seed)
    return seed


def _run_supervised(
    recipe: Recipe, dataset: Dataset, seed: int, folder: RunFolder, device: torch.device, display: Display
) -> dict[str, Any]:
    return evaluation.run_supervised(recipe, dataset, seed, device)


def _run_seed(
    recipe: Recipe,
    dataset: Dataset,
    evaluator: evaluation.Evaluator,
    seed: int,
    folder: RunFolder,
    device: torch.device,
    resume: bool,
    display: Display,
    ranks: Ranks,
) -> dict[str, Any]:
    model = build(recipe, dataset, seed)
    fresh, quick, every = partial(pretrained.fresh_encoder, model), evaluator.quick(), recipe.evaluation.every

    def probe(epoch: int) -> dict[str, Any] | None:
        if not every or epoch % every:
            return None
        return {"probe": quick.rows(model.reader, fresh, [seed])[0]["pretrained"].scores}

    outcome = pretrain(
        model,
        dataset,
        recipe.train,
        device,
        folder=folder,
        resume=resume,
        display=display,
        label=f"{recipe.id}, seed {seed}",
        after_epoch=[probe],
        ranks=ranks,
    )
    if not ranks.is_first:
        return {}
    began = time.monotonic()
    table = evaluator.tables(model.reader, fresh, [seed])[0]
    return {
        "seed": seed,
        "seconds": outcome.seconds + time.monotonic() - began,
        "pretrain_seconds": outcome.seconds,
        "peak_bytes": peak_bytes(str(device)),
        "loss": outcome.loss,
        **{key: model.trained_on[key] for key in ("epochs", "ended") if key in model.trained_on},
        **table,
    }


def _announce(run: dict[str, Any], recipe: Recipe, dataset: Dataset) -> None:
    rule = recipe.evaluation.rule
    scores = ", ".join(f"{row} {shown(values[rule], dataset.metric)}" for row, values in run["rows"].items())
    logger.info("%s, seed %d: %s %s (%.0f s)", recipe.id, run["seed"], dataset.metric, scores, run["seconds"])
