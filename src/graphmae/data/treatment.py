"""From a set as it was read to the set the encoder trains on: feature scaling, self-loops, checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import add_self_loops, remove_self_loops

from .base import REGISTRY, NodeDataset
from .checks import check_graph

Features = Literal["row-normalize", "standardize", "raw"]


def load(name: str, root: str | Path | None = None, **options: Any) -> NodeDataset:
    """A registered set by name, with its published treatment unless the options say otherwise.

    >>> load("synthetic").graphs[0].num_nodes
    1500
    """
    return REGISTRY.build(name, root=root, **options)


def prepare(dataset: NodeDataset, features: Features, self_loops: bool) -> NodeDataset:
    """Check every graph, scale its features, put exactly one self-loop on every node (or leave the edges alone)."""
    for index, graph in enumerate(dataset.graphs):
        check_graph(graph, dataset.name if len(dataset.graphs) == 1 else f"{dataset.name}, graph {index}")
    mean, std = _training_moments(dataset) if features == "standardize" else (None, None)
    graphs = []
    for graph in dataset.graphs:
        treated: Data = graph.clone()
        treated.x = graph.x.float()
        if features == "row-normalize":
            total = treated.x.sum(1, keepdim=True)
            treated.x = treated.x / torch.where(total != 0, total, 1.0)
        elif mean is not None:
            treated.x = ((treated.x.double() - mean) / std).float()
        edge_index = graph.edge_index.long()
        if self_loops:
            edge_index, _ = add_self_loops(remove_self_loops(edge_index)[0], num_nodes=graph.num_nodes)
        treated.edge_index = edge_index.contiguous()
        graphs.append(treated)
    return replace(dataset, graphs=tuple(graphs))


def _training_moments(dataset: NodeDataset) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every feature over the training nodes alone: test nodes never shape the scale."""
    if "train" in dataset.splits:
        rows = [dataset.graphs[i].x[mask] for i, mask in dataset.splits["train"]]
    else:
        rows = [graph.x for graph in dataset.pretrain_graphs()]
    x = torch.cat(rows).double()
    std = x.std(0, correction=0)
    return x.mean(0), torch.where(std > 0, std, 1.0)
