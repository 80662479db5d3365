"""Methods side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config import Recipe
from ..experiments import auto
from ..experiments import compare as comparing
from ..reporting.contest import Contest
from ..runtime.device import with_torch_defaults
from ..runtime.errors import InputError
from ..runtime.files import as_path, check_folder
from ..training import Progress, quiet
from .reporting import report_of


@with_torch_defaults
def compare(
    data: Any,
    methods: Sequence[str] = (),
    recipe: Recipe | str | Path = "auto",
    seeds: Iterable[int] = (0, 1, 2),
    budget: int = 4,
    out: str | Path | None = None,
    *,
    links: bool = True,
    own: bool = True,
    overrides: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
    imports: Sequence[str] = (),
    report: bool = False,
    progress: bool = True,
) -> Contest:
    """Several methods on a benchmark set or a graph of your own, under one protocol.

    The recipe (chosen by the data, unless named) gives features, encoder, width and probe for all. Each method tries
    `budget` settings on validation and is then run with `seeds`; beside them stand raw features, averaged features and
    the untrained encoder. With `own`, on benchmark sets, each method is run once more with its published recipe; with
    `links`, once more without a tenth of the edges, which are then predicted. On the CPU memory is measured in
    processes of their own (call it under `if __name__ == "__main__":`), where `imports` names the files that register
    parts.

    >>> contest = compare("cora", ["graphmae", "cca-ssg"], seeds=range(5))  # doctest: +SKIP
    >>> print(contest.text())  # doctest: +SKIP
    """
    if report and out is None:
        raise InputError("a report is written into the folder of the comparison: name one with out")
    if out is not None:
        check_folder(Path(out), "a comparison", (Path(out) / comparing.SETTINGS).is_file())
    overrides = tuple(overrides)
    made, dataset = auto.recipe_for(data, recipe, overrides, columns, data_root)
    contest = comparing.compare(
        dataset,
        made,
        methods,
        seeds=seeds,
        budget=budget,
        links=links,
        own=own,
        imports=imports,
        overrides=overrides,
        device=device,
        root=data_root,
        out=None if out is None else as_path(out, "out"),
        display=Progress() if progress else quiet,
    )
    if report and out is not None:
        report_of(Path(out), data_root=data_root, device=device)
    return contest
