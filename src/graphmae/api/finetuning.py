"""Molecules with measured targets: fine-tune a pre-trained encoder, predict for new ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from .. import config, pretrained
from ..config import Recipe
from ..experiments import repeats
from ..experiments import run as experiment
from ..experiments.folder import RunFolder
from ..results import Result
from ..runtime.device import with_torch_defaults
from ..training import Progress, quiet
from .reporting import report_of

START = "default-assay"


@with_torch_defaults
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
    force: bool = False,
    refit: bool = False,
    report: bool = False,
    progress: bool = True,
) -> Result:
    """A predictor for an assay (a table, an .sdf), made with `checkpoint` and fingerprints; everything is in `out`.

    Fine-tuned encoders, models of fingerprints, descriptors and frozen embeddings are compared in folds of the training
    part, weighed and calibrated; the test part is predicted once at the end, by every model. With
    overrides=["finetune.members=[]"] the encoder alone is fine-tuned, as published. `predict` uses all `seeds`.

    `targets` are columns of zeros and ones, or of numbers, with empty cells where nothing was measured; without them
    the one column of numbers is it. `split` is "scaffold", "random", "time:COLUMN", "group:COLUMN", or a column that
    says train, val or test. With overrides=["data.repeats=5"] five splits are drawn and run; the result is over them.
    With `refit` the predictor is fitted to all molecules once its scores are known; that one is in OUT/final.

    >>> result = finetune("runs/molecules", "assay.csv", ["active"], out="runs/assay")  # doctest: +SKIP
    >>> predict("runs/assay", ["CCO", "c1ccccc1"])  # doctest: +SKIP
    """
    overrides = [*overrides, *(["finetune.refit=true"] if refit else [])]
    made = assay_recipe(checkpoint, table, targets, smiles, split, overrides)
    display = Progress() if progress else quiet
    folder = RunFolder.of(out, made.id, resume)
    run = repeats.run_repeats if made.data.options.get("repeats") else experiment.run
    result = run(made, seeds, folder.path, device=device, resume=resume, force=force, display=display)
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
