"""From rows to molecules: standardised, and those measured several times made one. Needs RDKit, imports no torch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...runtime.errors import DataError
from ..tables.report import count as many
from .measurements import Measurements, Refused, division_column
from .smiles import rdkit, silenced
from .splits import part_of
from .standardize import Standardized, standardize
from .units import ON_A_LOG_SCALE, is_concentration

Duplicates = Literal["merge", "refuse", "keep"]


@dataclass(frozen=True)
class Merged:
    """M molecules.

    Attributes:
        smiles: [M] what is stored.
        rows: [M] the rows of the file each was measured in, the first one first.
        values, bounds: [M, T] as in `Measurements`.
    """

    smiles: list[str]
    rows: list[list[int]]
    values: np.ndarray
    bounds: np.ndarray


def merged(
    found: Measurements,
    split: str,
    standardized: bool = True,
    duplicates: Duplicates = "merge",
    unmeasured: bool = False,
) -> Merged:
    """One entry per molecule; what is left out, and why, is added to `found.refused` and `found.notes`.

    Rows of the same molecule are one: the median of numbers, the class all of them have; where they have both, the
    value is left out. Rows without a value are kept only if `unmeasured`.
    """
    texts = _written(found, standardized)
    usable = _usable(found, texts, unmeasured)
    groups: dict[str, list[int]] = {}
    if duplicates == "keep":
        lists = [[row] for row in usable]
    else:
        keys = texts if standardized else _canonical(texts, usable)
        for row in usable:
            groups.setdefault(keys[row], []).append(row)
        if split == division_column(split):
            _one_part(found, groups)
        lists = [rows for rows in groups.values() if rows]
    several = [rows for rows in lists if len(rows) > 1]
    if several and duplicates == "refuse":
        raise DataError(
            f"{found.file}: {len(several):,} molecules are in several rows, the first in {_rows(several[0])}; "
            "--set data.duplicates=merge makes them one, keep leaves them as they are"
        )
    values, bounds, gone = _medians(found, lists)
    kept = [i for i in range(len(lists)) if i not in gone]
    if several:
        rule = "class all rows agree on" if found.kind == "classification" else "median"
        found.notes.append(
            f"measured several times and merged: {sum(map(len, several)):,} rows of {len(several):,} "
            f"{'molecule' if len(several) == 1 else 'molecules'}; the {rule} counts (data.duplicates)"
        )
    return Merged([texts[lists[i][0]] for i in kept], [lists[i] for i in kept], values[kept], bounds[kept])


def _written(found: Measurements, standardized: bool) -> list[str]:
    """[R] how every molecule is written; "" where it is not one, which only standardising finds out here."""
    if not standardized:
        return found.smiles
    rdkit()
    silence = silenced()
    made = {text: standardize(text) for text in dict.fromkeys(found.smiles)}
    del silence
    for text in _changes([made[text] for text in found.smiles]):
        found.notes.append(text)
    return [made[text].smiles or "" for text in found.smiles]


def _changes(made: list[Standardized]) -> list[str]:
    removed = Counter(one.removed for one in made if one.removed)
    neutral = sum(one.neutralized for one in made)
    parts = [f"{removed['salt']:,} had a salt or solvent, which was removed"] if removed["salt"] else []
    parts += [f"{removed['mixture']:,} are mixtures, of which the largest part was kept"] if removed["mixture"] else []
    parts += [f"{neutral:,} were neutralised or rewritten"] if neutral else []
    return (
        [f"standardised: of {len(made):,} rows {'; '.join(parts)} (data.standardize=false does not)"] if parts else []
    )


def _usable(found: Measurements, texts: list[str], unmeasured: bool) -> list[int]:
    usable, gone = [], {refused.row for refused in found.refused if not refused.column}
    measured = ~np.isnan(found.values).all(axis=1)
    for row, text in enumerate(texts):
        if row in gone:
            continue
        if not found.smiles[row]:
            found.refused.append(Refused(row, "", "there is no structure, or none that can be read"))
        elif not text:
            found.refused.append(Refused(row, "", "not a molecule"))
        elif not measured[row] and not unmeasured:
            found.refused.append(Refused(row, "", "nothing was measured"))
        else:
            usable.append(row)
    return usable


def _canonical(texts: list[str], rows: list[int]) -> dict[int, str]:
    """How RDKit writes the molecules of some rows; what is not a molecule stays as it is, and is found out later."""
    chem, silence = rdkit(), silenced()
    made = {row: chem.MolFromSmiles(texts[row]) for row in rows}
    del silence
    return {row: texts[row] if mol is None else chem.MolToSmiles(mol) for row, mol in made.items()}


def _one_part(found: Measurements, groups: dict[str, list[int]]) -> None:
    """Where the file itself says who is trained on, a molecule is in one part: the training one before the others."""
    order = ("train", "val", "test")
    straddling = 0
    for key, rows in groups.items():
        parts = {row: part_of(found.marks[row]) for row in rows}
        first = min(parts.values(), key=lambda part: order.index(part) if part in order else 3)
        others = [row for row in rows if parts[row] != first]
        straddling += bool(others)
        for row in others:
            found.refused.append(Refused(row, "", f"the same molecule is in the {first} part"))
        groups[key] = [row for row in rows if parts[row] == first]
    if straddling:
        found.notes.append(
            f"{many(straddling, 'molecule')} in several parts of the split: kept in one, train before val and test"
        )


def _medians(found: Measurements, lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray, set[int]]:
    """(values [M, T], bounds [M, T], molecules that have no value left)."""
    values, bounds = (array[[rows[0] for rows in lists]].copy() for array in (found.values, found.bounds))
    gone: set[int] = set()
    clashes: Counter[str] = Counter()
    apart: dict[str, list[list[int]]] = {}
    for place, rows in enumerate(lists):
        if len(rows) == 1:
            continue
        clash = []
        for column, name in enumerate(found.names):
            cells, signs = found.values[rows, column], found.bounds[rows, column]
            known = ~np.isnan(cells)
            values[place, column], bounds[place, column] = _together(cells[known], signs[known], found.kind)
            if found.kind == "regression" and _are_apart(name, cells[known & (signs == 0)]):
                apart.setdefault(name, []).append(rows)
            if known.any() and np.isnan(values[place, column]):
                clash.append(name)
                reason = "both classes were measured" if found.kind == "classification" else "its bounds contradict"
                found.refused.extend(Refused(row, name, f"{reason} of this molecule ({_rows(rows)})") for row in rows)
        clashes.update(clash)
        if np.isnan(values[place]).all():
            gone.add(place)
    for name, groups in apart.items():
        first = found.values[groups[0], found.names.index(name)]
        found.notes.append(
            f"{name!r}: measurements of {many(len(groups), 'molecule')} are tenfold apart or more, the first in "
            f"{_rows(groups[0])} ({', '.join(f'{value:.4g}' for value in first[:5])}); the median counts"
        )
    for name, count in clashes.items():
        found.notes.append(f"{name!r}: contradicting values of {many(count, 'molecule')} were left out")
    return values, bounds, gone


def _are_apart(name: str, exact: np.ndarray) -> bool:
    """Whether measurements of one molecule differ tenfold; a name such as pIC50 says that they are logarithms."""
    if len(exact) < 2:
        return False
    low, high = float(exact.min()), float(exact.max())
    return high - low >= 1 if ON_A_LOG_SCALE.search(name) else is_concentration(name) and high >= 10 * low > 0


def _together(values: np.ndarray, signs: np.ndarray, kind: str) -> tuple[float, int]:
    """The value of a molecule measured several times; NaN where its values contradict each other."""
    if not len(values):
        return float("nan"), 0
    if kind == "classification":
        return (float(values[0]), 0) if (values == values[0]).all() else (float("nan"), 0)
    exact = values[signs == 0]
    if len(exact):
        return float(np.median(exact)), 0
    if len(set(signs.tolist())) > 1:
        return float("nan"), 0
    return float(values.max() if signs[0] > 0 else values.min()), int(signs[0])  # the bound that says most


def _rows(rows: list[int]) -> str:
    shown = ", ".join(str(row + 1) for row in rows[:5])
    return f"rows {shown}" + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
