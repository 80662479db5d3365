"""graphmae embed"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, Device, Duplicates, Id, Import, Source, Strict, Target, import_parts


def embed(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a checkpoint or a run.")],
    sources: Annotated[
        list[str],
        typer.Argument(metavar="DATA...", help="NODES EDGES, or EDGES alone; a graph file; a folder; .smi; a set."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write: .parquet, .csv, .npz or .npy.")] = Path(
        "embeddings.npy"
    ),
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    strict: Strict = False,
    level: Annotated[
        str, typer.Option("--level", help="node, graph, or auto: one row per graph where there are many.")
    ] = "auto",
    readout: Annotated[
        str | None,
        typer.Option("--readout", help="Of graphs: mean, max, sum or several, mean+max+sum (default: the recipe's)."),
    ] = None,
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Write the embedding of every node, or of every graph.

    Of tables, in the order of the node table's rows, with the ids (.parquet, .csv, .npz); nodes and graphs the model
    has not seen are embedded just so, their columns found and treated as in training. What moved in the tables since
    training (ranges, categories, words, neighbours) is reported; --strict refuses such tables.

    Example: graphmae embed runs/mine nodes.csv edges.csv -o z.parquet

    Example: graphmae embed runs/node-cora cora -o z.npy

    Example: graphmae embed runs/graph-mutag my-graphs/ --level graph -o z.csv

    Example: graphmae embed runs/molecules new.smi -o z.npy
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates}
    source_ = sources[0] if len(sources) == 1 else sources
    rows = api.embed(
        checkpoint, source_, columns=columns, strict=strict, data_root=data, device=device, level=level,
        readout=readout, out=out,
    )  # fmt: skip
    parts = rows if isinstance(rows, list) else [rows]
    missing = sum(int(part.isnan().all(dim=1).sum()) for part in parts)
    unread = f"; {missing} rows are not molecules and have none" if missing else ""
    typer.echo(f"{sum(map(len, parts))} embeddings of width {parts[0].size(1)} are in {out}{unread}")
