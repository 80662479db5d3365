"""Empty cells of a node table, filled from the node's surroundings and its other columns."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from scipy.stats import t as student

from ..data import TableGraph
from ..data.tables.cells import is_missing, is_numeric, strings
from ..data.tables.columns import Column
from ..data.tables.numbers import stand_for_missing
from ..methods import GraphMAE
from ..runtime.counting import counted
from ..runtime.errors import InputError
from .anomalies import neighbour_mean
from .as_written import date_step, decimals_of, writer
from .reconstruction import reconstruct
from .ridge import cross_validated, principal

MIN_ROWS = 20  # with a value, that a column needs
MAX_ROWS, ALL_ROWS = (3_000, 20_000), 2_000_000  # that a column learns from; that all columns together do
EXPECTED, OTHERS = 32, 64  # components of what the decoder expects of a node, and of the node's other columns
GROUPS = 8  # of columns, at most, that are filled from the same components
LEVEL = 0.01  # chance that a model no better than the simple fill is taken, over all regularisations
FILLED = ("number", "category", "boolean")


@dataclass(frozen=True)
class Filled:
    """One column: the values for its empty cells, and how good such values are where the truth is known."""

    column: str
    rows: np.ndarray  # of the node table
    values: list[object]  # as the table has them
    numbers: np.ndarray  # the same as numbers (dates: seconds since 1970); empty for categories
    metric: str  # "R²" or "accuracy"
    score: float  # of the model on cells held out, in five folds
    plain: float  # of the mean, or of the most frequent value, on the same cells
    by_model: bool  # better than that by more than chance, and so used
    notation: str = ""  # of numbers in text


def impute(
    model: GraphMAE,
    graph: TableGraph,
    table: pa.Table,
    device: torch.device | str = "cpu",
    progress: bool = False,
) -> tuple[pa.Table, list[Filled]]:
    """The node table with empty cells filled where a column is a number, a category or true/false, and what was done.

    A cell is predicted, by a ridge regression, from four things: the features the decoder expects of the hidden node,
    those it expects in this column, the neighbours' mean of it, and the node's other columns. The model is used where
    it is better than the mean or the most frequent value by more than chance (a paired t-test over cells held out, at
    1 %); elsewhere those are taken. Numbers have as many decimals as the others of their column and stay in its range.
    Cells with something in them are left as they are, columns with fewer than 20 values too.
    """
    if graph.cells is None:
        raise InputError("there is no node table, so there are no cells to fill")
    rows = graph.nodes_of(table.column(graph.id_name))  # a row that repeats another is the same node
    own = graph.single_graph()
    expected, x = reconstruct(model, graph, device).numpy(), own.x.numpy()
    neighbours, begin, blocks, done = neighbour_mean(own.edge_index.numpy(), len(x)), 0, [], []
    for column in graph.columns:
        blocks.append(np.arange(begin, begin + column.width))
        begin += column.width
    asked = [i for i, column in enumerate(graph.columns) if _can_be_filled(column, table)]
    around, most = principal(expected, EXPECTED), int(np.clip(ALL_ROWS // max(len(asked), 1), *MAX_ROWS))
    for turn, i in enumerate(counted(asked, "columns filled", progress)):
        column, values, block = graph.columns[i], table.column(graph.columns[i].name), blocks[i]
        if turn % max(1, len(asked) // GROUPS) == 0:
            # Main axes fitted with a column know its cells, also those held out: no column of a group is in its axes.
            group = [blocks[j] for j in asked[turn : turn + max(1, len(asked) // GROUPS)]]
            others = principal(np.delete(x, np.concatenate(group), axis=1), OTHERS)
        known = graph.cells[rows, i]
        if known.sum() < MIN_ROWS:
            continue
        seen = np.hstack([around, others, expected[:, block], neighbours @ x[:, block]])[rows]
        filled = _fill(column, values, x[:, block][rows], seen, known, most)
        table = _with(table, filled)
        done.append(filled)
    return table, done


def _can_be_filled(column: Column, table: pa.Table) -> bool:
    return column.kind in FILLED and bool(_is_empty(column, table.column(column.name)).any())


def _is_empty(column: Column, values: pa.ChunkedArray) -> np.ndarray:
    """[rows]: cells without a value, or with a number that means "missing", such as -999."""
    return is_missing(values) | stand_for_missing(values, column.learned)


def _fill(
    column: Column,
    values: pa.ChunkedArray,
    block: np.ndarray,
    seen: np.ndarray,
    known: np.ndarray,
    most: int,
) -> Filled:
    """The values for the empty cells, learned from at most `most` of the `known` ones.

    `block` holds the column's own features, `seen` what its cells are predicted from.
    """
    if column.kind == "category":
        known = known & block.any(1)  # not levels that were never seen in training
    learned_from = np.random.default_rng(0).permutation(known.nonzero()[0])[:most]
    ask = _is_empty(column, values).nonzero()[0]
    if column.kind == "number":
        numbers = column.numbers(values)[learned_from]
        logarithmic = bool(column.learned.get("logarithmic"))
        truth = (np.log1p(numbers) if logarithmic else numbers)[:, None]
    else:
        codes = (block[:, 0] > 0.5).astype(int) if column.kind == "boolean" else block.argmax(1)
        level, spelling = _levels(codes, strings(values), known)
        truth = np.eye(len(spelling), dtype=np.float32)[level[learned_from]]
    tried = cross_validated(seen[learned_from], truth, seen[ask])
    if column.kind == "category" and column.learned.get("other"):
        rare = level[codes == len(column.learned["levels"])][:1]  # many levels taken together: none of them is likely
        for scores in (tried.plain, *tried.guesses, *tried.answers):
            scores[:, rare] = -np.inf
    if column.kind == "number":
        losses = [(guess[:, 0] - truth[:, 0]) ** 2 for guess in (tried.plain, *tried.guesses)]
        best, by_model = _better(losses)
        spread = float(((truth - truth.mean()) ** 2).sum()) or 1.0
        score, plain = (1 - float(losses[i].sum()) / spread for i in (best + 1, 0))
        answers = tried.answers[best][:, 0] if by_model else np.full(len(ask), truth.mean())
        found = _rounded(np.expm1(answers) if logarithmic else answers, numbers, values)
        cells, notation = _cells(found, column, values), str(column.learned.get("notation", ""))
        return Filled(column.name, ask, cells, found, "R²", score, plain, by_model, notation)
    right = truth.argmax(1)
    losses = [(guess.argmax(1) != right).astype(float) for guess in (tried.plain, *tried.guesses)]
    best, by_model = _better(losses)
    chosen = tried.answers[best].argmax(1) if by_model else np.full(len(ask), tried.plain[0].argmax())
    names = [spelling[i] for i in chosen]
    score, plain = (1 - float(losses[i].mean()) for i in (best + 1, 0))
    return Filled(column.name, ask, names, np.empty(0), "accuracy", score, plain, by_model)


def _levels(codes: np.ndarray, text: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, list[object]]:
    """[rows] numbers of levels, of those that occur, and how each is written most often."""
    occurring, level = np.unique(codes[known], return_inverse=True)
    out = np.zeros(len(codes), dtype=int)
    out[known] = level
    forms = [Counter(text[known][level == i].tolist()).most_common(1)[0][0] for i in range(len(occurring))]
    return out, forms


def _better(losses: list[np.ndarray]) -> tuple[int, bool]:
    """(which of the models, those after the first, loses least; whether the first loses more by more than chance)."""
    best = int(np.argmin([loss.mean() for loss in losses[1:]]))
    gain = losses[0] - losses[best + 1]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    limit = student.ppf(1 - LEVEL / (len(losses) - 1), len(gain) - 1)
    return best, bool(gain.mean() > limit * error and gain.mean() > 0)


def _rounded(answers: np.ndarray, numbers: np.ndarray, values: pa.ChunkedArray) -> np.ndarray:
    """Within the range of the known `numbers`, and as exact as they are."""
    answers = np.clip(answers, numbers.min(), numbers.max())
    if _is_time(values):
        step = date_step(numbers)
        return np.rint(answers / step) * step
    return np.round(answers, 0 if pa.types.is_integer(values.type) else decimals_of(numbers))


def _is_time(values: pa.ChunkedArray) -> bool:
    """Whether the numbers of the column are a time: as its type says, or text that begins like a date."""
    if not _is_text(values.type):
        return not is_numeric(values.type)
    first = next((text for text in strings(values.slice(0, 1000)) if text), "")
    return re.match(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b", first) is not None


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)


def _cells(found: np.ndarray, column: Column, values: pa.ChunkedArray) -> list[object]:
    """Numbers as cells of the column's type."""
    kind = values.type
    if _is_text(kind):
        numbers, text = column.numbers(values), strings(values)
        known = np.isfinite(numbers)
        write = writer(text[known].tolist(), numbers[known])
        return [write(value) for value in found]
    if pa.types.is_floating(kind):
        return found.tolist()
    whole = pa.array(found.astype(np.int64))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return whole.cast(pa.timestamp("s")).cast(kind, safe=False).to_pylist()
    if pa.types.is_decimal(kind):
        return pa.array(found).cast(kind, safe=False).to_pylist()
    return whole.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(kind).to_pylist()


def _with(table: pa.Table, filled: Filled) -> pa.Table:
    """The table with those cells replaced; the column keeps its type."""
    index = table.column_names.index(filled.column)
    values = table.column(index)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    answers: list[object] = filled.values
    if filled.metric == "accuracy" and not _is_text(kind):
        answers = pa.array([str(value) for value in answers], pa.string()).cast(kind).to_pylist()
    cells = values.to_pylist()
    for row, value in zip(filled.rows.tolist(), answers, strict=True):
        cells[row] = value
    return table.set_column(index, filled.column, pa.array(cells, kind).cast(values.type))
