"""The further columns of edge tables: one may be a weight, one a time, the others become features of edges."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import unknown
from .cells import as_text, is_date, is_numeric
from .columns import Column
from .fitting import fit_columns
from .report import Report, count, some

WEIGHT_WORDS = {"weight", "weights", "w", "strength", "count", "counts", "score", "value", "amount", "times"}
TIME_WORDS = {"time", "times", "timestamp", "ts", "date", "datetime", "day", "year", "when", "at"}
ROLES = ("weight", "time")
NOT_OF_EDGES = ("text", "bag", "vector")
MOST_BYTES = 1 << 30  # of the features of all edges


@dataclass(frozen=True)
class EdgeValues:
    """What the columns say of every edge: `weight` [E], `time` [E] (NaN: none), `features` [E, k]."""

    weight: np.ndarray | None
    time: np.ndarray | None
    features: np.ndarray


@dataclass(frozen=True)
class EdgeColumns:
    """Which columns are used, and what was learned from them."""

    weight: Column | None = None
    time: Column | None = None
    columns: tuple[Column, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.weight or self.time or self.columns)

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)

    @property
    def names(self) -> dict[str, str]:
        """What the columns with a role are called."""
        return {role: column.name for role in ROLES if (column := getattr(self, role)) is not None}

    @property
    def feature_names(self) -> list[str]:
        return [name for column in self.columns for name in column.feature_names]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        roles = {role: column.to_dict() for role in ROLES if (column := getattr(self, role)) is not None}
        return {**roles, "columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> EdgeColumns:
        roles = {role: Column.from_dict(stored[role]) for role in ROLES if role in stored}
        return cls(**roles, columns=tuple(Column.from_dict(each) for each in stored.get("columns", ())))

    def encode(self, table: pa.Table, name: str, report: Report) -> EdgeValues:
        """Of every row of the table called `name`; what it lacks or cannot be read is a problem of the report."""
        wanted = [column for column in (self.weight, self.time, *self.columns) if column is not None]
        lacking = [column.name for column in wanted if column.name not in table.column_names]
        if lacking:
            missing = some(sorted(lacking), 8)
            report.problem(f"the model was trained with columns these edges do not have: {missing}", name)
            return EdgeValues(None, None, np.zeros((table.num_rows, self.width), dtype=np.float32))
        blocks = [column.encode(table.column(column.name))[0] for column in self.columns]
        none = np.zeros((table.num_rows, 0), dtype=np.float32)
        time = None if self.time is None else self.time.numbers(table.column(self.time.name))
        return EdgeValues(
            None if self.weight is None else _weights(self.weight, table.column(self.weight.name), name, report),
            None if time is None else np.where(np.isfinite(time), time, np.nan),
            np.hstack([none, *blocks]),
        )


def _weights(column: Column, values: pa.ChunkedArray, name: str, report: Report) -> np.ndarray:
    numbers = column.numbers(values)
    missing = ~np.isfinite(numbers)
    if (numbers[~missing] <= 0).any():
        report.problem(f"the weights of edges, {column.name!r}, must be above 0, and some are not", name)
    if missing.any():
        usual = column.learned["usual"]
        lacking = count(int(missing.sum()), "edge")
        report.repair(f"{lacking} without a weight in {column.name!r} count with the median, {usual:g}")
        numbers = np.where(missing, usual, numbers)
    return numbers


def fit_edge_columns(
    table: pa.Table, asked: Mapping[str, str], kinds: Mapping[str, str], private: bool, name: str, report: Report
) -> EdgeColumns:
    """Decide what the columns are: by what was `asked` for (weight, time), by their names and what they hold.

    Weights are numbers above 0 that differ. Texts and lists are left aside. `name` is what the report calls the edges.
    """
    trial = Report(name)
    fitted = {column.name: column for column in fit_columns(table, kinds, trial)}
    for problem in trial.problems:
        report.problem(problem, name)
    report.repairs += trial.repairs
    report.notes += [f"{name}: {note}" for note in trial.notes]
    unfit = set()
    for role, named in asked.items():
        if named and named not in table.column_names:
            report.problem(f"{unknown('column', named, table.column_names)} (data.{role})", name)
        elif named and (why := _unfit(role, named, fitted, table)):
            report.problem(f"the column {named!r} cannot be the {role} of edges: {why}", name)
            unfit.add(role)
    chosen: dict[str, Column] = {}
    for role in (role for role in ("time", "weight") if role not in unfit):
        free = [column for column in fitted.values() if column not in chosen.values()]
        column = fitted.get(asked.get(role, "")) or _by_name(role, free, table, asked)
        if column is not None:
            chosen[role] = column
    if "weight" in chosen:
        numbers = chosen["weight"].numbers(table.column(chosen["weight"].name))
        usual = float(np.median(numbers[np.isfinite(numbers)]))
        chosen["weight"] = replace(chosen["weight"], learned={**chosen["weight"].learned, "usual": usual})
    taken = {column.name for column in chosen.values()}
    others = [column for column in fitted.values() if column.name not in taken]
    used, aside = _within_bounds([column for column in others if column.kind not in NOT_OF_EDGES], table.num_rows)
    found = EdgeColumns(
        chosen.get("weight"), chosen.get("time"), tuple(column.hidden() if private else column for column in used)
    )
    aside = {column.name: column.kind for column in others if column.kind in NOT_OF_EDGES} | aside
    _tell(found, table, trial, aside, name, report)
    for column in used:
        if column.lost:
            report.warn(f"{name}: {column.lost}")
    return found


def _unfit(role: str, name: str, fitted: Mapping[str, Column], table: pa.Table) -> str:
    """Why a column cannot have a role; "" if it can."""
    column = fitted.get(name)
    if column is None or column.kind != "number":
        return "it holds no numbers that differ" if column is None else f"it is a column of the kind {column.kind}"
    if role == "weight" and not _is_positive(column, table.column(name)):
        return "weights must be numbers above 0"
    return ""


def _by_name(role: str, columns: Sequence[Column], table: pa.Table, asked: Mapping[str, str]) -> Column | None:
    """The column whose name and cells fit a role best; those called just so come first, then by their names."""
    if asked.get(role):
        return None  # it is there and does not fit: reported
    found = []
    for column in columns:
        words, values = set(re.split(r"[\W_]+", column.name.lower())), table.column(column.name)
        if column.kind != "number" or column.name in asked.values():
            continue
        dated = is_date(values) or pa.types.is_temporal(values.type)
        if role == "time" and (dated or words & TIME_WORDS):
            found.append((not dated, len(words), column.name, column))
        if role == "weight" and not dated and words & WEIGHT_WORDS and _is_positive(column, values):
            found.append(("weight" not in words, len(words), column.name, column))
    return min(found)[-1] if found else None


def _is_positive(column: Column, values: pa.ChunkedArray) -> bool:
    numbers = column.numbers(values)
    return bool((numbers[np.isfinite(numbers)] > 0).all())


def _within_bounds(columns: Sequence[Column], rows: int) -> tuple[list[Column], dict[str, str]]:
    """(those that fit into memory as features of every edge, the narrowest first; names of the others, and why)."""
    used, width, aside = set(), 0, {}
    for column in sorted(columns, key=lambda each: (each.width, each.name)):
        if 4 * rows * (width + column.width) <= MOST_BYTES:
            used.add(column.name)
            width += column.width
        else:
            aside[column.name] = f"{column.width} columns for {rows:,} edges take too much memory"
    return [column for column in columns if column.name in used], aside


def _tell(
    found: EdgeColumns, table: pa.Table, trial: Report, aside: Mapping[str, str], name: str, report: Report
) -> None:
    """One line for every column: what it became."""
    for each, kind, note in trial.columns:
        if found.weight is not None and each == found.weight.name:
            numbers = found.weight.numbers(table.column(each))
            low, high = np.nanmin(numbers), np.nanmax(numbers)
            text = f"weights of edges, from {low:g} to {high:g}; those of repeated edges are added up"
        elif found.time is not None and each == found.time.name:
            text = "times of edges; of repeated edges the latest counts"
        elif each in aside:
            text = f"left aside ({aside[each]})"
        elif kind == "ignore":
            text = note
        else:
            named = set(re.split(r"[\W_]+", each.lower())) & WEIGHT_WORDS and kind == "number"
            other = found.weight is None and named and not _is_positive(
                next(c for c in found.columns if c.name == each), table.column(each)
            )  # fmt: skip
            why = " (no weights, as some are not above 0)" if other else ""
            text = f"{kind} of edges, {note}{why}; repeated edges have the mean"
        report.note(f"{name}: {each!r}: {text}")


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of several tables one after the other; a column some of them lack is empty there."""
    if len(tables) == 1:
        return tables[0]
    names = sorted({name for table in tables for name in table.column_names})
    columns = []
    for name in names:
        kinds = {table.schema.field(name).type for table in tables if name in table.column_names}
        kind = kinds.pop() if len(kinds) == 1 else pa.float64() if all(map(is_numeric, kinds)) else pa.string()
        parts = []
        for table in tables:
            if name not in table.column_names:
                parts.append(pa.chunked_array([pa.nulls(table.num_rows, kind)]))
            elif kind == pa.string() and table.column(name).type != kind:
                parts.append(as_text(table.column(name)))
            else:
                parts.append(table.column(name).cast(kind))
        columns.append(pa.chunked_array([chunk for part in parts for chunk in part.chunks], kind))
    return pa.table(columns, names)


def _ranks(text: pa.ChunkedArray) -> np.ndarray:
    """The place of every text among all of them in order."""
    codes = text.combine_chunks().dictionary_encode()
    places = np.empty(len(codes.dictionary), dtype=np.int64)
    places[pc.sort_indices(codes.dictionary).to_numpy()] = np.arange(len(places))
    return places[codes.indices.to_numpy()]


def canonical(keys: np.ndarray, table: pa.Table) -> np.ndarray:
    """[rows] an order of edges with these `keys` that does not depend on how they are sorted; nor do sums over it."""
    order = np.argsort(keys, kind="stable")
    same = np.diff(keys[order]) == 0
    again = np.zeros(len(keys), dtype=bool)
    again[1:] |= same
    again[:-1] |= same
    if again.any():
        rows = order[again]
        few = table.take(pa.array(rows))
        texts = [_ranks(as_text(few.column(n))) for n in sorted(few.column_names)]
        order[again] = rows[np.lexsort([*texts[::-1], keys[rows]])]
    return order
