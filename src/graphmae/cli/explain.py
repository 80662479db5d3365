"""graphmae explain"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Import, Json, import_parts, print_json


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder graphmae finetune has written.")],
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="Molecules: .smi, .csv, .tsv, .parquet, .xlsx or .sdf.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A picture, .svg or .png, or a .csv.")] = Path("atoms.svg"),
    target: Annotated[str, typer.Option("--target", help="Which target (default: the first).")] = "",
    smiles: Annotated[str, typer.Option("--smiles", help="Column with SMILES (default: the one named so).")] = "",
    top: Annotated[
        int,
        typer.Option(
            "--top", min=0, help="How many molecules, from the first on (default: 12 in a picture, else all)."
        ),
    ] = 0,
    import_: Import = [],  # noqa: B006
    json_: Json = False,
) -> None:
    """Which atoms a prediction comes from, drawn on the structures: red ones raise it, blue ones lower it.

    The contribution of an atom is what the prediction loses where the atom is masked, in the whole molecule and among
    its neighbours alone, by all members of the predictor: in the encoders by the token of pre-training, in fingerprints
    by taking out the groups that hold it. Descriptors, which are of the molecule as a whole, stay as they are. A .csv
    has a row for every atom of every molecule.

    Example: graphmae explain runs/assay best.csv -o atoms.svg
    """
    from .. import api

    import_parts(import_)
    found = api.explain(model, table, out, smiles=smiles or None, target=target, top=top)
    if json_:
        print_json({"molecules": found})
        return
    known = [one for one in found if one is not None]
    left = len(found) - len(known)
    others = f"; {left} of {len(found)} rows are not molecules, or have more than 200 atoms" if left else ""
    typer.echo(f"The atoms of {len(known)} molecules are in {out}{others}")
