"""graphmae similar"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, Device, Id, Import, Json, Source, Target, import_parts, print_json


def similar(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a checkpoint or a run.")],
    sources: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="NODES EDGES, a graph file, or a set's name.")
    ],
    node: Annotated[str, typer.Option("--node", "-n", help="Its id; without tables, its number from 0.")],
    k: Annotated[int, typer.Option("--k", "-k", help="How many.")] = 10,
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
    json_: Json = False,
) -> None:
    """The nodes most like one node: nearest by the cosine of their embeddings, exact.

    Beside the cosine, its percentile: how many of 100 random pairs of nodes are less alike.

    Example: graphmae similar runs/mine nodes.csv edges.csv --node p00538 -k 5
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target}
    found = api.similar(checkpoint, sources, node, k, columns=columns, data_root=data, device=device)
    if json_:
        rows = [{"id": name, "cosine": cosine, "percentile": percentile} for name, cosine, percentile in found]
        print_json({"node": node, "similar": rows})
        return
    for name, cosine, percentile in found:
        typer.echo(f"{name}\t{cosine:.4f}\t{percentile:.2f}")
