"""graphmae anomalies"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, Device, Duplicates, Id, Import, Source, Target, import_parts

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
    duplicates: Duplicates = "",
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """How unusual every node is: how little its features fit what the model and its neighbours let expect.

    Scores count deviations from what is usual for nodes of the same degree with as much in their row: 0 is usual, above
    2 rare. The highest are printed, and with --out all are written in the table's order.

    Example: graphmae anomalies runs/mine nodes.csv edges.csv -o scores.csv
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates}
    found = api.anomalies(checkpoint, sources, columns=columns, data_root=data, device=device, out=out)
    typer.echo("id\tanomaly")
    for name, value in sorted((pair for pair in found if pair[1] == pair[1]), key=lambda pair: -pair[1])[:SHOWN]:
        typer.echo(f"{name}\t{value:.4f}")
    if out is not None:
        typer.echo(f"all {len(found):,} scores are in {out}", err=True)
