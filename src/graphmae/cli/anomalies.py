"""graphmae anomalies"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from ..runtime.errors import InputError
from .options import DataRoot, Device, Id, Source, Target

SHOWN = 10


def anomalies(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a checkpoint or a run.")],
    sources: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="NODES EDGES, a graph file, or a set's name.")
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write all scores: .csv.")] = None,
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    data: DataRoot = None,
    device: Device = "auto",
) -> None:
    """How odd every node is: how badly its features are reconstructed from its surroundings while it is hidden.

    Scores go from 0 (as expected) up; the oddest are printed, and with --out all are written in the table's order.

    Example: graphmae anomalies runs/mine nodes.csv edges.csv -o scores.csv
    """
    if out is not None and out.suffix != ".csv":
        raise InputError(f"--out {out}: unknown format {out.suffix!r}. Allowed: .csv")
    if out is not None and not out.parent.is_dir():
        raise InputError(f"{out.parent} is not a folder")
    from ..api import insights

    columns = {"id": id_, "source": source, "target": target}
    found = insights.anomalies(checkpoint, sources, columns=columns, data_root=data, device=device)
    for name, value in sorted((pair for pair in found if pair[1] == pair[1]), key=lambda pair: -pair[1])[:SHOWN]:
        typer.echo(f"{name}\t{value:.4f}")
    if out is not None:
        with out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["id", "anomaly"])
            writer.writerows([name, "" if value != value else f"{value:.6g}"] for name, value in found)
        typer.echo(f"all {len(found):,} scores are in {out}", err=True)
