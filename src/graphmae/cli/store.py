"""graphmae store"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, Id, Label, Source, Target


def store(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="DATA...", help="NODES EDGES...; or a folder with raw files, a graph file, a data set."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the stored graph.")],
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    label: Label = "",
    split: Annotated[str, typer.Option("--split", help="Column that says train, val or test.")] = "",
    dtype: Annotated[str, typer.Option("--dtype", help="Of features: float32, float16 or int8.")] = "float32",
    directed: Annotated[bool, typer.Option("--directed", help="Edges count one way alone.")] = False,
    like: Annotated[Path | None, typer.Option("--like", help="Model whose training columns were encoded.")] = None,
    data: DataRoot = None,
) -> None:
    """Put a graph on disk, so that it can be larger than memory.

    Node and edge tables (.parquet, .csv) are read a piece at a time: ids become rows, columns become features, edges
    are sorted on disk. So are the raw files of OGB (ogbn-products, ogbn-papers100M), GraphSAINT (AmazonProducts) and
    Reddit in a folder, with their labels and split. The stored folder is then DATA for pretrain, embed and evaluate,
    which read from it what they need.
    An interrupted command begins again when it is repeated.

    Example: graphmae store nodes.parquet edges.parquet --out big

    Example: graphmae store nodes.csv edges.csv --label topic --dtype float16 --out big

    Example: graphmae store downloads/ogbn_papers100M --dtype float16 --out papers

    Example: graphmae store new-nodes.parquet new-edges.parquet --like runs/big --out new
    """
    from .. import api

    columns = {"id": id_, "source": source, "target": target, "label": label, "split": split}
    stored = api.store(
        sources[0] if len(sources) == 1 else sources, out, columns=columns, dtype=dtype, directed=directed, like=like,
        data_root=data,
    )  # fmt: skip
    facts = dict(stored.summary())
    typer.echo(
        f"{facts['nodes']:,} nodes with {facts['features']:,} features and {facts['edges']:,} directed edges "
        f"(self-loops included) are in {out}. Next: graphmae pretrain {out}"
    )
