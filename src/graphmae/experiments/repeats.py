"""The same experiment on several splits of one assay, or on growing training parts: what a single split cannot say."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import data as datasets
from ..config import Part, Recipe
from ..data.molecules.assay import known_already
from ..results import Result
from ..runtime.errors import ConfigError, InputError
from ..runtime.files import as_path, write_json
from ..runtime.seed import check_seeds
from ..training import quiet
from ..training.progress import Display
from .folder import RunFolder
from .run import run

BALANCED = {"scaffold": "scaffold-balanced", "scaffold-balanced": "scaffold-balanced", "random": "random"}
SIZES = (0.1, 0.25, 0.5, 1.0)  # of the training part


def run_repeats(
    recipe: Recipe,
    seeds: Iterable[int],
    out: str | Path,
    *,
    device: str = "auto",
    resume: bool = False,
    force: bool = False,
    display: Display = quiet,
) -> Result:
    """`data.repeats` splits of the molecules, each a run of its own in OUT/repeat-K; one `Result` over all of them.

    The split of repeat K is drawn by K: scaffolds stay together, or molecules are drawn at random. An entry of the
    result's `runs` is a repeat, its scores the means over `seeds`. The intervals of means allow for the overlap of the
    training parts (Nadeau & Bengio 2003).
    """
    options, seeds = dict(recipe.data.options), check_seeds(seeds)
    count = options.pop("repeats", 0)
    split = options.get("split", "scaffold")
    if count < 2:
        raise ConfigError(f"data.repeats must be at least 2, not {count}")
    if split not in BALANCED:
        raise InputError(f"data.repeats draws splits by scaffold or at random; {split!r} is one split")
    folder, results = RunFolder(as_path(out, "out")), []
    with folder.claim(recipe.to_dict(), resume, force=force):
        for number in range(count):
            part = Part(recipe.data.name, {**options, "split": BALANCED[split], "split_seed": number})
            where = folder.path / f"repeat-{number}"
            once = recipe.finetune and replace(recipe.finetune, refit=recipe.finetune.refit and number == 0)
            with known_already() if number else nullcontext():
                results.append(
                    run(
                        replace(recipe, data=part, finetune=once), seeds, where, device=device, display=display,
                        resume=resume and RunFolder(where).holds_run, force=force,
                    )
                )  # fmt: skip
        result = _together(recipe, results)
        folder.write_result(result)
    return result


def _together(recipe: Recipe, results: Sequence[Result]) -> Result:
    first = results[0]
    runs = [{**_mean_of(result.runs), "seed": number} for number, result in enumerate(results)]
    overlap = statistics.fmean(result.data["test"] / result.data["train"] for result in results)
    return replace(
        first,
        runs=runs,
        config=recipe.to_dict(),
        data={**first.data, "repeats": len(results), "overlap": overlap},
        seconds=sum(result.seconds for result in results),
        peak_bytes=max(result.peak_bytes for result in results),
    )


def _mean_of(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One entry for the seeds of a repeat: scores are means, times sums."""
    numbers = ("seconds", "pretrain_seconds")
    return {
        **{key: sum(run[key] for run in runs) for key in numbers},
        "peak_bytes": max(run["peak_bytes"] for run in runs),
        "loss": None,
        "rows": _means([run["rows"] for run in runs]),
        **({"tasks": _means([run["tasks"] for run in runs])} if all("tasks" in run for run in runs) else {}),
    }


def _means(values: Sequence[Any]) -> Any:
    """The mean of numbers, key by key in nested dictionaries, over the keys all of them have."""
    if not isinstance(values[0], dict):
        return statistics.fmean(values)
    shared = [key for key in values[0] if all(key in value for value in values)]
    return {key: _means([value[key] for value in values]) for key in shared}


def learning_curve(
    recipe: Recipe,
    seeds: Iterable[int],
    out: str | Path,
    sizes: Sequence[float | int] = SIZES,
    *,
    device: str = "auto",
    resume: bool = False,
    force: bool = False,
    display: Display = quiet,
) -> list[dict[str, Any]]:
    """The score against the number of molecules that are trained on; each size is a run of its own in OUT/train-N.

    `sizes` are shares of the training part (1.0: all of it) or numbers of molecules, as in scikit-learn. A smaller
    training part is the beginning of a larger one in a random order, so the curve is of one growing set; the
    validation part shrinks with it, the test part stays the same. A point: {"train", "metric", "mean", "std", "scores",
    "metrics", "baselines"}.
    """
    whole = len(datasets.load(recipe.data.name, **recipe.data.options).split["train"])
    folder, points, seeds = RunFolder(as_path(out, "out")), [], check_seeds(seeds)
    counts = sorted({_count(size, whole) for size in sizes})
    with folder.claim(recipe.to_dict(), resume, force=force):
        for count in counts:
            part = Part(recipe.data.name, {**recipe.data.options, "train_size": count})
            where = RunFolder(folder.path / f"train-{count}")
            with known_already():
                result = run(
                    replace(recipe, data=part), seeds, where.path, device=device, display=display,
                    resume=resume and where.holds_run, force=force,
                )  # fmt: skip
            points.append(_point(count, result.summary()))
        write_json(folder.path / "curve.json", {"points": points})
    return points


def _point(count: int, summary: dict[str, Any]) -> dict[str, Any]:
    return {
        "train": count,
        **{key: summary[key] for key in ("metric", "mean", "std", "scores")},
        "metrics": {name: entry["mean"] for name, entry in summary.get("metrics", {}).items()},
        "baselines": {name: entry["mean"] for name, entry in summary["baselines"].items()},
    }


def _count(size: float | int, whole: int) -> int:
    """A share of the training part, or a number of molecules, as a number of molecules."""
    if isinstance(size, float) and 0 < size <= 1:
        return max(1, round(size * whole))
    if isinstance(size, int) and 0 < size <= whole:
        return size
    raise InputError(f"a size must be a share in (0, 1], or a number of molecules up to {whole}, not {size!r}")
