"""The files of a TU set, line by line: parsed, checked, and every broken one named."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...runtime.compiled import compiled
from ...runtime.errors import DataError
from ..checks import LARGEST

NEEDED, OPTIONAL = ("A", "graph_indicator"), ("graph_labels", "node_labels", "node_attributes")


def read(prefix: str, files: Mapping[str, Path]) -> dict[str, Tensor]:
    """Parse the files; a broken one is named. Nodes and edges come out sorted by graph, otherwise in their order."""
    path = {part: files.get(f"{prefix}_{part}.txt") for part in (*NEEDED, *OPTIONAL)}
    assert path["A"] is not None and path["graph_indicator"] is not None
    indicator = _whole_numbers(path["graph_indicator"])[0]
    labels = _whole_numbers(path["graph_labels"])[0] if path["graph_labels"] else None
    graph, node_ptr = _graphs(path["graph_indicator"], indicator, path["graph_labels"], labels)
    order = None if (np.diff(graph) >= 0).all() else np.argsort(graph, kind="stable")

    out: dict[str, Any] = {"node_ptr": node_ptr}
    if labels is not None:
        out["y"] = np.unique(labels, return_inverse=True)[1]
    for part, parse in (("labels", _node_labels), ("attributes", _attributes)):
        if source := path[f"node_{part}"]:
            rows = parse(source)
            if len(rows) != len(graph):
                raise DataError(
                    f"{source} has {len(rows)} lines, {path['graph_indicator'].name} {len(graph)}; both must have one "
                    "a node, so one of them is truncated or they do not belong together"
                )
            out[part] = rows if order is None else rows[order]
    edges = _edges(path["A"], graph)
    owner = graph[edges[0]]
    if order is not None:
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        edges = rank[edges]
    if (owner[1:] < owner[:-1]).any():
        order = np.argsort(owner, kind="stable")
        edges, owner = edges[:, order], owner[order]
    edges -= node_ptr.astype(np.int32)[owner]
    out |= {"edge_index": edges, "edge_ptr": _pointer(np.bincount(owner, minlength=len(node_ptr) - 1))}
    return {key: torch.from_numpy(value) for key, value in out.items()}


def _graphs(
    path: Path, indicator: np.ndarray, labels_path: Path | None, labels: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The graph of every node, from 0 up, and the node pointer."""
    if len(indicator) == 0:
        raise DataError(f"{path} is empty; it must name the graph of every node")
    if indicator.min() < 1:
        raise DataError(f"{path} names graph {indicator.min()}; graphs are counted from 1")
    count = int(indicator.max()) if labels is None else len(labels)
    if labels is not None and indicator.max() > count:
        raise DataError(
            f"{path} names graph {indicator.max()}, but {labels_path} has labels for {count}; one of them is truncated"
        )
    present = np.unique(indicator)
    if len(present) < count:
        gaps = np.flatnonzero(present != np.arange(1, len(present) + 1))
        first = int(gaps[0]) + 1 if len(gaps) else len(present) + 1
        raise DataError(f"{path}: graph {first} of {count} has no nodes; every graph needs at least one")
    return (indicator - 1).astype(np.int32), _pointer(np.bincount(indicator - 1))


def _edges(path: Path, graph: np.ndarray) -> np.ndarray:
    """[2, E] int32, nodes from 0 up, every edge within one graph."""
    pairs = _whole_numbers(path, columns=2)
    if pairs.size == 0:
        return pairs.astype(np.int32)
    if pairs.min() < 1 or pairs.max() > len(graph):
        wrong = pairs.min() if pairs.min() < 1 else pairs.max()
        raise DataError(f"{path} names node {wrong}, but there are {len(graph)} nodes, counted from 1")
    pairs -= 1
    edges = pairs.astype(np.int32)
    crossing = np.flatnonzero(graph[edges[0]] != graph[edges[1]])
    if len(crossing):
        a, b = edges[:, crossing[0]]
        raise DataError(
            f"{path}: {len(crossing)} edges lead from one graph into another (the first: node {a + 1} of graph "
            f"{graph[a] + 1} → node {b + 1} of graph {graph[b] + 1}); the files are damaged or do not belong together"
        )
    return edges


def _node_labels(path: Path) -> np.ndarray:
    return _whole_numbers(path)[0]


def _attributes(path: Path) -> np.ndarray:
    """[N, a] float32."""
    try:
        with warnings.catch_warnings(), np.errstate(over="ignore"):
            warnings.simplefilter("ignore", UserWarning)  # an empty file; the caller counts the rows
            rows = np.loadtxt(path, delimiter=",", comments=None, ndmin=2).astype(np.float32)
    except ValueError as error:
        raise DataError(f"{path} is truncated or not a table of numbers separated by commas ({error})") from None
    usable = np.abs(rows) <= LARGEST  # NaN is not
    if not usable.all():
        line = int(np.argmin(usable.all(1))) + 1
        raise DataError(f"{path}, line {line}: attributes must be finite numbers, at most {LARGEST:.0e}")
    return rows


def _whole_numbers(path: Path, columns: int = 1) -> np.ndarray:
    """[columns, rows] int64 from lines of whole numbers separated by commas; empty lines are passed over."""
    text = np.memmap(path, dtype=np.uint8, mode="c") if path.stat().st_size else np.empty(0, dtype=np.uint8)
    out = np.empty((columns, _count_lines(text)), dtype=np.int64)
    rows, broken = _parse(text, out)
    if broken:
        with path.open("rb") as file:
            line = next(islice(file, broken - 1, None)).decode(errors="replace").strip()
        expected = "one whole number" if columns == 1 else f"{columns} whole numbers separated by commas"
        raise DataError(f"{path}, line {broken}: {line[:60]!r} is not {expected}; the file is truncated or damaged")
    return out[:, :rows]


@compiled
def _count_lines(text):  # type: ignore[no-untyped-def]
    lines = 1
    for byte in text:
        lines += byte == 10
    return lines


@compiled
def _parse(text, out):  # type: ignore[no-untyped-def]
    """Fills `out`; returns (rows, 0), or (rows, number of the first line that does not have the form)."""
    columns = out.shape[0]
    row, column, line = 0, 0, 1
    value, digits, sign, ended = 0, 0, 0, False
    marked = len(text) >= 3 and text[0] == 0xEF and text[1] == 0xBB and text[2] == 0xBF  # as Windows editors do
    for i in range(3 if marked else 0, len(text) + 1):
        byte = int(text[i]) if i < len(text) else 10
        if 48 <= byte <= 57:
            digits += 1
            if ended or digits > 18:
                return row, line
            value = 10 * value + (byte - 48)
        elif byte == 44 or byte == 10:
            if digits:
                if column == columns:
                    return row, line
                out[column, row] = -value if sign == 45 else value
                column += 1
            elif byte == 44 or column or sign:
                return row, line
            if byte == 10:
                if column:
                    if column < columns:
                        return row, line
                    row += 1
                column = 0
                line += 1
            value, digits, sign, ended = 0, 0, 0, False
        elif byte == 32 or byte == 9 or byte == 13:
            if sign and not digits:
                return row, line
            ended = digits > 0
        elif (byte == 45 or byte == 43) and not digits and not sign:
            sign = byte
        else:
            return row, line
    return row, 0


def _pointer(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
