"""The chemist's verbs: fine-tune a pre-trained encoder on an assay, predict for new molecules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from .. import config, pretrained
from ..config import Recipe
from ..data.molecules import MoleculeStore, from_smiles, stored
from ..experiments import run as experiment
from ..finetuning import Predictor, predict_graphs
from ..results import Result
from ..runtime.device import numerics, resolve_device
from ..runtime.errors import InputError
from ..training import Progress, quiet

START = "default-assay"


def finetune(
    checkpoint: str | Path,
    table: str | Path,
    targets: Sequence[str] = (),
    out: str | Path = "runs/assay",
    *,
    smiles: str = "",
    split: str = "scaffold",
    seeds: Iterable[int] = (0,),
    overrides: Iterable[str] = (),
    device: str = "auto",
    resume: bool = False,
    progress: bool = True,
) -> Result:
    """Fine-tune the model in `checkpoint` on a .csv or .tsv table, once a seed; leave everything in `out`.

    `targets` are columns of zeros and ones, or of numbers, with empty cells where nothing was measured; without them
    the one column of numbers is it. `split` is "scaffold", "random", or a column that says train, val or test.

    >>> result = finetune("runs/molecules", "assay.csv", ["active"], out="runs/assay")  # doctest: +SKIP
    >>> predict("runs/assay", ["CCO", "c1ccccc1"])  # doctest: +SKIP
    """
    made = assay_recipe(checkpoint, table, targets, smiles, split, overrides)
    display = Progress() if progress else quiet
    return experiment.run(made, seeds, out, device=device, resume=resume, display=display)


def assay_recipe(
    checkpoint: str | Path,
    table: str | Path,
    targets: Sequence[str] = (),
    smiles: str = "",
    split: str = "scaffold",
    overrides: Iterable[str] = (),
) -> Recipe:
    """What `finetune` runs, as a recipe."""
    base = config.load(START).to_dict()
    pretrained.read_kind(checkpoint, "pretrained")
    base["data"] |= {"path": str(table), "smiles": smiles, "targets": list(targets), "split": split}
    base["finetune"]["checkpoint"] = str(checkpoint)
    return replace(config.load(base, overrides), id=Path(table).name.split(".")[0])


def predict(
    model: Predictor | str | Path,
    molecules: Sequence[str] | str | Path,
    *,
    column: str | None = None,
    device: str = "auto",
) -> Tensor:
    """[rows, targets]: probabilities of class 1, or numbers; NaN for strings that are no molecules.

    `molecules` are SMILES, or a file of them: .smi, or .csv and .tsv with a `column`.
    """
    predictor = pretrained.load_predictor(model) if isinstance(model, str | Path) else model
    place = resolve_device(device)
    if isinstance(molecules, str | Path):
        path = Path(molecules)
        found: MoleculeStore = stored([path], path.name.split(".")[0], column)
        rows, parts, total = torch.from_numpy(found.lines.astype("int64")), found.parts(), found.num_lines
    else:
        if not molecules:
            raise InputError("there are no molecules to predict for")
        graphs, positions = from_smiles(molecules)
        rows, total = torch.tensor(positions, dtype=torch.long), len(molecules)
        parts = iter([] if graphs is None else [graphs])
    out = torch.full((total, len(predictor.names)), float("nan"))
    answers = []
    with numerics(place):
        for part in parts:
            answers.append(predict_graphs(predictor, part, place))
    out[rows] = torch.cat([out[:0], *answers])
    return out
