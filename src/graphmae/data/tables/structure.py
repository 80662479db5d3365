"""Features for graphs that have none: how many neighbours a node has, and how likely a random walk is back soon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...runtime.compiled import compiled
from ..treatment import STEPS, STRUCTURE

NAMES = STRUCTURE
MAX_WORK = 4_000_000_000  # sums of squared degrees beyond it take minutes: return probabilities are left out there


def structural_features(edge_index: np.ndarray, nodes: int) -> np.ndarray:
    """[nodes, 5] float64: log degree, mean log degree of the neighbours, return probabilities after 2, 3, 4 steps.

    Of the graph read both ways, without self-loops: `edge_index` [2, edges] holds every edge in both directions.

    >>> triangle = np.array([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    >>> structural_features(triangle, 3)[0, 2:]
    array([0.5  , 0.25 , 0.375])
    """
    order = np.argsort(edge_index[0], kind="stable")
    column = np.ascontiguousarray(edge_index[1][order])
    degree = np.bincount(edge_index[0], minlength=nodes)
    start = np.concatenate([[0], np.cumsum(degree)])
    log_degree = np.log1p(degree)
    around = np.bincount(edge_index[0], weights=log_degree[edge_index[1]], minlength=nodes) / np.maximum(degree, 1)
    returns = np.zeros((nodes, len(STEPS)))
    if float((degree.astype(np.float64) ** 2).sum()) <= MAX_WORK:
        _returns(start, column, degree, returns)
    return np.column_stack([log_degree, around, returns])


def standardised(
    edge_index: np.ndarray, nodes: int, directed: bool, scale: Mapping[str, Any] | None
) -> tuple[np.ndarray, Mapping[str, Any]]:
    """([nodes, 5] float32, the scale that was used): the scale given, or their own."""
    both = np.unique(np.hstack([edge_index, edge_index[::-1]]), axis=1) if directed else edge_index
    found = structural_features(both, nodes)
    if scale is None:
        spread = found.std(0)
        scale = {"mean": found.mean(0).tolist(), "std": np.where(spread > 1e-9, spread, 1.0).tolist()}
    return ((found - scale["mean"]) / scale["std"]).astype(np.float32), scale


@compiled
def _returns(start: np.ndarray, column: np.ndarray, degree: np.ndarray, out: np.ndarray) -> None:
    """Return probabilities after 2, 3 and 4 steps into `out` [nodes, 3].

    With p₂(j) the chance to stand on j after two steps: back in 3 is Σ p₂(j) / d_j over the neighbours j, and, as
    p₂(i → j) d_i = p₂(j → i) d_j, back in 4 is Σ p₂(j)² d_i / d_j over all j.
    """
    reached = np.zeros(len(degree))  # p₂ of one node at a time
    touched = np.empty(len(degree), dtype=np.int64)
    for i in range(len(degree)):
        if degree[i] == 0:
            continue
        count = 0
        for e in range(start[i], start[i + 1]):
            j = column[e]
            step = 1.0 / (degree[i] * degree[j])
            for f in range(start[j], start[j + 1]):
                k = column[f]
                if reached[k] == 0.0:
                    touched[count] = k
                    count += 1
                reached[k] += step
        out[i, 0] = reached[i]
        back = 0.0
        for e in range(start[i], start[i + 1]):
            j = column[e]
            back += reached[j] / degree[j]
        out[i, 1] = back
        back = 0.0
        for t in range(count):
            k = touched[t]
            back += reached[k] * reached[k] * degree[i] / degree[k]
            reached[k] = 0.0
        out[i, 2] = back
