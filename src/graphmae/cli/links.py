"""graphmae links"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..runtime.errors import InputError
from .options import (
    DataRoot,
    Device,
    Duplicates,
    Id,
    Import,
    Json,
    Label,
    Seeds,
    Set,
    Show,
    Source,
    Target,
    import_parts,
    parse_seeds,
    print_json,
    print_lines,
    print_table,
)


def links(
    sources: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="NODES EDGES, a graph file, or a set's name.")
    ],
    way: Annotated[
        str,
        typer.Option("--way", help="hadamard, concat, cosine, dot, own, combined, or auto: best on validation."),
    ] = "auto",
    negatives: Annotated[
        str, typer.Option("--negatives", help="Pairs that are no edges: uniform, or hard: with a shared neighbour.")
    ] = "uniform",
    held_out: Annotated[
        str, typer.Option("--held-out", help="Edges that are predicted: random, time (the newest), or auto: by time.")
    ] = "auto",
    recipe: Annotated[str, typer.Option("--recipe", help="Recipe (default: default-links, MaskGAE).")] = "auto",
    predict: Annotated[bool, typer.Option("--predict", help="Print the most likely missing edges instead.")] = False,
    node: Annotated[str | None, typer.Option("--node", "-n", help="With --predict: those of one node, its id.")] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="With --predict: how many.")] = 20,
    show: Show = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With --predict: where to write them, .csv, .tsv or .parquet.")
    ] = None,
    seeds: Seeds = "0",
    set_: Set = [],  # noqa: B006
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    label: Label = "",
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
    json_: Json = False,
) -> None:
    """Link prediction: take 15 % of the edges away, pre-train on the rest, predict which pairs were edges.

    A third of them chooses how pairs are scored; the scores shown are those of the others. Where edges have times, the
    newest are taken away; --held-out random draws them.

    By MaskGAE, which learns from hidden edges; --recipe default takes GraphMAE, made for classes of nodes.

    Where every edge goes from one of two sides to the other, as from users to items, so do all pairs.

    Beside simple scores of the edges (common neighbours, Adamic-Adar, Katz), raw features and the untrained encoder, by
    ROC-AUC and average precision.

    A column with classes that should not be a feature: --label.

    --predict prints the most likely missing edges, of the graph or of one node: pairs with shared neighbours or near
    each other by embeddings. Their score, in percent: of pairs rated this high, so many were edges when 10 % of the
    edges were hidden. Their percentile: so many random pairs are rated lower. --show adds a column of the node table,
    such as names.

    Example: graphmae links nodes.csv edges.csv --predict --node p00538 -o missing.csv

    Example: graphmae links nodes.csv edges.csv --label topic --seeds 0-2
    """
    numbers = parse_seeds(seeds)
    if not predict and (node is not None or out is not None or show):
        raise InputError("--node, --show and --out are for predicted links: add --predict")
    if predict and (way != "auto" or len(numbers) > 1):
        raise InputError(
            "--predict finds its own way to score pairs, with one seed: leave out --way and further --seeds"
        )
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates, "label": label}
    if predict:
        found = api.predict_links(
            sources, recipe, k=k, node=node, show=show, seed=numbers[0], overrides=set_, columns=columns,
            data_root=data, device=device, out=out,
        )  # fmt: skip
        if json_:
            print_json({"links": [_as_dict(link, show) for link in found]})
        else:
            lines = [
                [f"{value:.2f}" if isinstance(value, float) else str(value) for value in _as_dict(link, show).values()]
                for link in found
            ]
            shown = [show] if show else []
            print_lines(["source", *shown, "target", *shown, "score", "percentile"], lines)
        return
    result = api.links(
        sources, recipe, numbers, overrides=set_, way=way, negatives=negatives, held_out=held_out, columns=columns,
        data_root=data, device=device,
    )  # fmt: skip
    if json_:
        print_json(result.summary())
    else:
        print_table(result, f"{result.recipe}: {len(numbers)} seed{'s' * (len(numbers) > 1)}")


def _as_dict(link: Any, show: str) -> dict[str, Any]:
    """The link as JSON values, what is shown of a node beside its id."""
    return {
        "source": link.source,
        **({f"source_{show}": link.source_shown} if show else {}),
        "target": link.target,
        **({f"target_{show}": link.target_shown} if show else {}),
        "score": link.score,
        "percentile": link.percentile,
    }
