"""graphmae reproduce"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..reporting.paper import TABLES
from ..runtime.errors import InputError, unknown
from .options import DataRoot, Json, print_json


def reproduce(
    table: Annotated[str, typer.Argument(help="node, graph, molecule, ablation, method or all.")],
    only: Annotated[
        list[str], typer.Option("--only", metavar="TEXT", help="Experiments whose SET/NAME contains this. Repeatable.")
    ] = [],  # noqa: B006
    seeds: Annotated[int, typer.Option("--seeds", help="Seeds per experiment (default: as many as the paper).")] = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of all runs and tables.")] = Path("runs/reproduce"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Seeds at a time, as in graphmae run.")] = 1,
    data: DataRoot = None,
    device: Annotated[
        str, typer.Option("--device", help="auto (every GPU, else the CPU), cpu, cuda:N, or several: cuda:0,cuda:1.")
    ] = "auto",
    json_: Json = False,
) -> None:
    """Run what a table of the paper needs, and print the table: ours, published, difference, interval, verdict.

    What is finished in the folder is skipped, what was interrupted goes on. Scores are kept in OUT/results/*.json,
    tables in OUT/TABLE.md. A data set that is neither in the data folder nor can be downloaded becomes a row that says
    so.

    Example: graphmae reproduce node

    Example: graphmae reproduce ablation --only cora/ --seeds 3 --out runs/ablation

    Example: graphmae reproduce all --device cuda:0,cuda:1
    """
    if table not in (*TABLES, "all"):
        raise InputError(unknown("table", table, (*TABLES, "all")))
    from .. import api

    tables = api.reproduce(table, out, only=only, seeds=seeds or None, data_root=data, device=device, jobs=jobs)
    if json_:
        print_json({name: rows.as_dict() for name, rows in tables.items()})
        return
    for rows in tables.values():
        typer.echo(rows.text())
    typer.echo(f"All runs are in {out}; scores in {out / 'results'}, tables in {', '.join(f'{t}.md' for t in tables)}.")
