"""graphmae plan"""

from __future__ import annotations

from typing import Annotated

import typer

from .options import (
    DataRoot,
    Device,
    Duplicates,
    Id,
    Import,
    Json,
    Set,
    Source,
    Target,
    import_parts,
    print_json,
    print_lines,
)


def plan(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="DATA...", help="NODES EDGES, or EDGES alone; a graph file; a folder; .smi; a set."),
    ],
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    set_: Set = [],  # noqa: B006
    recipe: Annotated[
        str, typer.Option("--recipe", help="Recipe to start from (default: chosen by the data).")
    ] = "auto",
    data: DataRoot = None,
    device: Device = "auto",
    json_: Json = False,
    import_: Import = [],  # noqa: B006
) -> None:
    """Memory and time of pre-training on this machine, and the way that is recommended.

    The whole graph at once, mini-batches, and mini-batches in several processes: a few steps of each are run where that
    is safe. Of a graph that is too large, steps of a part are, and multiplied. Nothing is written.

    Example: graphmae plan nodes.csv edges.csv

    Example: graphmae plan my-store --set encoder.hidden_channels=512 --json
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates}
    source_ = sources[0] if len(sources) == 1 else sources
    found = api.plan(source_, recipe, overrides=set_, columns=columns, data_root=data, device=device)
    if json_:
        print_json(found.to_dict())
        return
    facts = ", ".join(f"{value:,} {name}" for name, value in found.data.items() if isinstance(value, int))
    print_lines(*found.table(), f"{found.data['name']}: {facts}", found.recommended)
    free = f"{found.free_bytes / 2**30:.1f} GiB are free"
    typer.echo(f"{found.machine}; {free}. Recommended: {found.recommended} ({found.reason}).")
    typer.echo(found.best.command.replace("DATA", " ".join(sources)))
