"""Labels and splits of a node table: for evaluation alone, never features."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from ...runtime.errors import unknown
from .cells import as_text, folded, is_missing, strings
from .columns import distinct_levels, spellings_merged
from .report import Report, count, set_kind, some

MOST_CLASSES = 1000
RARE = 3  # nodes of a class, below which it may be a slip of the pen
PARTS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val",
         "test": "test", "testing": "test"}  # fmt: skip


def read_labels(values: pa.ChunkedArray, name: str, report: Report) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    """(class number of every node, -1 where it has none; the classes' names; which nodes have one)."""
    known = ~is_missing(values)
    text = as_text(values).filter(pa.array(known))
    classes, spellings = _classes(text, name, report)
    numbers = pc.index_in(folded(text), pa.array(spellings, pa.string())).to_numpy(zero_copy_only=False)
    if not known.any():
        report.problem(f"the label column {name!r} is empty")
    elif len(classes) > min(MOST_CLASSES, max(2, known.sum() // 2)):
        report.problem(
            f"the label column {name!r} has {len(classes):,} different values in {known.sum():,} rows (such as "
            f"{some(classes)}): labels are classes. To predict numbers, keep the column out of the features with "
            f"{set_kind(name, 'ignore')}, and fit a regression on the embeddings"
        )
    y = np.full(len(values), -1, dtype=np.int64)
    y[known] = numbers
    sizes = np.bincount(y[known], minlength=len(classes)) if known.any() else np.empty(0)
    if rare := [each for each, size in zip(classes, sizes, strict=False) if size < RARE]:
        many = count(len(rare), "class has", "classes have")
        report.note(f"label {name!r}: {many} one or two nodes ({some(rare, 6)}): typing errors?")
    unlabelled = int((~known).sum())
    many = count(len(classes), "class", "classes")
    extra = f"; {count(unlabelled, 'node has', 'nodes have')} none" if unlabelled else ""
    report.note(f"label {name!r}: {many} ({some(classes, 6)}), kept out of the features{extra}")
    return y, tuple(classes), known


def _classes(text: pa.ChunkedArray, name: str, report: Report) -> tuple[list[str], list[str]]:
    """(the classes in the order of their names, each without case and blanks); spellings of one class are merged."""
    levels, _, spellings = distinct_levels(text)
    if spellings:
        report.repair(f"labels: {spellings_merged(name, spellings)}")
    classes = sorted(levels.tolist())
    return classes, folded(pa.chunked_array([pa.array(classes, pa.string())])).to_pylist()


def read_split(values: pa.ChunkedArray, name: str, known: np.ndarray, report: Report) -> dict[str, Tensor]:
    """The masks a column spells out: train, val, test; empty cells belong to none, other words are a problem."""
    found = [PARTS.get(text.strip().lower(), "") for text in strings(values).tolist()]
    wrong = Counter(strings(values)[~is_missing(values) & ~np.array(found, dtype=bool)].tolist())
    for word, times in wrong.most_common(3):
        more = f" (and {len(wrong) - 3:,} more words)" if len(wrong) > 3 else ""
        report.problem(
            f"the split column {name!r}: {count(times, 'row says', 'rows say')} {str(word)!r}{more}; "
            f"{unknown('split', str(word).lower(), PARTS)}. Empty cells belong to none"
        )
        if more:
            break
    if wrong:
        return {}
    masks = {part: torch.from_numpy(np.array([f == part for f in found]) & known) for part in ("train", "val", "test")}
    if lacking := [part for part, mask in masks.items() if not mask.any()]:
        which = " or ".join(lacking)
        report.problem(f"the split column {name!r} has no labelled row that says {which}; words: {', '.join(PARTS)}")
    return masks
