"""What is known of every molecule of an assay, for pages that show them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tables.reading import MISSING
from .cells import read_cells

if TYPE_CHECKING:
    from .assay import Assay


def facets_of(assay: Assay, table: Any = None) -> dict[str, Sequence[Any] | np.ndarray]:
    """What was measured, classes as text; in which part a molecule is; its SMILES; the table's other columns."""
    out: dict[str, Sequence[Any] | np.ndarray] = {}
    for name, values in zip(assay.names, assay.targets.T, strict=True):
        if assay.kind == "classification":
            out[name] = [None if value != value else f"{value:.0f}" for value in values.tolist()]
        else:
            out[name] = values.astype(np.float64)
    parts: list[str | None] = [None] * len(assay)
    for part, positions in assay.split.items():
        for position in positions.tolist():
            parts[position] = part
    out |= {"split": parts, "SMILES": assay.readable}
    if table is None:
        return out
    cells = read_cells(Path(table))
    rows = [found[0] for found in assay.rows] if assay.rows else assay.store.lines.tolist()
    for name in cells.names:
        written = cells.texts(name) if name not in out else []
        if written and (texts := [written[row].strip() for row in rows]) != assay.readable:
            out[name] = _typed(texts)
    return out


def _typed(texts: Sequence[str]) -> Sequence[Any] | np.ndarray:
    """Numbers where all cells that hold something are, else the texts; None or NaN where there is nothing."""
    known = [None if text.lower() in MISSING else text for text in texts]
    try:
        return np.array([np.nan if text is None else float(text) for text in known])
    except ValueError:
        return known
