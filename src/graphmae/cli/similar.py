"""graphmae similar"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, Device, Duplicates, Id, Import, Json, Show, Source, Target, import_parts, print_json

OF_MOLECULES = ("smiles", "name", "cosine", "percentile", "tanimoto")
NUMBERS, FORMS = ("cosine", "percentile"), {"cosine": ".4f", "percentile": ".2f", "tanimoto": ".3f"}


def similar(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a checkpoint or a run.")],
    sources: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="NODES EDGES, a graph file, a set's name, or molecules.")
    ],
    node: Annotated[
        str, typer.Option("--node", "-n", help="Its id; without tables, its number from 0; of molecules, SMILES.")
    ],
    k: Annotated[int, typer.Option("--k", "-k", help="How many.")] = 10,
    show: Show = "",
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
    json_: Json = False,
) -> None:
    """The nodes most like one node: nearest by the cosine of their embeddings, exact.

    Beside the cosine, its percentile: how many of 100 random pairs of nodes are less alike. --show adds a column of the
    node table, such as names.

    Of molecules (.smi or a table with SMILES) the Tanimoto similarity of their fingerprints stands beside it.

    Example: graphmae similar runs/mine nodes.csv edges.csv --node p00538 -k 5 --show title

    Example: graphmae similar molecule-zinc library.smi --node "CC(=O)Oc1ccccc1C(=O)O"
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates}
    found = api.similar(checkpoint, sources, node, k, show=show, columns=columns, data_root=data, device=device)
    keys = OF_MOLECULES if found and len(found[0]) == len(OF_MOLECULES) else ("id", *filter(None, [show]), *NUMBERS)
    if json_:
        print_json({"node": node, "similar": [dict(zip(keys, row, strict=True)) for row in found]})
        return
    typer.echo("\t".join(keys))
    for row in found:
        forms = (FORMS.get(key, "") if isinstance(value, float) else "" for key, value in zip(keys, row, strict=True))
        typer.echo("\t".join(map(format, row, forms)))
