"""A file with molecules and what was measured of them, row by row: read, checked, reported. Imports no torch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ...runtime.errors import DataError, InputError, unknown
from .cells import Cells, read_cells
from .columns import RELATIONS, UNITS, beside, find_ids, find_smiles, find_targets
from .lines import named_column
from .units import MOLAR, Transform, molar_unit, suggestion, transformed, unit_in_name
from .values import BOUNDS, Column, Kind, read_column

DIVISIONS = ("scaffold", "scaffold-balanced", "random")
BY_COLUMN = ("time", "group")
WRAPPED = re.compile(r"[\r\n]+")  # ends of lines inside of a cell
FEW_EXACT = 10  # values, too few to doubt a bound by
BEYOND = 0.9  # of the exact values


class Refused(NamedTuple):
    """A row, or one cell of it, that was left out: counted from 0; `column` is empty where it is the whole row."""

    row: int
    column: str
    reason: str


@dataclass(frozen=True)
class Measurements:
    """R rows of a file.

    Attributes:
        smiles: [R] as written.
        ids: [R] what the file calls the molecules, or the number of the row, from 1 up.
        values: [R, T] float64, NaN where nothing was measured; classes are 0 and 1.
        bounds: [R, T] int8: 1 where the true value is above the given one, −1 where it is below.
        marks: [R] the cells of the column that divides the molecules; empty where none does.
        notes: what was guessed, read in another way than it is written, or suggested.
    """

    file: Path
    names: tuple[str, ...]
    kind: Kind
    smiles: list[str]
    ids: list[str]
    values: np.ndarray
    bounds: np.ndarray
    marks: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.smiles)


def read_measurements(
    path: str | Path,
    smiles: str = "",
    targets: Sequence[str] = (),
    kind: Literal["auto", "classification", "regression"] = "auto",
    split: str = "scaffold",
    id: str = "",
    censored: Literal["bound", "drop"] = "bound",
    transform: Transform = "none",
    unit: str = "",
    positive: str = "",
) -> Measurements:
    """The SMILES, the names and the targets of every row; columns that are not named are found, and reported.

    Cells such as ">10000" count as the bound, or as not measured (`censored="drop"`). `transform` is the scale numbers
    are learned on, `unit` that of the column where neither its name nor its cells have one, `positive` the word that is
    class 1.
    """
    file = Path(path)
    cells = read_cells(file)
    of_smiles, how = find_smiles(file, cells, smiles or None)
    column = division_column(split)
    if column:
        if column not in cells.names and split == column and column not in DIVISIONS:
            raise InputError(
                f"{file}: {unknown('split', split, [*DIVISIONS, 'time:COLUMN', 'group:COLUMN', *cells.names])}"
            )
        column = named_column(file, cells.names, column)
    taken = {of_smiles, *([column] if column else [])}
    of_ids = named_column(file, cells.names, id) if id else find_ids(cells, taken)
    names, found = find_targets(file, cells, taken, targets)
    if not id:
        found = "; ".join(filter(None, [found, f"molecules are called as in {of_ids!r}" if of_ids else ""]))
    columns, units = [], []
    for name in names:
        one, its_unit = _target(file, cells, name, len(names) == 1, kind, positive, unit, censored)
        columns.append(one)
        units.append(its_unit)
    known = _one_kind(file, columns, kind)
    notes = [*cells.notes, *(text for text in (how, found) if text), *(text for one in columns for text in one.notes)]
    titles = []
    for one, its_unit in zip(columns, units, strict=True):
        titles.append(_scaled(file, one, transform, its_unit, notes))
    refused = [Refused(row, one.name, reason) for one in columns for row, reason in one.refused.items()]
    return Measurements(
        file,
        tuple(titles),
        known,
        [WRAPPED.sub("", text).strip() for text in cells.texts(of_smiles)],
        _ids(cells, of_ids),
        np.stack([one.values for one in columns], axis=1),
        np.stack([one.bounds for one in columns], axis=1),
        tuple(text.strip() for text in cells.texts(column)) if column else (),
        notes,
        sorted(refused),
    )


def division_column(split: str) -> str:
    """The column a division needs: "year" of "time:year", "series" of "group:series"; "" for those that need none."""
    way, _, column = split.partition(":")
    return column if way in BY_COLUMN and column else "" if split in DIVISIONS else split


def _ids(cells: Cells, column: str) -> list[str]:
    rows = [str(number) for number in range(1, len(cells) + 1)]
    if not column:
        return rows
    return [text.strip() or row for text, row in zip(cells.texts(column), rows, strict=True)]


def _target(
    file: Path, cells: Cells, name: str, alone: bool, kind: Literal["auto", "classification", "regression"],
    positive: str, unit: str, censored: str,
) -> tuple[Column, str]:  # fmt: skip
    """(a column as it was read, the unit of its numbers)."""
    different, codes = cells.encoded(name)
    try:
        column = read_column(name, different, codes, kind, positive, cells.habits, name in cells.typed)
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    if column.kind == "classification":
        return column, ""
    if relation := beside(cells, name, alone, RELATIONS):
        signs = [text.strip().strip("'\"") for text in cells.texts(relation)]
        stated = np.array([BOUNDS.get(sign.replace("=", "")[:1], 0) for sign in signs], dtype=np.int8)
        column.bounds = np.where(column.bounds == 0, stated, column.bounds)
        column.notes.append(f"{name!r}: >, < and = are in the column {relation!r}")
    its_unit = _one_unit(column, cells, beside(cells, name, alone, UNITS), unit)
    known = ~np.isnan(column.values)
    column.bounds = np.where(known, column.bounds, 0).astype(np.int8)
    for row in _empty_bounds(column):
        column.refused[int(row)] = (
            f"{different[codes[row]]!r} is a bound that nearly all exact values are beyond (it is read as "
            f"{column.values[row]:g}): it says nothing, or is written in another way"
        )
        column.values[row], column.bounds[row], known[row] = np.nan, 0, False
    if above := Counter(column.bounds[column.bounds != 0].tolist()):
        words = ((1, "lower bounds (>)"), (-1, "upper bounds (<)"))
        counts = ", ".join(f"{above[sign]:,} of them are {word}" for sign, word in words if above[sign])
        if censored == "drop":
            column.values = np.where(column.bounds == 0, column.values, np.nan)
            for row in np.flatnonzero(column.bounds):
                column.refused[int(row)] = f"{different[codes[row]]!r} is a bound, and data.censored is 'drop'"
            column.bounds[:] = 0
        what = "left out" if censored == "drop" else "trained on as the bound and left out of the scores"
        column.notes.append(f"{name!r}: {known.sum():,} values, {counts}; those are {what} (data.censored)")
    return column, its_unit


def _empty_bounds(column: Column) -> np.ndarray:
    """Rows whose bound nearly all exact values are beyond. Trained on as a number, it would be the opposite of true."""
    exact = column.values[(column.bounds == 0) & ~np.isnan(column.values)]
    if len(exact) < FEW_EXACT:
        return np.zeros(0, dtype=np.int64)
    low, high = np.quantile(exact, [1 - BEYOND, BEYOND])
    above, below = column.bounds > 0, column.bounds < 0
    return np.flatnonzero((above & (column.values < low)) | (below & (column.values > high)))


def _one_unit(column: Column, cells: Cells, of_units: str, stated: str) -> str:
    """The unit all numbers of a column are in; molar ones are converted to the most common, others left out."""
    default = molar_unit(stated) or stated or unit_in_name(column.name)
    beside_it = [text.strip() for text in cells.texts(of_units)] if of_units else []
    units = [
        str(own) or (beside_it and (molar_unit(beside_it[row]) or beside_it[row])) or default
        for row, own in enumerate(column.units)
    ]
    known = ~np.isnan(column.values)
    counts = Counter(unit for unit, there in zip(units, known, strict=True) if there)
    if not counts:
        return default
    named = next((unit for unit in counts if unit), "")
    if counts.get("") and len(counts) == 2 and counts[named] < counts[""]:
        # A cell that needs to say its unit may do so because the others are in another one.
        column.notes.append(
            f"{column.name!r}: {counts['']:,} values have no unit and {counts[named]:,} are in {named}, which are left "
            "out: nothing says that the others are too. --set data.unit=nM (or uM, …) says what the others are in"
        )
    elif counts.get("") and len(counts) == 2:
        column.notes.append(
            f"{column.name!r}: {counts['']:,} values have no unit and are taken to be in {named}, as the others"
        )
        units, counts = [unit or named for unit in units], Counter({named: sum(counts.values())})
    common = counts.most_common(1)[0][0]
    if len(counts) > 1:
        if common in MOLAR:
            factors = np.array([MOLAR[unit] / MOLAR[common] if unit in MOLAR else 1.0 for unit in units])
            column.values = column.values * factors
            converted = sum(count for unit, count in counts.items() if unit in MOLAR and unit != common)
            if converted:
                column.notes.append(f"{column.name!r}: {converted:,} values were converted to {common}")
        for row in np.flatnonzero(known):
            if units[row] != common and not (units[row] in MOLAR and common in MOLAR):
                column.values[row] = np.nan
                own, most = (repr(unit) if unit else "not given" for unit in (units[row], common))
                column.refused[int(row)] = f"its unit is {own}, that of most is {most}"
    return common


def _one_kind(file: Path, columns: Sequence[Column], kind: str) -> Kind:
    kinds: Mapping[str, list[str]] = {"classification": [], "regression": []}
    for column in columns:
        kinds[column.kind].append(column.name)
    if kinds["classification"] and kinds["regression"]:
        classes, numbers = kinds["classification"][0], kinds["regression"][0]
        raise InputError(
            f"{file}: classes ({classes!r}) and numbers ({numbers!r}) cannot be learned together: name targets of one "
            "kind, or --set data.kind=regression to take classes as numbers"
        )
    return columns[0].kind


def _scaled(file: Path, column: Column, transform: Transform, unit: str, notes: list[str]) -> str:
    """Put the numbers of a column on the scale they are learned on; returns what the target is then called."""
    if column.kind == "classification":
        if transform != "none":
            raise InputError(f"{file}: data.transform is for numbers, and {column.name!r} holds classes")
        return column.name
    if transform == "none":
        if text := suggestion(column.name, column.values, unit):
            notes.append(text)
        return column.name
    if transform == "pIC50" and unit not in MOLAR:
        raise InputError(
            f"{file}: pIC50 needs the unit of {column.name!r}, which is not in its name or its cells: --set "
            f"data.unit=nM (or {', '.join(name for name in MOLAR if name != 'nM')})"
        )
    before = column.values
    column.values = transformed(before, transform, unit)
    for row in np.flatnonzero(np.isnan(column.values) & ~np.isnan(before)):
        column.refused[int(row)] = f"{before[row]:g} has no logarithm"
    if transform == "pIC50":
        column.bounds = -column.bounds
    said = f"−log10 of the molar value ({unit})" if transform == "pIC50" else "log10"
    notes.append(f"{column.name!r}: {said} is learned and predicted")
    return f"{transform}({column.name})"
