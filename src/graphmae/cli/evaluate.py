"""graphmae evaluate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    Source,
    Strict,
    Target,
    import_parts,
    parse_seeds,
    print_json,
    print_table,
)


def evaluate(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a checkpoint or a run.")],
    sources: Annotated[
        list[str],
        typer.Argument(metavar="DATA...", help="NODES EDGES; a labelled graph file; a folder; a set."),
    ],
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    label: Label = "",
    split: Annotated[
        str, typer.Option("--split", help="Node table: the column that says train, val or test (default: random).")
    ] = "",
    strict: Strict = False,
    seeds: Seeds = "0",
    set_: Set = [],  # noqa: B006
    data: DataRoot = None,
    device: Device = "auto",
    json_: Json = False,
    import_: Import = [],  # noqa: B006
) -> None:
    """Evaluate a checkpoint on labelled data, compared with raw features, an untrained and a supervised encoder.

    Labels of tables are those of pre-training, or the column --label names. What moved in the tables since then is
    reported.

    The encoder is fixed; seeds vary the probe and the baselines. A graph with labels y but no masks gets a random
    split. With masks [nodes, k], every one of the k splits is scored. A set of graphs is evaluated in ten folds by a
    support vector machine on pooled embeddings, compared with raw features, an untrained encoder and, with "wl" or
    "graph2vec" among evaluation.baselines, the Weisfeiler–Lehman kernel or rows learned from its words. Only
    evaluation.* can be set.

    Example: graphmae evaluate runs/mine nodes.csv edges.csv --label topic --seeds 0-4

    Example: graphmae evaluate runs/node-cora cora --set evaluation.epochs=300 --json

    Example: graphmae evaluate runs/graph-mutag my-graphs/ --set evaluation.standardize=true
    """
    numbers = parse_seeds(seeds)
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates, "label": label, "split": split}
    result = api.evaluate(
        checkpoint, sources[0] if len(sources) == 1 else sources, numbers, columns=columns, strict=strict,
        overrides=set_, device=device, data_root=data,
    )  # fmt: skip
    if json_:
        print_json(result.summary())
    else:
        over = f", {len(result.runs)} splits (mean ± deviation over them)" if result.repeated == "splits" else ""
        print_table(result, f"{checkpoint} on {' '.join(sources)}{over}")
