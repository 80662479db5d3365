"""What was made of an assay's table: notes for people, and files with the split and with what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..tables.report import count
from ..tables.writing import write_table

if TYPE_CHECKING:
    from .assay import Assay

MOST = 5  # targets, or reasons, that are named
MOST_ANSWERS = 1_000_000  # that are written to a file


def notes(assay: Assay) -> Iterator[str]:
    """What was guessed or changed, and what kind every target is of."""
    yield from assay.origin.notes if assay.origin is not None else ()
    for name, column in list(zip(assay.names, assay.targets.T, strict=True))[:MOST]:
        known = column[~np.isnan(column)]
        if not len(known):
            continue
        if assay.kind == "classification":
            yield f"{name!r}: classes, {int((known == 0).sum()):,} are 0 and {int((known == 1).sum()):,} are 1"
        else:
            low, middle, high = np.quantile(known, [0, 0.5, 1])
            yield f"{name!r}: {len(known):,} numbers from {low:.4g} to {high:.4g}, median {middle:.4g}"
    if len(assay.names) > MOST:
        yield f"and {len(assay.names) - MOST} more targets of that kind"


def refusals(assay: Assay) -> Iterator[str]:
    """How many rows and cells were left out, with an example for every reason."""
    if assay.origin is None:
        return
    whole = [refused for refused in assay.origin.refused if not refused.column]
    cells = [refused for refused in assay.origin.refused if refused.column]
    for what, found in (("row", whole), ("cell", cells)):
        if not found:
            continue
        kinds = Counter(_kind(refused.reason) for refused in found)
        first = {_kind(refused.reason): refused.row + 1 for refused in reversed(found)}
        reasons = "; ".join(f"{times:,}: {kind} (first row {first[kind]})" for kind, times in kinds.most_common(MOST))
        yield f"{count(len(found), what)} left out: {reasons}"


def _kind(reason: str) -> str:
    """A reason without what differs from row to row."""
    start = reason.split(" (")[0]
    return "the cell " + start.split("' ", 1)[1] if start.startswith("'") and "' " in start else start


def write_answers(assay: Assay, answers: np.ndarray, folder: Path) -> None:
    """answers.csv: of every molecule its part, and of every target what was measured and what is predicted."""
    if answers.size > MOST_ANSWERS:
        return
    part = np.full(len(assay), "", dtype=object)
    for name, positions in assay.split.items():
        part[positions] = name
    rows = assay.rows or tuple((place,) for place in range(len(assay)))
    columns: dict[str, Any] = {
        "row": pa.array([own[0] + 1 for own in rows], pa.int64()),
        "id": list(assay.ids) or [str(own[0] + 1) for own in rows],
        "smiles": list(assay.smiles),
        "part": part.tolist(),
    }
    for at, name in enumerate(assay.names):
        signs = np.zeros(len(assay), np.int8) if assay.bounds is None else assay.bounds[:, at]
        columns[f"{name}_bound"] = np.array(["<", "", ">"])[signs + 1].tolist()
        for what, values in (("measured", assay.targets), ("predicted", answers)):
            cells = [None if value != value else float(f"{value:.6g}") for value in values[:, at].tolist()]
            columns[f"{name}_{what}"] = pa.array(cells, pa.float64())
    write_table(pa.table(columns), folder / "answers.csv")


def write(assay: Assay, folder: Path) -> None:
    """split.csv: row, id, smiles, part, for every row that is used. refused.csv: row, id, smiles, column, reason."""
    part = np.full(len(assay), "", dtype=object)
    for name, positions in assay.split.items():
        part[positions] = name
    rows = assay.rows or tuple((place,) for place in range(len(assay)))
    ids = assay.origin.ids if assay.origin is not None else None
    used = sorted((row, place) for place, own in enumerate(rows) for row in own)
    columns = {
        "row": pa.array([row + 1 for row, _ in used], pa.int64()),
        "id": [ids[row] if ids is not None else str(row + 1) for row, _ in used],
        "smiles": [assay.smiles[place] for _, place in used],
        "part": [str(part[place]) for _, place in used],
    }
    write_table(pa.table(columns), folder / "split.csv")
    if assay.origin is None:
        return
    refused = assay.origin.refused
    columns = {
        "row": pa.array([one.row + 1 for one in refused], pa.int64()),
        "id": pa.array([assay.origin.ids[one.row] for one in refused], pa.string()),
        "smiles": pa.array([assay.origin.smiles[one.row] for one in refused], pa.string()),
        "column": pa.array([one.column for one in refused], pa.string()),
        "reason": pa.array([one.reason for one in refused], pa.string()),
    }
    write_table(pa.table(columns), folder / "refused.csv")
