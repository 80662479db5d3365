"""How a score grows with the number of molecules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..experiments import repeats
from ..experiments.folder import RunFolder
from ..runtime.device import with_torch_defaults
from ..training import Progress, quiet
from .finetuning import assay_recipe


@with_torch_defaults
def curve(
    checkpoint: str | Path,
    table: str | Path,
    targets: Sequence[str] = (),
    out: str | Path | None = None,
    *,
    sizes: Sequence[float | int] = repeats.SIZES,
    smiles: str = "",
    split: str = "scaffold",
    seeds: Iterable[int] = (0,),
    overrides: Iterable[str] = (),
    device: str = "auto",
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """The learning curve of an assay: what `finetune` scores on the test part with more and more molecules to train on.

    `sizes` are shares of the training part or numbers of molecules; the smaller ones are parts of the larger ones. The
    validation part shrinks with it, the test part stays the same. Every size is a run of its own in `out`/train-N, and
    `out`/curve.json has the points: {"train", "metric", "mean", "std", "scores", "metrics", "baselines"}.

    >>> points = curve("molecule-zinc", "assay.csv", ["active"], sizes=(100, 300, 1.0))  # doctest: +SKIP
    >>> [(point["train"], point["mean"]) for point in points]  # doctest: +SKIP
    """
    made = assay_recipe(checkpoint, table, targets, smiles, split, overrides)
    folder = RunFolder.of(out, f"{made.id}-curve", resume)
    display = Progress() if progress else quiet
    return repeats.learning_curve(
        made, seeds, folder.path, sizes, device=device, resume=resume, force=force, display=display
    )
