"""Empty cells of a node table, filled from the node's surroundings and its other columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..data import TableGraph
from ..data.tables.cells import strings
from ..data.tables.columns import Column
from ..methods import GraphMAE
from ..runtime.errors import InputError
from .reconstruction import reconstruct

MIN_ROWS, MAX_ROWS = 20, 50_000  # rows with a value a column needs; rows it learns from


@dataclass(frozen=True)
class Filled:
    """One column: the values for its empty cells, and how good such values are where the truth is known."""

    column: str
    rows: np.ndarray  # of the node table
    values: list[object]
    metric: str  # "R²" or "accuracy"
    score: float  # on cells held out, in five folds
    plain: float  # of the mean, or of the most frequent value


def impute(
    model: GraphMAE, graph: TableGraph, table: pa.Table, device: torch.device | str = "cpu"
) -> tuple[pa.Table, list[Filled]]:
    """The node table with empty cells filled where a column is a number, a category or true/false, and what was done.

    A cell is predicted from two things: the features the decoder expects of the hidden node, and the node's other
    columns. Where that is no better than the mean or the most frequent value, those are taken. Columns with fewer than
    20 values are left as they are.
    """
    if graph.cells is None:
        raise InputError("there is no node table, so there are no cells to fill")
    rows = graph.nodes_of(table.column(graph.id_name))  # a row that repeats another is the same node
    expected = reconstruct(model, graph, device).numpy()
    own, done, begin = graph.graphs[0].x.numpy(), [], 0
    for number, column in enumerate(graph.columns):
        block = slice(begin, begin + column.width)
        begin += column.width
        there = graph.cells[:, number][rows]
        if there.all() or there.sum() < MIN_ROWS or column.kind not in ("number", "category", "boolean"):
            continue
        others = np.delete(own, np.r_[block], axis=1)
        seen = np.hstack([expected, others])[rows]
        filled = _fill(column, table.column(column.name), seen, there)
        table = _with(table, filled)
        done.append(filled)
    return table, done


def _fill(column: Column, values: pa.ChunkedArray, seen: np.ndarray, there: np.ndarray) -> Filled:
    numeric = column.kind == "number"
    truth = column.numbers(values)[there] if numeric else _texts(column, values)[there].astype(str)
    logarithmic = numeric and bool(column.learned["logarithmic"])
    if logarithmic:
        truth = np.log1p(truth)
    known, generator = seen[there], np.random.default_rng(0)
    chosen = generator.permutation(len(known))[:MAX_ROWS]
    known, truth = known[chosen], truth[chosen]

    def make() -> object:
        last = Ridge(10.0) if numeric else LogisticRegression(C=0.1, max_iter=300)
        return make_pipeline(StandardScaler(), last)

    if not numeric and len(np.unique(truth)) == 1:
        return Filled(column.name, (~there).nonzero()[0], [truth[0]] * int((~there).sum()), "accuracy", 1.0, 1.0)
    guesses = np.empty_like(truth)
    for fit, held in KFold(5, shuffle=True, random_state=0).split(known):
        if numeric or len(np.unique(truth[fit])) > 1:
            guesses[held] = make().fit(known[fit], truth[fit]).predict(known[held])  # type: ignore[attr-defined]
        else:
            guesses[held] = truth[fit][0]
    answers = make().fit(known, truth).predict(seen[~there])  # type: ignore[attr-defined]
    if numeric:
        score, plain = float(r2_score(truth, guesses)), 0.0
        if score <= plain:
            answers = np.full(len(answers), truth.mean())
        answers = np.expm1(answers) if logarithmic else answers
        if pa.types.is_integer(values.type):
            answers = np.rint(answers).astype(np.int64)
    else:
        common = np.unique(truth, return_counts=True)[1].max() / len(truth)
        score, plain = float(accuracy_score(truth, guesses)), float(common)
        if score <= plain:
            levels, counts = np.unique(truth, return_counts=True)
            answers = np.full(len(answers), levels[counts.argmax()])
    metric = "R²" if numeric else "accuracy"
    return Filled(column.name, (~there).nonzero()[0], answers.tolist(), metric, score, plain)


def _texts(column: Column, values: pa.ChunkedArray) -> np.ndarray:
    return column.spellings(values) if column.kind == "category" else strings(values)


def _with(table: pa.Table, filled: Filled) -> pa.Table:
    """The table with those cells replaced; a column keeps its type where the values fit it."""
    index = table.column_names.index(filled.column)
    values = table.column(index)
    cells = values.to_pylist()
    for row, value in zip(filled.rows.tolist(), filled.values, strict=True):
        cells[row] = value
    try:
        new = pa.array(cells, values.type)
    except (pa.ArrowException, TypeError):
        new = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    return table.set_column(index, filled.column, new)
