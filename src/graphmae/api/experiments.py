"""Experiments: recipes, runs, the tables of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import config, methods
from ..config import Recipe
from ..experiments import reproduce as reproduction
from ..experiments import run as experiment
from ..experiments.folder import RunFolder
from ..reporting import Comparison
from ..results import Result
from ..runtime.device import with_torch_defaults
from ..training import Progress, quiet
from .reporting import report_of


def recipe(source: str | Path | Mapping[str, Any], *overrides: str) -> Recipe:
    """A checked recipe: a published one by id, a TOML file, or a dictionary.

    >>> recipe("node/cora").override("mask.rate=0.75").mask.options["rate"]
    0.75
    """
    made = config.load(source, overrides)
    methods.check(made)
    return made


def recipes() -> list[str]:
    """Ids of the recipes that come with graphmae."""
    return config.names()


@with_torch_defaults
def run(
    source: str | Path | Mapping[str, Any] | Recipe,
    seeds: Iterable[int] = (0,),
    out: str | Path | None = None,
    *,
    overrides: Iterable[str] = (),
    data_root: str | Path | None = None,
    device: str = "auto",
    resume: bool = False,
    force: bool = False,
    jobs: int = 1,
    imports: Sequence[str] = (),
    report: bool = False,
    progress: bool = True,
) -> Result:
    """Run an experiment: pre-train and evaluate once per seed, leave everything in `out`, with `report` a page too.

    `jobs` seeds run at a time: on CUDA in this process, on the CPU in processes of their own (call it under
    `if __name__ == "__main__":` then), where `imports` names the files that register parts of your own.

    >>> result = run("node/cora", seeds=range(20), out="runs/cora")  # doctest: +SKIP
    >>> result.mean, result.std  # doctest: +SKIP
    """
    made = source.override(*overrides) if isinstance(source, Recipe) else recipe(source, *overrides)
    folder = RunFolder.of(out, made.id, resume)
    result = experiment.run(
        made,
        seeds,
        folder.path,
        root=data_root,
        device=device,
        resume=resume,
        force=force,
        jobs=jobs,
        imports=imports,
        display=Progress() if progress else quiet,
    )
    if report:
        report_of(folder.path, data_root=data_root, device=device)
    return result


@with_torch_defaults
def reproduce(
    table: str = "all",
    out: str | Path = "runs/reproduce",
    *,
    only: Iterable[str] = (),
    seeds: int | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
    jobs: int = 1,
    progress: bool = True,
) -> dict[str, Comparison]:
    """Run what a table of the paper needs ("node", "graph", "molecule", "ablation" or "all") and is not finished in
    `out`; returns the tables, which are also written there. See `graphmae reproduce --help`.

    >>> tables = reproduce("node", "runs/reproduce")  # doctest: +SKIP
    >>> print(tables["node"].text())  # doctest: +SKIP
    """
    display = Progress() if progress else quiet
    wanted = reproduction.reproduce(
        table, out, device, only=only, seeds=seeds, root=data_root, jobs=jobs, display=display
    )
    return reproduction.written_tables(wanted, Path(out))
