"""Features of nodes made from their edges: how many there are, what they weigh, what columns hold, how new they are.

They are made from the edges that are there: where some are held out, those do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch_geometric.data import Data

DIRECTED, BOTH_WAYS = ("edges out", "edges in"), ("edges",)


def edge_feature_names(columns: Sequence[str], weighted: bool, timed: bool, directed: bool) -> list[str]:
    """What `node_features` are called, for edges with these columns.

    >>> edge_feature_names(["price"], weighted=False, timed=True, directed=False)
    ['edges: number', 'edges: price, mean', 'edges: newest', 'edges: mean time']
    """
    each = ["number", *["weight"] * weighted, *(f"{name}, mean" for name in columns)]
    each += ["newest", "mean time"] * timed
    return [f"{side}: {name}" for side in (DIRECTED if directed else BOTH_WAYS) for name in each]


def node_features(
    graph: Data, directed: bool, scale: Mapping[str, Any] | None = None
) -> tuple[np.ndarray, Mapping[str, Any]]:
    """([nodes, k] float32, the scale that was used): the logarithm of the number of a node's edges and of their weight,
    the mean of every column, the newest and the mean time; outgoing and incoming edges apart where `directed`.

    Standardised by the scale given, or their own; what a node without edges does not have is 0, the mean. Self-loops
    do not count.
    """
    apart = (graph.edge_index[0] != graph.edge_index[1]).numpy()
    ends, nodes = graph.edge_index.numpy()[:, apart], int(graph.x.size(0))
    weight, time = (
        graph[key].double().numpy()[apart] if key in graph else None for key in ("edge_weight", "edge_time")
    )
    features = graph.edge_attr.double().numpy()[apart] if "edge_attr" in graph else np.zeros((ends.shape[1], 0))
    found = np.column_stack(
        [column for side in ends[: 2 if directed else 1] for column in _of_side(side, nodes, weight, features, time)]
    )
    if scale is None:
        there = [column[np.isfinite(column)] for column in found.T]
        mean = [float(column.mean()) if len(column) else 0.0 for column in there]
        spread = [float(column.std()) if len(column) else 0.0 for column in there]
        scale = {"mean": mean, "std": [value if value > 1e-9 else 1.0 for value in spread]}
    scaled = (found - np.asarray(scale["mean"])) / np.asarray(scale["std"])
    return np.clip(np.nan_to_num(scaled, nan=0.0), -1e4, 1e4).astype(np.float32), scale


def _of_side(
    side: np.ndarray, nodes: int, weight: np.ndarray | None, features: np.ndarray, time: np.ndarray | None
) -> list[np.ndarray]:
    """Columns [nodes], NaN where there is nothing to tell."""
    number = np.bincount(side, minlength=nodes)
    out = [np.log1p(number)]
    if weight is not None:
        total = np.bincount(side, weights=weight, minlength=nodes)
        out.append(np.where(number > 0, np.log(np.where(number > 0, total, 1.0)), np.nan))
    for column in features.T:
        out.append(_mean(np.bincount(side, weights=column, minlength=nodes), number))
    if time is not None:
        known = np.isfinite(time)
        newest = np.full(nodes, -np.inf)
        np.maximum.at(newest, side[known], time[known])
        out.append(np.where(np.isfinite(newest), newest, np.nan))
        total = np.bincount(side[known], weights=time[known], minlength=nodes)
        out.append(_mean(total, np.bincount(side[known], minlength=nodes)))
    return out


def _mean(total: np.ndarray, number: np.ndarray) -> np.ndarray:
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
