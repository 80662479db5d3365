"""graphmae compare"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    DataRoot,
    Device,
    Duplicates,
    Id,
    Import,
    Json,
    Label,
    Report,
    Seeds,
    Set,
    Source,
    Target,
    import_parts,
    parse_seeds,
    print_json,
    print_lines,
    print_report,
)


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="DATA...", help="A set's name, NODES EDGES, a graph file, or a folder of graphs."),
    ],
    methods: Annotated[
        str, typer.Option("--methods", help="Names with commas between (default: all that fit the data).")
    ] = "",
    budget: Annotated[int, typer.Option("--budget", help="Settings every method may try on validation.")] = 4,
    seeds: Seeds = "0-2",
    links: Annotated[bool, typer.Option("--links/--no-links", help="Predict held-out edges too.")] = True,
    own: Annotated[
        bool, typer.Option("--own/--no-own", help="Run published recipes of the methods too, on benchmark sets.")
    ] = True,
    recipe: Annotated[
        str, typer.Option("--recipe", help="Recipe with the encoder all get (default: chosen by the data).")
    ] = "auto",
    set_: Set = [],  # noqa: B006
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder (default: runs/NAME-compared).")] = None,
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    label: Label = "",
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
    report: Report = False,
    json_: Json = False,
) -> None:
    """Run methods side by side, under one protocol: same encoder, width, trials, probe and seeds.

    Beside them: raw features, features averaged over neighbours, the untrained encoder. The second table reads the same
    encoders in other ways. Every finished line is kept: the same command with the same --out goes on where it stopped.

    Example: graphmae compare cora --methods graphmae,cca-ssg,dgi --seeds 0-4

    Example: graphmae compare nodes.csv edges.csv --label topic --budget 8
    """
    numbers = parse_seeds(seeds)
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates, "label": label}
    folder = api.run_folder(out, f"{Path(sources[0]).name.split('.')[0]}-compared")
    contest = api.compare(
        sources, [name.strip() for name in methods.split(",") if name.strip()], recipe, numbers, budget, folder,
        links=links, own=own, overrides=set_, columns=columns, data_root=data, device=device, imports=import_,
        report=report,
    )  # fmt: skip
    if json_:
        print_json(contest.to_dict())
        return
    print_lines(*contest.table(), title=f"{contest.data}: {len(numbers)} seed{'s' * (len(numbers) > 1)}")
    header, lines = contest.readings()
    if len(header) > 2:
        print_lines(header, lines, title="The same encoders, read in other ways")
    for line in [*contest.choices(), "", *contest.sentences()]:
        typer.echo(line)
    typer.echo(f"The comparison is in {folder} (compare.json, compare.md).")
    if report:
        print_report(folder / "report.html")
