"""graphmae run"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    DataRoot,
    Device,
    Force,
    Import,
    Json,
    Report,
    Resume,
    Seeds,
    Set,
    import_parts,
    parse_seeds,
    print_json,
    print_report,
    print_table,
)


def run(
    recipe: Annotated[str, typer.Argument(help="A recipe's id (graphmae recipes list) or a TOML file.")],
    seeds: Seeds = "0",
    set_: Set = [],  # noqa: B006
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the run (default: runs/ID).")] = None,
    resume: Resume = False,
    force: Force = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Seeds at a time: on a GPU in turns, on a CPU in processes.")
    ] = 1,
    data: DataRoot = None,
    device: Device = "auto",
    report: Report = False,
    json_: Json = False,
    import_: Import = [],  # noqa: B006
) -> None:
    """Run an experiment: pre-train and evaluate once per seed.

    Example: graphmae run node/cora --seeds 0-19 --out runs/cora

    Example: graphmae run node/cora --set mask.rate=0.75 --set encoder.name=gcn
    """
    numbers = parse_seeds(seeds)
    from .. import api

    import_parts(import_)
    made = api.recipe(recipe, *set_)
    folder = api.run_folder(out, made.id, resume)
    result = api.run(
        made,
        numbers,
        folder,
        data_root=data,
        device=device,
        resume=resume,
        force=force,
        jobs=jobs,
        imports=import_,
        report=report,
    )
    if json_:
        print_json(result.summary())
    else:
        print_table(result, f"{made.about.title or made.id}: {len(numbers)} seed{'s' * (len(numbers) > 1)}")
        typer.echo(f"The run is in {folder} (result.json, recipe.json, one checkpoint per seed).")
        if report:
            print_report(folder / "report.html")
