"""graphmae links"""

from __future__ import annotations

from typing import Annotated

import typer

from .options import (
    DataRoot,
    Device,
    Id,
    Import,
    Json,
    Label,
    Seeds,
    Set,
    Source,
    Target,
    import_parts,
    parse_seeds,
    print_json,
    print_table,
)


def links(
    sources: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="NODES EDGES, a graph file, or a set's name.")
    ],
    way: Annotated[
        str,
        typer.Option("--way", help="hadamard, concat, cosine, dot, own, or auto: what is best on validation."),
    ] = "auto",
    recipe: Annotated[str, typer.Option("--recipe", help="Recipe (default: default-links, MaskGAE).")] = "auto",
    seeds: Seeds = "0",
    set_: Set = [],  # noqa: B006
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    label: Label = "",
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
    json_: Json = False,
) -> None:
    """Link prediction: take 15 % of the edges away, pre-train on the rest, predict which pairs were edges.

    A third of them chooses how pairs are scored; the scores shown are those of the others.

    By MaskGAE, which learns from hidden edges; --recipe default takes GraphMAE, made for classes of nodes.

    Beside shared neighbours, raw features and the untrained encoder, by ROC-AUC and average precision.

    A column with classes that should not be a feature: --label.

    Example: graphmae links nodes.csv edges.csv --label topic --seeds 0-2
    """
    numbers = parse_seeds(seeds)
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "label": label}
    result = api.links(
        sources, recipe, numbers, overrides=set_, way=way, columns=columns, data_root=data, device=device
    )
    if json_:
        print_json(result.summary())
    else:
        print_table(result, f"{result.recipe}: {len(numbers)} seed{'s' * (len(numbers) > 1)}")
