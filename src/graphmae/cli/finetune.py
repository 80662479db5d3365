"""graphmae finetune"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .options import (
    Device,
    Import,
    Json,
    Report,
    Seeds,
    Set,
    import_parts,
    parse_seeds,
    print_json,
    print_report,
    print_table,
)


def finetune(
    checkpoint: Annotated[Path, typer.Argument(metavar="CKPT", help="Folder of a model pre-trained on molecules.")],
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A .csv, .tsv or .parquet file with a header.")],
    targets: Annotated[
        str, typer.Option("--targets", "-t", help="Columns to predict, A,B (default: the one column of numbers).")
    ] = "",
    smiles: Annotated[str, typer.Option("--smiles", help="Column with SMILES (default: the one named so).")] = "",
    split: Annotated[
        str, typer.Option("--split", help="scaffold, random, or a column that says train, val or test.")
    ] = "scaffold",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the run (default: runs/NAME).")] = None,
    seeds: Seeds = "0",
    set_: Set = [],  # noqa: B006
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
    report: Report = False,
    json_: Json = False,
) -> None:
    """Fine-tune a pre-trained encoder on an assay: a table with SMILES and measured columns.

    Columns of zeros and ones are classes (ROC-AUC), others numbers (RMSE, MAE); --set data.kind=regression forces it.
    Empty cells are left out. Molecules are divided 80/10/10 by scaffold, the model with the best validation score is
    kept, and fingerprints with a linear model and a forest are scored too. More choices by --set: finetune.mode
    (full, frozen, staged), finetune.epochs, finetune.lr, finetune.balance=true for rare classes,
    finetune.baselines='["scratch"]' for the same encoder without pre-training.

    Example: graphmae finetune runs/molecules assay.csv --smiles SMILES --targets active,toxic --out runs/assay

    Example: graphmae finetune runs/molecules solubility.csv --split random --set finetune.mode=frozen
    """
    numbers = parse_seeds(seeds)
    from .. import api

    import_parts(import_)
    names = [name.strip() for name in targets.split(",") if name.strip()]
    folder = api.run_folder(out, table.name.split(".")[0], resume)
    result = api.finetune(
        checkpoint, table, names, folder, smiles=smiles, split=split, seeds=numbers, overrides=set_, device=device,
        resume=resume, report=report,
    )  # fmt: skip
    if json_:
        print_json(result.summary())
        return
    parts = "/".join(str(result.data[part]) for part in ("train", "val", "test"))
    print_table(result, f"{table.name}: {parts} molecules to train on, choose by and test on")
    following = shlex.join(["graphmae", "predict", str(folder), "new.csv", "-o", "predictions.csv"])
    typer.echo(f"The model is in {folder}. Next: {following}")
    if report:
        print_report(folder / "report.html")
