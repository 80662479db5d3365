"""Which atoms a prediction comes from."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import pretrained
from ..data.molecules.drawing import FORMATS, draw_atoms
from ..data.molecules.library import library_rows
from ..finetuning import AutomaticPredictor, Committee, Predictor
from ..finetuning.contributions import Contributions, contributions
from ..runtime.errors import InputError, unknown
from ..runtime.files import check_out, replacing


def explain(
    model: Predictor | AutomaticPredictor | Committee | str | Path,
    molecules: Sequence[str] | str | Path,
    out: str | Path | None = None,
    *,
    smiles: str | None = None,
    target: str = "",
    top: int = 12,
) -> list[dict[str, Any] | None]:
    """For every molecule its SMILES, prediction and the contribution of every atom; None where it is not a molecule.

    A contribution is the prediction less that with the atom masked: in the encoders by the token of pre-training, in
    fingerprints by taking out the groups that hold it; descriptors stay. It is the whole predictor's, all members by
    their weights, in logits of class 1 or in the assay's units. Of several targets it is of `target`, else the first.

    With `out` (.svg, .png) the first `top` molecules are drawn, red atoms raising the prediction and blue ones lowering
    it; with a .csv, a row for every atom is written.

    >>> explain("runs/assay", ["c1ccccc1[N+](=O)[O-]"], "atoms.svg")  # doctest: +SKIP
    """
    check_out(out, (*FORMATS, ".csv"))
    committee = pretrained.load_committee(model) if isinstance(model, str | Path) else model
    committee = committee if isinstance(committee, Committee) else Committee((committee,))
    if target and target not in committee.names:
        raise InputError(unknown("target", target, committee.names))
    at = committee.names.index(target) if target else 0
    texts = (
        [text for _, text in library_rows(Path(molecules), smiles)[1]]
        if isinstance(molecules, str | Path)
        else molecules
    )
    drawn = out is not None and Path(out).suffix in FORMATS
    texts = list(texts)[:top] if drawn else list(texts)
    found = contributions(committee, texts)
    known = [one for one in found if one is not None]
    if not known:
        raise InputError("there is no molecule of at most 200 atoms to explain")
    if out is not None and drawn:
        legends = [_legend(one, committee, at) for one in known]
        draw_atoms(Path(out), [one.smiles for one in known], [one.atoms[:, at] for one in known], legends)
    elif out is not None:
        _write(Path(out), found, at)
    return [
        None if one is None else
        {"smiles": one.smiles, "prediction": float(one.prediction[at]), "atoms": one.atoms[:, at].tolist()}
        for one in found
    ]  # fmt: skip


def _legend(one: Contributions, committee: Committee, at: int) -> str:
    value = one.prediction[at]
    return (
        f"{committee.names[at]} {value:.2f}"
        if committee.kind == "classification"
        else f"{committee.names[at]} {value:.4g}"
    )


def _write(out: Path, found: Sequence[Contributions | None], at: int) -> None:
    with replacing(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["molecule", "smiles", "atom", "contribution"])
        for number, one in enumerate(found, 1):
            for atom, value in enumerate(np.zeros(0) if one is None else one.atoms[:, at]):
                writer.writerow([number, one.smiles if one else "", atom, f"{value:.6g}"])
