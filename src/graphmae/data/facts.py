"""What a graph is like, in the few numbers defaults are chosen by."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .nodes import NodeDataset


@dataclass(frozen=True)
class GraphFacts:
    """Attributes:
    density: share of the features that are not zero.
    """

    nodes: int
    edges: int
    features: int
    density: float

    @property
    def mean_degree(self) -> float:
        return self.edges / max(self.nodes, 1)


def facts_of_graph(dataset: NodeDataset) -> GraphFacts:
    """Of the graphs pre-training sees; self-loops are not counted."""
    graphs = dataset.pretrain_graphs()
    edges = sum(int((g.edge_index[0] != g.edge_index[1]).sum()) for g in graphs)
    filled = sum(int(torch.count_nonzero(g.x)) for g in graphs) / max(1, sum(g.x.numel() for g in graphs))
    nodes = sum(int(g.x.size(0)) for g in graphs)
    return GraphFacts(nodes, edges, dataset.in_channels, filled)
