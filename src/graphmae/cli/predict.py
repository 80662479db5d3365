"""graphmae predict"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Device, Import, import_parts


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder graphmae finetune has written.")],
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="New molecules: .smi, .csv, .tsv, .parquet, .xlsx or .sdf.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write: .csv or .tsv.")] = Path("predictions.csv"),
    smiles: Annotated[str, typer.Option("--smiles", help="Column with SMILES (default: the one named so).")] = "",
    sort: Annotated[
        str, typer.Option("--sort", metavar="TARGET", help="Highest predictions first; -TARGET: lowest first.")
    ] = "",
    top: Annotated[int, typer.Option("--top", min=0, help="Keep so many rows, the highest or as --sort says.")] = 0,
    in_domain: Annotated[
        bool, typer.Option("--in-domain", help="Leave out molecules unlike all the predictor was trained on.")
    ] = False,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Predict for new molecules, a few or millions: every row with columns more, in its order or ranked.

    For every target NAME: NAME_predicted, the probability of class 1 or a number in the assay's units; NAME_low and
    NAME_high, an interval that holds the number in 9 of 10 cases; NAME_spread, how far the models disagree. Then the
    nearest training molecule, its Tanimoto similarity, the similarity of embeddings, and `domain`: out where the
    molecule is unlike all the predictor was trained on. Rows that are not molecules stay, with "not a molecule" in the
    column `problem`. All seeds of a run predict together.

    Libraries are predicted in parts, on all cores, in memory that does not depend on their size. The same command goes
    on where it was interrupted.

    Example: graphmae predict runs/assay new.csv --smiles SMILES -o predictions.csv

    Example: graphmae predict runs/assay library.smi.gz --top 1000 --in-domain -o best.csv

    Example: graphmae predict runs/assay library.csv --sort -toxicity -o ranked.csv
    """
    from .. import api

    import_parts(import_)
    answers = api.predict(
        model, table, smiles=smiles or None, sort=sort, top=top, in_domain=in_domain, device=device, out=out
    )
    assert not isinstance(answers, dict)
    bad = int(answers[:, 0].isnan().sum())
    unread = (
        f"; {bad} of the {len(answers)} rows {'is not a molecule' if bad == 1 else 'are not molecules'}" if bad else ""
    )
    first = "lowest" if sort.startswith("-") else "highest"
    if in_domain:
        most = f" (the {first} {top} at most)" if top else ""
        typer.echo(f"of {len(answers)} rows those in the predictor's domain{most} are in {out}{unread}")
        return
    kept = f"the {first} {min(top, len(answers))} of " if top else ""
    typer.echo(f"{kept}{len(answers)} rows with predictions are in {out}{unread}")
