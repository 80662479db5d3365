"""Molecules with measured targets: fine-tune a pre-trained encoder, predict for new ones."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from .. import config, pretrained
from ..config import Recipe
from ..data.molecules import MoleculeStore, from_smiles, molecule_table, stored
from ..experiments import run as experiment
from ..experiments.folder import RunFolder
from ..finetuning import Predictor, predict_graphs
from ..results import Result
from ..runtime.device import numerics, resolve_device
from ..runtime.errors import InputError
from ..runtime.files import check_out, replacing
from ..training import Progress, quiet
from .reporting import report_of

START = "default-assay"
FORMATS = (".csv", ".tsv")  # of predictions


def finetune(
    checkpoint: str | Path,
    table: str | Path,
    targets: Sequence[str] = (),
    out: str | Path | None = None,
    *,
    smiles: str = "",
    split: str = "scaffold",
    seeds: Iterable[int] = (0,),
    overrides: Iterable[str] = (),
    device: str = "auto",
    resume: bool = False,
    report: bool = False,
    progress: bool = True,
) -> Result:
    """Fine-tune the model in `checkpoint` on a table (.csv, .tsv, .parquet), once per seed; leave everything in `out`.

    `targets` are columns of zeros and ones, or of numbers, with empty cells where nothing was measured; without them
    the one column of numbers is it. `split` is "scaffold", "random", or a column that says train, val or test.

    >>> result = finetune("runs/molecules", "assay.csv", ["active"], out="runs/assay")  # doctest: +SKIP
    >>> predict("runs/assay", ["CCO", "c1ccccc1"])  # doctest: +SKIP
    """
    made = assay_recipe(checkpoint, table, targets, smiles, split, overrides)
    display = Progress() if progress else quiet
    folder = RunFolder.of(out, made.id, resume)
    result = experiment.run(made, seeds, folder.path, device=device, resume=resume, display=display)
    if report:
        report_of(folder.path, device=device)
    return result


def assay_recipe(
    checkpoint: str | Path,
    table: str | Path,
    targets: Sequence[str] = (),
    smiles: str = "",
    split: str = "scaffold",
    overrides: Iterable[str] = (),
) -> Recipe:
    """What `finetune` runs, as a recipe."""
    overrides = list(overrides)
    config.check_used(overrides, ("finetune", "data", "train.precision"), "fine-tuning")
    base = config.load(START).to_dict()
    pretrained.read_kind(checkpoint, "pretrained")
    base["data"] |= {"path": str(table), "smiles": smiles, "targets": list(targets), "split": split}
    base["finetune"]["checkpoint"] = str(checkpoint)
    return replace(config.load(base, overrides), id=Path(table).name.split(".")[0])


def predict(
    model: Predictor | str | Path,
    molecules: Sequence[str] | str | Path,
    *,
    smiles: str | None = None,
    out: str | Path | None = None,
    device: str = "auto",
) -> Tensor:
    """[rows, targets]: probabilities of class 1, or numbers; NaN for strings that are not molecules.

    `molecules` are SMILES, or a file of them: .smi, or a table with a column `smiles`. With `out` (.csv, .tsv)
    every row of the file is also written there in its order, with a column NAME_predicted more for each target; the
    column `problem` says which rows are not molecules.
    """
    check_out(out, FORMATS)
    predictor = pretrained.load_predictor(model) if isinstance(model, str | Path) else model
    used = resolve_device(device)
    if out is not None:
        if not isinstance(molecules, str | Path):
            raise InputError("out is for a file of molecules; of a list the predictions are returned")
        header, lines, smiles = molecule_table(Path(molecules), smiles)
        added = [*(f"{name}_predicted" for name in predictor.names), "problem"]
        if taken := [name for name in added if name in header]:
            raise InputError(f"{molecules} already has a column {taken[0]!r}; rename it, the predictions are called so")
    if isinstance(molecules, str | Path):
        path = Path(molecules)
        found: MoleculeStore = stored([path], path.name.split(".")[0], smiles)
        rows, parts, total = torch.from_numpy(found.lines.astype("int64")), found.graph_sets(), found.num_lines
    else:
        if not molecules:
            raise InputError("there are no molecules to predict for")
        graphs, positions = from_smiles(molecules)
        rows, total = torch.tensor(positions, dtype=torch.long), len(molecules)
        parts = iter([] if graphs is None else [graphs])
    answers, predictions = [], torch.full((total, len(predictor.names)), float("nan"))
    with numerics(used):
        for part in parts:
            answers.append(predict_graphs(predictor, part, used))
    predictions[rows] = torch.cat([predictions[:0], *answers])
    if out is not None:
        _write_predictions(Path(out), [*header, *added], lines, predictions)
    return predictions


def _write_predictions(out: Path, header: Sequence[str], lines: Sequence[Sequence[str]], predictions: Tensor) -> None:
    width = len(header) - predictions.size(1) - 1
    with replacing(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if out.suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow(header)
        for line, values in zip(lines, predictions.tolist(), strict=True):
            unreadable = values[0] != values[0]
            cells = ["" for _ in values] if unreadable else [f"{value:.6g}" for value in values]
            padded = [*line, *[""] * (width - len(line))][:width]
            writer.writerow([*padded, *cells, "not a molecule" if unreadable else ""])
