"""graphmae embed"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..runtime.errors import InputError
from .options import DataRoot, Device, Import, import_parts

FORMATS = (".npy", ".npz", ".csv")


def embed(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a checkpoint or a run.")],
    graph: Annotated[str, typer.Argument(metavar="DATA", help="A graph file (.npz, .pt) or the name of a data set.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write: .npy, .npz or .csv.")] = Path(
        "embeddings.npy"
    ),
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Write the embedding of every node.

    Example: graphmae embed runs/node-cora cora -o z.npy
    """
    if out.suffix not in FORMATS:
        raise InputError(f"--out {out}: unknown format {out.suffix!r}. Allowed: {', '.join(FORMATS)}")
    from .. import api

    import_parts(import_)
    rows = api.write_embeddings(checkpoint, graph, out, data_root=data, device=device)
    typer.echo(f"{rows[0]} embeddings of width {rows[1]} are in {out}")
