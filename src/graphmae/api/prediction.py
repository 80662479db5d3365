"""Predictions for new molecules: of a few strings, or of a library in a file."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import pretrained
from ..data.molecules.library import library_rows
from ..data.molecules.units import is_concentration
from ..data.sources import sha256
from ..experiments.columns import Columns
from ..experiments.library import predict_library
from ..experiments.ranking import Order
from ..finetuning import AutomaticPredictor, Committee, Predictor
from ..runtime.device import numerics, resolve_device, with_torch_defaults
from ..runtime.errors import InputError
from .arguments import check_output

AT_ONCE = 8192
logger = logging.getLogger("graphmae")


@with_torch_defaults
def predict(
    model: Predictor | AutomaticPredictor | Committee | str | Path,
    molecules: Iterable[str | None] | str | Path,
    *,
    smiles: str | None = None,
    out: str | Path | None = None,
    sort: str = "",
    top: int = 0,
    in_domain: bool = False,
    device: str = "auto",
    details: bool = False,
) -> Tensor | dict[str, list[Any]]:
    """[rows, targets]: probabilities of class 1, or numbers; NaN for strings that are not molecules.

    `model` is the folder of a run, whose seeds predict together, or a predictor. `molecules` are SMILES, a list or a
    column of them, or a file: .smi, or a table with a column `smiles`. With `details` of a list, a dictionary of
    columns instead: for each target the prediction, its spread and, of numbers, an interval; then the nearest training
    molecule and whether the molecule is in the predictor's domain.

    With `out` (.csv, .tsv) every row of the file is also written there with these columns, in its order or sorted:
    `sort` is a target, highest first ("-NAME": lowest first), `top` how many rows are kept; with `in_domain` molecules
    unlike all the predictor was trained on are left out of the table. Libraries are predicted in parts on all cores, in
    memory that does not depend on their size; the same call goes on where one was interrupted.

    >>> predict("runs/assay", ["CCO", "c1ccccc1"])  # doctest: +SKIP
    >>> predict("runs/assay", "library.smi", out="best.csv", top=100)  # doctest: +SKIP
    """
    check_output("predict", out, model, molecules)
    if top < 0:
        raise InputError(f"top must be at least 1, not {top}")
    used = resolve_device(device)
    if isinstance(molecules, str | Path):
        if details:
            raise InputError("details are for a list of SMILES; of a file they are in the table that `out` names")
        return _of_file(model, Path(molecules), smiles, out, sort, top, in_domain, used)
    if out is not None or sort or top or in_domain:
        raise InputError(
            "out, sort, top and in_domain are for a file of molecules; of a list the predictions are returned"
        )
    given = texts_of(molecules)
    if not given:
        raise InputError("there are no molecules to predict for")
    committee = committee_of(model)
    values = torch.full((len(given), len(committee.names)), float("nan"))
    columns = Columns(committee.names, committee.kind, committee.automatic is not None)
    cells = {name: [""] * len(given) for name in columns.header}
    with numerics(used):
        for first in range(0, len(given), AT_ONCE):
            texts = given[first : first + AT_ONCE]
            found = committee.featurize(texts)
            answers = committee.answer(found, used)
            values[torch.from_numpy(found.rows + first)] = torch.from_numpy(answers.values).float()
            if details:
                for row, line in zip(found.rows, columns.rows(committee, answers, found.smiles), strict=True):
                    for name, cell in zip(columns.header, line, strict=True):
                        cells[name][first + row] = cell
    if not details:
        return values
    return {
        name: column if columns.is_text(name) else [float(cell or "nan") for cell in column]
        for name, column in cells.items()
    }


def texts_of(molecules: Iterable[Any]) -> list[str]:
    """The SMILES of a list, an array or a column of a table; an empty cell (None, NaN) is "", which is no molecule."""
    if isinstance(molecules, Mapping | bytes) or hasattr(molecules, "columns") or not isinstance(molecules, Iterable):
        raise InputError(
            "molecules must be a list of SMILES, a column of them or the path of a file, not a "
            f"{type(molecules).__name__}; name the column of a table: table['smiles']"
        )
    given = list(molecules)
    for row, text in enumerate(given):
        if not isinstance(text, str) and str(text) not in ("None", "nan", "<NA>"):
            raise InputError(f"SMILES must be strings; row {row} is {type(text).__name__}")
    return [text if isinstance(text, str) else "" for text in given]


def committee_of(model: Predictor | AutomaticPredictor | Committee | str | Path) -> Committee:
    if isinstance(model, Predictor | AutomaticPredictor):
        return Committee((model,))
    return model if isinstance(model, Committee) else pretrained.load_committee(model)


def _of_file(
    model: Any, path: Path, smiles: str | None, out: str | Path | None, sort: str, top: int, in_domain: bool,
    device: torch.device,
) -> Tensor:  # fmt: skip
    committee = committee_of(model)
    order = _order(committee, sort, top)
    header, rows = library_rows(path, smiles)
    if out is None:
        if order is not None or in_domain:
            raise InputError("sort, top and in_domain are for a table that is written; name it with out")
        found = predict(committee, [text for _, text in rows], device=str(device))
        assert isinstance(found, Tensor)
        return found
    source = model if isinstance(model, str | Path) else committee
    made_of = {
        "molecules": sha256(path), "column": smiles or "", "model": _identity(model), "sort": sort, "top": top
    }  # fmt: skip
    with numerics(device):
        values = predict_library(
            source, header, rows, Path(out), made_of, order=order, in_domain=in_domain, device=device
        )
    return torch.from_numpy(np.ascontiguousarray(values))


def _order(committee: Committee, sort: str, top: int) -> Order | None:
    if not sort:
        name = committee.names[0]
        if top and committee.kind == "regression" and is_concentration(name):
            logger.warning(
                "predict: %r looks like a concentration, of which the highest are the weakest; --sort=-NAME puts the "
                "lowest first, and data.transform=pIC50 in fine-tuning turns the scale around", name,
            )  # fmt: skip
        return Order(0, top=top) if top else None
    descending = sort in committee.names or not sort.startswith("-")
    wanted = sort if descending else sort.removeprefix("-")
    target = committee.target(wanted, "target to sort by")
    if (name := committee.names[target]).startswith("pIC50(") and wanted not in (name, "pIC50"):
        raise InputError(
            f"{wanted!r} was learned as {name!r}, of which the highest are the most potent, so it is not clear which "
            f"way round {sort!r} means. Most potent first: --sort {name!r}; least potent first: --sort={'-' + name!r}"
        )
    return Order(target, descending, top)


def _identity(model: Any) -> str:
    """Which model it is, by the content of its folder; a predictor in memory is never the same."""
    if not isinstance(model, str | Path):
        return f"in memory, {id(model)}"
    files = [seed / "model.safetensors" for seed in pretrained.find_seeds(model)]
    return hashlib.sha256("".join(sha256(file) for file in files).encode()).hexdigest()
