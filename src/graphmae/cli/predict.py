"""graphmae predict"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..runtime.files import check_out
from .options import Device, Import, import_parts

FORMATS = (".csv", ".tsv")


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder graphmae finetune has written.")],
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="New molecules: .csv, .tsv, .parquet or .smi.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write: .csv or .tsv.")] = Path("predictions.csv"),
    smiles: Annotated[str, typer.Option("--smiles", help="Column with SMILES (default: the one named so).")] = "",
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Predict for new molecules: every row in its order, with a column NAME_predicted more for every target.

    Predictions are probabilities of class 1, or numbers in the assay's units. Rows that are not molecules stay, with
    empty predictions and "not a molecule" in the column `problem`.

    Example: graphmae predict runs/assay new.csv --smiles SMILES -o predictions.csv
    """
    check_out(out, FORMATS)
    from .. import api

    import_parts(import_)
    answers = api.predict(model, table, smiles=smiles or None, device=device, out=out)
    bad = int(answers[:, 0].isnan().sum())
    unread = f"; {bad} of them are not molecules and have none" if bad else ""
    typer.echo(f"{len(answers)} rows with predictions are in {out}{unread}")
