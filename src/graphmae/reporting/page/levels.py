"""Kinds of a category in one order everywhere, so that one kind has one colour on the map, in charts and in figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

MOST_LEVELS = 250  # of a category; the rarest beyond count as one
FEW_LEVELS = 12  # as many as there are colours: in the order of their names
MOST_KINDS = 11  # with a colour of their own, where there are more than colours


def ordered(counts: Mapping[str, int]) -> list[str]:
    """A few kinds in the order of their names, numbers as numbers; many by how frequent they are.

    >>> ordered({"10": 3, "9": 5})
    ['9', '10']
    """
    levels = sorted(counts, key=lambda level: (-counts[level], level))
    if len(levels) <= FEW_LEVELS:
        levels.sort(key=lambda level: (not level.isdecimal(), int(level) if level.isdecimal() else 0, level))
    return levels


def coded(texts: Sequence[str | None]) -> tuple[list[str], np.ndarray]:
    """(kinds in order; [n] which one each has, len(kinds) where nothing is known).

    >>> levels, codes = coded(["b", "a", None, "b"])
    >>> levels, codes.tolist()
    (['a', 'b'], [1, 0, 2, 1])
    """
    counts: dict[str, int] = {}
    for text in texts:
        if text is not None:
            counts[text] = counts.get(text, 0) + 1
    levels = ordered(counts)
    if len(levels) > MOST_LEVELS:
        levels = [*levels[: MOST_LEVELS - 1], "all others"]
    place, rest = {level: number for number, level in enumerate(levels)}, len(levels) - 1
    return levels, np.array([len(levels) if text is None else place.get(text, rest) for text in texts], dtype=np.int64)
