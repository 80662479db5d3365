"""graphmae finetune"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..results import Result, interval, shown, task_line
from .options import (
    Device,
    Force,
    Import,
    Json,
    Report,
    Resume,
    Seeds,
    Set,
    import_parts,
    parse_seeds,
    print_json,
    print_report,
    print_table,
)


def finetune(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CKPT", help="A model pre-trained on molecules: its folder, or molecule-zinc.")
    ],
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A .csv, .xlsx, .parquet, .sdf or .smi file.")],
    targets: Annotated[
        str, typer.Option("--targets", "-t", help="Columns to predict, A,B (default: the one that was measured).")
    ] = "",
    smiles: Annotated[str, typer.Option("--smiles", help="Column with SMILES (default: the one named so).")] = "",
    split: Annotated[
        str,
        typer.Option("--split", help="scaffold, random, time:COLUMN, group:COLUMN, or a column of train, val, test."),
    ] = "scaffold",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the run (default: runs/NAME).")] = None,
    seeds: Seeds = "0",
    set_: Set = [],  # noqa: B006
    resume: Resume = False,
    force: Force = False,
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Learn from the test part too, once it is scored; that model is in OUT/final."),
    ] = False,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
    report: Report = False,
    json_: Json = False,
) -> None:
    """A predictor for an assay, a table with SMILES and measured columns.

    Fine-tuned encoders, and models of fingerprints, descriptors and frozen embeddings, are compared in folds of the
    training part and averaged; probabilities are calibrated, numbers get intervals. The table has the score of each.

    Columns of two words or of zeros and ones are classes (ROC-AUC), others numbers (RMSE, MAE); --set
    data.kind=regression forces it. >10000 is a bound, n.d. and empty cells are left out, salts are removed, rows of the
    same molecule merged; what was guessed or left out is reported, and listed in refused.csv and split.csv of the run.
    Molecules are divided 80/10/10 by scaffold; the last part is predicted once, at the end, and never learned from.
    --refit then makes a second model that learns from that part too: the one for new molecules. More choices by --set:
    finetune.members='["ecfp-forest"]' names the models, [] fine-tunes the encoder alone as published (finetune.mode,
    finetune.epochs, finetune.lr, finetune.balance); data.transform=pIC50, data.censored=drop, data.duplicates=keep,
    data.standardize=false.

    Example: graphmae finetune runs/molecules assay.csv --smiles SMILES --targets active,toxic --out runs/assay

    Example: graphmae finetune runs/molecules solubility.csv --split random --seeds 0-2
    """
    numbers = parse_seeds(seeds)
    names = [name.strip() for name in targets.split(",") if name.strip()]
    from .. import api

    import_parts(import_)
    folder = api.run_folder(out, table.name.split(".")[0], resume)
    api.check_assay(table, names, smiles, split, set_)
    result = api.finetune(
        checkpoint, table, names, folder, smiles=smiles, split=split, seeds=numbers, overrides=set_, device=device,
        resume=resume, force=force, refit=refit, report=report,
    )  # fmt: skip
    if json_:
        print_json(result.summary())
        return
    parts = "/".join(str(result.data[part]) for part in ("train", "val", "test"))
    print_table(result, f"{table.name}: {parts} molecules to train on, choose by and test on")
    if line := task_line(result.task_means()):
        several = f", mean of {len(result.runs[0]['tasks']['test'])} targets" if len(names) > 1 else ""
        typer.echo(f"Test part{several}: {line}. Every target: {folder / 'tasks.csv'}")
    if caution := _caution(result):
        typer.echo(caution)
    if repeats := result.data.get("repeats"):
        half = interval(result.scores, result.overlap)
        spread = f"{shown(result.mean, result.metric)} ± {shown(half, result.metric)}"
        typer.echo(f"{repeats} splits, each with a model of its own: {result.metric} {spread} (95 % interval)")
    model = folder / "repeat-0" if repeats else folder
    final = model / "final"
    where = f"The model is in {model}."
    if final.is_dir():
        where = f"The scores are of the model in {model}. Take {final} for new molecules: it learned from all of these."
    following = shlex.join(
        ["graphmae", "predict", str(final if final.is_dir() else model), "new.csv", "-o", "predictions.csv"]
    )
    typer.echo(f"{where} Next: {following}")
    if report:
        print_report(folder / "report.html")


def _caution(result: Result) -> str:
    """A sentence where the test part shows nothing that was learned."""
    means = {metric: sum(values) / len(values) for metric, values in result.task_means().items()}
    if not (means.get("r2", 1.0) <= 0 or means.get("roc-auc", 100.0) <= 50):  # nor where they are not defined
        return ""
    than = "the mean of its values" if "r2" in means else "chance"
    log = " Values over several decades are learned on a log scale: --set data.transform=pIC50 or log10."
    return (
        f"On the test part ({result.data['test']} molecules) the predictor is no better than {than}: do not rely on it "
        f"yet. One small test part has a large error; --set data.repeats=5 measures five.{log if 'r2' in means else ''}"
    )
