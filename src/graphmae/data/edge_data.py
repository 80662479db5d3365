"""What is known of a graph's edges beside their ends: weights, features, times."""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch_geometric.data import Data

logger = logging.getLogger("graphmae")
EDGE_KEYS = ("edge_weight", "edge_attr", "edge_time")


def with_edges_of(graph: Data, keep: Tensor, x: Tensor | None = None) -> Data:
    """The same nodes with the edges `keep` [E] alone, and what is known of these; without labels."""
    from torch_geometric.data import Data

    out = Data(x=graph.x if x is None else x, edge_index=graph.edge_index[:, keep])
    for key in EDGE_KEYS:
        if key in graph:
            out[key] = graph[key][keep]
    return out


def with_usable_edges(graph: Data, name: str) -> Data:
    """A copy of a checked graph with its `edge_attr`, and with its `edge_weight` where not all are the same.

    Times of edges are left out: only those of tables are known well enough to learn from.
    """
    out = copy.copy(graph)
    if "edge_weight" in out and not bool((out.edge_weight != out.edge_weight[:1]).any()):
        del out.edge_weight
    if "edge_time" in out:
        logger.info("%s: edge_time is left aside", name)
        del out.edge_time
    return out


def summed_features(edge_index: Tensor, features: Tensor, num_nodes: int) -> Tensor:
    """[num_nodes, k] the features [E, k] of the edges into each node, added up."""
    return features.new_zeros(num_nodes, features.size(1)).index_add(0, edge_index[1], features)


def with_loops(graph: Data) -> Data:
    """A copy with one self-loop on every node, after the other edges. A loop has no features and no time.

    It weighs as much as the node's edges do on average, so a node counts as one more neighbour of itself, whatever
    weights are measured in; where a node has no edges it does not matter.
    """
    apart = graph.edge_index[0] != graph.edge_index[1]
    out = copy.copy(graph)
    nodes = torch.arange(int(graph.num_nodes))
    ends = graph.edge_index[:, apart]
    out.edge_index = torch.cat([ends, nodes.expand(2, -1)], dim=1)
    if "edge_weight" in graph:
        weight = graph.edge_weight[apart]
        out.edge_weight = torch.cat([weight, _mean_weights(ends, weight, len(nodes))])
    if "edge_attr" in graph:
        features = graph.edge_attr[apart]
        out.edge_attr = torch.cat([features, features.new_zeros(len(nodes), features.size(1))])
    if "edge_time" in graph:
        times = graph.edge_time[apart]
        out.edge_time = torch.cat([times, times.new_full((len(nodes),), torch.nan)])
    return out


def _mean_weights(ends: Tensor, weight: Tensor, nodes: int) -> Tensor:
    """[nodes] mean weight of the edges from and to each node; of all edges where there are none."""
    total, count = torch.zeros(2, nodes, dtype=torch.float64)
    for side in ends:
        total.index_add_(0, side, weight.double())
        count.index_add_(0, side, torch.ones(len(side), dtype=torch.float64))
    usual = weight.double().mean() if len(weight) else torch.ones((), dtype=torch.float64)
    return torch.where(count > 0, total / count.clamp(min=1), usual).to(weight.dtype)
