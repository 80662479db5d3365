"""Whether what is close in an embedding is of the same kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def neighbour_purity(
    neighbours: np.ndarray, kinds: Sequence[str | None]
) -> tuple[float, float, list[tuple[str, int, float, float]]]:
    """(mean share of a point's neighbours [N, k] that are of its kind, the same by chance, both of every kind).

    Points and neighbours whose kind is None are left out. Kinds come as (name, points, share, chance), the most
    frequent first. NaN where no point has a neighbour that counts.

    >>> neighbour_purity(np.array([[1], [0], [3], [2]]), ["a", "a", "b", "b"])[0]
    1.0
    """
    names = sorted({kind for kind in kinds if kind is not None})
    number = {name: place for place, name in enumerate(names)}
    codes = np.array([-1 if kind is None else number[kind] for kind in kinds])
    around = codes[neighbours]
    known = around >= 0
    counted = (codes >= 0) & known.any(axis=1)
    same = ((around == codes[:, None]) & known).sum(axis=1)[counted] / known.sum(axis=1)[counted]
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    by_chance = (sizes - 1) / max(1, sizes.sum() - 1)
    if not counted.any():
        return float("nan"), float("nan"), []
    own = codes[counted]
    levels = [
        (name, int(sizes[place]), float(same[own == place].mean()), float(by_chance[place]))
        for place, name in enumerate(names)
        if (own == place).any()
    ]
    levels.sort(key=lambda level: (-level[1], level[0]))
    return float(same.mean()), float(by_chance[own].mean()), levels
