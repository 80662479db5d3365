"""The levels of a category, however they are spelled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from .cells import folded
from .report import count, some


def distinct_levels(text: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
    """(levels, how often each is there, the spellings of those with several).

    Texts that differ by case or blanks alone are one level, written as most of them are.
    """
    found = text.value_counts()
    names, counts = found.field("values"), found.field("counts").to_numpy()
    groups: dict[str, list[int]] = {}
    for position, key in enumerate(folded(pa.chunked_array([names])).to_pylist()):
        groups.setdefault(key, []).append(position)
    written = names.to_pylist()

    def rank(position: int) -> tuple[int, bool, str]:
        name = written[position]
        return -counts[position], name.isupper() or name.islower(), name

    ordered = [sorted(group, key=rank) for _, group in sorted(groups.items())]
    levels = np.array([written[group[0]] for group in ordered], dtype=object)
    totals = np.array([counts[group].sum() for group in ordered])
    return levels, totals, [[written[i] for i in group] for group in ordered if len(group) > 1]


def spellings_merged(name: str, spellings: Sequence[Sequence[str]]) -> str:
    """What was merged, for people."""
    groups = [f"{some(list(group[1:]), 3)} as {group[0]!r}" for group in spellings[:2]]
    rest = "; …" if len(spellings) > 2 else ""
    many = count(sum(len(group) - 1 for group in spellings), "spelling")
    return f"{many} in {name!r} merged, different by case or blanks alone ({'; '.join(groups)}{rest})"
