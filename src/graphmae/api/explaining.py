"""Which atoms a prediction comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..data.molecules.drawing import FORMATS, LONGEST, draw_atoms, largest_of
from ..data.molecules.library import library_rows
from ..finetuning import AutomaticPredictor, Committee, Predictor
from ..finetuning.contributions import Contributions, contributions
from ..runtime.device import with_torch_defaults
from ..runtime.errors import InputError
from ..runtime.files import replacing
from ..runtime.lines import line_writer
from .arguments import check_output
from .prediction import committee_of, texts_of

DRAWN = 12  # molecules in a picture
NAMES = ("id", "name", "title", "compound", "compound_id", "cid", "molecule", "molecule_id")


@with_torch_defaults
def explain(
    model: Predictor | AutomaticPredictor | Committee | str | Path,
    molecules: Iterable[str | None] | str | Path,
    out: str | Path | None = None,
    *,
    smiles: str | None = None,
    target: str = "",
    top: int = 0,
) -> list[dict[str, Any] | None]:
    """For every molecule its SMILES, prediction and the contribution of every atom; None where it is not a molecule.

    A contribution is what the prediction loses where the atom is masked, in the whole molecule and among its neighbours
    alone: in the encoders by the token of pre-training, in fingerprints by taking out the groups that hold it;
    descriptors stay. It is the whole predictor's, all members by their weights, in logits of class 1 or in the assay's
    units. Of several targets it is of `target`, else the first.

    With `out` (.svg, .png) the first `top` molecules are drawn (12 unless said otherwise), red atoms raising the
    prediction and blue ones lowering it; with a .csv, a row for every atom of all of them, or of the first `top`.

    >>> explain("runs/assay", ["c1ccccc1[N+](=O)[O-]"], "atoms.svg")  # doctest: +SKIP
    """
    check_output("explain", out, model, molecules)
    committee = committee_of(model)
    at = committee.target(target) if target else 0
    drawn = out is not None and Path(out).suffix in FORMATS
    count = top or (DRAWN if drawn else None)
    if isinstance(molecules, str | Path):
        header, rows = library_rows(Path(molecules), smiles)
        some = list(islice(rows, count))
        texts, names = [text for _, text in some], _names(header, [cells for cells, _ in some])
    else:
        texts = texts_of(molecules)[:count]
        names = [""] * len(texts)
    found = contributions(committee, texts)
    known = [one for one in found if one is not None]
    if not known:
        raise InputError("there is no molecule of at most 200 atoms to explain")
    if out is not None and drawn:
        legends = [_legend(one, name, committee, at) for one, name in zip(found, names, strict=True) if one is not None]
        draw_atoms(Path(out), [one.smiles for one in known], [one.atoms[:, at] for one in known], legends)
    elif out is not None:
        _write(Path(out), found, names, at)
    return [
        None if one is None else
        {"smiles": one.smiles, "prediction": float(one.prediction[at]), "in_domain": one.inside,
         "atoms": one.atoms[:, at].tolist()}
        for one in found
    ]  # fmt: skip


def _names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """What the molecules are called, where a column says so."""
    columns = [place for place, name in enumerate(header) if name.strip().lower() in NAMES]
    return [row[columns[0]] if columns else "" for row in rows]


def _legend(one: Contributions, name: str, committee: Committee, at: int) -> str:
    is_class = committee.kind == "classification"
    value = f"{one.prediction[at]:.2f}" if is_class else f"{one.prediction[at]:.4g}"
    darkest = f"darkest atom {largest_of(one.atoms[:, at]):+.2g}{' logits' if is_class else ''}"
    predicted = f"{_short(committee.names[at], LONGEST - len(value) - 1)} {value}"
    return "\n".join(filter(None, [_short(name), predicted, darkest, "" if one.inside else "out of domain"]))


def _short(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _write(out: Path, found: Sequence[Contributions | None], names: Sequence[str], at: int) -> None:
    """A row for every atom; molecules are counted from 1, and called as the file calls them, if it does."""
    with replacing(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        line = line_writer()
        file.write(line(["molecule", "name", "smiles", "atom", "contribution"]))
        for number, one in enumerate(found, 1):
            for atom, value in enumerate(np.zeros(0) if one is None else one.atoms[:, at]):
                file.write(line([number, names[number - 1], one.smiles if one else "", atom, f"{value:.6g}"]))
