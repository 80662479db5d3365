"""graphmae impute"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Device, Duplicates, Id, Import, Source, Target, import_parts


def impute(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a checkpoint or a run.")],
    nodes: Annotated[Path, typer.Argument(metavar="NODES", help="The node table.")],
    edges: Annotated[list[str], typer.Argument(metavar="EDGES...", help="The edge table, or several.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write: .csv, .tsv or .parquet.")],
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Fill the empty cells of a node table from the nodes' surroundings and their other columns.

    Numbers, categories and true/false are filled. For each column the values are scored on cells that are known and
    held out, beside always taking the mean or the most frequent value; the model's are taken where they are better by
    more than chance (a paired test at 1 %), else the mean or the most frequent value.

    Cells with something in them stay as they are, byte for byte from .csv to .csv; numbers get as many decimals as the
    column's own.

    Example: graphmae impute runs/mine nodes.csv edges.csv -o filled.csv
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates}
    _, filled = api.impute(checkpoint, nodes, edges, columns=columns, device=device, out=out)
    for column in filled:
        simple = "the mean" if column.metric == "R²" else "the most frequent value"
        typer.echo(
            f"{column.column}: {len(column.rows):,} cells filled by {'the model' if column.by_model else simple}; "
            f"on known cells the model's {column.metric} is {column.score:.2f}, that of {simple} {column.plain:.2f}"
        )
    typer.echo(f"The table is in {out}" + ("" if filled else "; nothing was empty that could be filled"))
