"""Assays from files: whatever a chemist has, as molecules with measured targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ...runtime.errors import DataError, InputError
from ..dataset import REGISTRY
from ..tables import dates, notation
from ..tables.cells import floats
from .assay import Assay
from .cached import stored_texts
from .measurements import Measurements, Refused, division_column, read_measurements
from .merging import Duplicates, merged
from .units import Transform

Kind = Literal["auto", "classification", "regression"]


def read_assay(
    path: str | Path,
    smiles: str | None = None,
    targets: Sequence[str] | None = None,
    kind: Kind = "auto",
    split: str = "scaffold",
    split_seed: int = 0,
    name: str | None = None,
    *,
    standardize: bool = True,
    duplicates: Duplicates = "merge",
    unmeasured: bool = False,
    quiet: bool = False,
    **reading: Any,
) -> Assay:
    """Read a table (.csv, .tsv, .xlsx, .jsonl, .parquet), structures with properties (.sdf), or a .smi with values.

    Columns that are not named are found. Columns of two words, or of 0 and 1, −1 and 1, 1 and 2, are classes, all
    others numbers, unless `kind` says so. `split` is "scaffold", "scaffold-balanced" or "random" (by `split_seed`), a
    column that says train, val or test, "time:COLUMN" or "group:COLUMN". Molecules are standardised and rows of the
    same one merged; what was guessed, changed or left out is in `origin` and logged unless `quiet`. Rows without a
    value are kept if `unmeasured`. For `reading` see `read_measurements`.

    >>> read_assay("assay.csv", targets=["active"]).kind  # doctest: +SKIP
    'classification'
    """
    found = read_measurements(path, smiles or "", targets or (), kind, split, **reading)
    name = name or Path(path).name.split(".")[0]
    moments = _moments(found, split)
    made = merged(found, split, standardize, duplicates, unmeasured)
    if not made.smiles:
        raise DataError(f"{path}: {len(found):,} lines and not one molecule to read that has a value")
    store = stored_texts(made.smiles, name)
    kept = store.lines.astype(np.int64)
    for place in set(range(len(made.smiles))) - set(kept.tolist()):
        found.refused.extend(Refused(row, "", "not a molecule") for row in made.rows[place])
    found.refused.sort()
    rows = tuple(tuple(made.rows[place]) for place in kept)
    values = made.values[kept].astype(np.float32)
    if np.isnan(values).all():
        raise DataError(f"{path}: no molecule has a value for {', '.join(found.names[:5])}")
    assay = Assay(
        name,
        store,
        tuple(made.smiles[place] for place in kept),
        values,
        found.names,
        found.kind,
        split,
        split_seed,
        _marks(found, rows, moments),
        tuple(found.ids[own[0]] for own in rows),
        standardize,
        made.bounds[kept],
        rows,
        found,
    )
    if not quiet:
        assay.report()
    return assay


def _moments(found: Measurements, split: str) -> np.ndarray | None:
    """[R] the time of every row, where the molecules are divided by it; rows without one are left out."""
    if not split.startswith("time:") or not found.marks:
        return None
    cells = pa.chunked_array([pa.array(found.marks, pa.string())])
    moments = floats(cells)
    if np.isnan(moments).all():
        raise InputError(
            f"{found.file}: {division_column(split)!r} holds neither dates nor numbers, such as {found.marks[0]!r}"
        )
    written = dates.decide(cells) if np.isnan(notation.numbers(cells)).all() else None
    if written is not None and written.doubt:
        found.notes.append(
            f"{written.doubt!r} in {division_column(split)!r} can be read in two ways, and no other date tells: read "
            f"{written.notation}; write dates as 2020-11-12 to be sure"
        )
    for row in np.flatnonzero(np.isnan(moments)):
        found.refused.append(
            Refused(int(row), "", f"{found.marks[row]!r} in {division_column(split)!r} is neither a date nor a number")
        )
    return moments


def _marks(found: Measurements, rows: Sequence[Sequence[int]], moments: np.ndarray | None) -> tuple[str, ...]:
    """[M] what divides the molecules: the cell of the first row, or the earliest time, which is when it was known."""
    if moments is not None:
        return tuple(repr(float(np.nanmin(moments[list(own)]))) for own in rows)
    return tuple(found.marks[own[0]] for own in rows) if found.marks else ()


@REGISTRY.register("assay")
def assay(
    root: str | Path | None = None,
    path: str = "",
    smiles: str = "",
    targets: Sequence[str] = (),
    kind: Kind = "auto",
    split: str = "scaffold",
    split_seed: int = 0,
    id: str = "",
    standardize: bool = True,
    duplicates: Duplicates = "merge",
    censored: Literal["bound", "drop"] = "bound",
    transform: Transform = "none",
    unit: str = "",
    positive: str = "",
    train_size: int = 0,
    repeats: int = 0,
) -> Assay:
    """Your own table from `data.path` (.csv, .xlsx, .parquet, .sdf, …): SMILES, and columns with what was measured.

    `train_size` uses so many of the training part, drawn at random (0: all); `repeats` is how many splits
    `graphmae finetune` draws and runs (0: the one of `split`).
    """
    if not path:
        raise DataError("data.name is 'assay', but data.path does not say which table")
    if repeats:
        raise InputError("data.repeats is for graphmae finetune, which runs the experiment once for every split")
    found = read_assay(
        Path(path).expanduser(), smiles, list(targets), kind, split, split_seed, standardize=standardize,
        duplicates=duplicates, id=id, censored=censored, transform=transform, unit=unit, positive=positive,
    )  # fmt: skip
    return replace(found, train_size=train_size)
