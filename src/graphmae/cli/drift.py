"""graphmae drift"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Duplicates, Id, Import, Json, Source, Strict, Target, import_parts, print_json


def drift(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a checkpoint or a run.")],
    sources: Annotated[list[str], typer.Argument(metavar="DATA...", help="NODES EDGES, or EDGES alone.")],
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    strict: Strict = False,
    import_: Import = [],  # noqa: B006
    json_: Json = False,
) -> None:
    """What moved between the tables a model was trained on and new ones, the largest move first.

    Compared are ranges of numbers, shares of categories, known words, empty cells and numbers of neighbours. With
    --strict, the exit code is 2 where something moved.

    Example: graphmae drift runs/mine new-nodes.csv new-edges.csv
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates}
    found = api.drift(checkpoint, sources, columns=columns, strict=strict)
    if json_:
        print_json(found.to_dict())
    else:
        typer.echo(str(found))
