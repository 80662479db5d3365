"""What a graph is like, in the few numbers defaults are chosen by."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from .nodes import NodeDataset

SAMPLE = 20_000


@dataclass(frozen=True)
class GraphFacts:
    """Attributes:
    density: share of the features that are not zero.
    alike: how often neighbours are more alike (cosine, centred features) than two nodes drawn at random; ½: by chance.
    """

    nodes: int
    edges: int
    features: int
    density: float
    alike: float

    @property
    def mean_degree(self) -> float:
        return self.edges / max(self.nodes, 1)


def facts_of_graph(dataset: NodeDataset) -> GraphFacts:
    """Of the graphs pre-training sees; self-loops are not counted."""
    graphs = dataset.pretrain_graphs()
    edges = sum(int((g.edge_index[0] != g.edge_index[1]).sum()) for g in graphs)
    filled = sum(int(torch.count_nonzero(g.x)) for g in graphs) / max(1, sum(g.x.numel() for g in graphs))
    nodes = sum(int(g.x.size(0)) for g in graphs)
    return GraphFacts(nodes, edges, dataset.in_channels, filled, _alike(graphs[0].x, graphs[0].edge_index))


def _alike(x: Tensor, edge_index: Tensor) -> float:
    generator = torch.Generator().manual_seed(0)
    real = (edge_index[0] != edge_index[1]).nonzero().flatten()
    if not len(real) or len(x) < 2:
        return 0.5
    chosen = real[torch.randint(len(real), (min(SAMPLE, 4 * len(real)),), generator=generator)]
    pairs = torch.randint(len(x), (2, len(chosen)), generator=generator)
    mean = x.mean(0)

    def alike(a: Tensor, b: Tensor) -> Tensor:
        return F.cosine_similarity(x[a] - mean, x[b] - mean)

    joined, drawn = alike(*edge_index[:, chosen]), alike(*pairs).sort().values
    below = torch.searchsorted(drawn, joined) + torch.searchsorted(drawn, joined, right=True)
    return float(below.double().mean() / (2 * len(drawn)))
