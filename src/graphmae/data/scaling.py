"""From a set as it was read to the set the encoder trains on: feature scaling, self-loops, checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from ..runtime.errors import DataError
from .checks import LARGEST, LARGEST_RAW, check_graph, check_size, check_tiny
from .edge_data import with_loops, with_usable_edges
from .nodes import NodeDataset
from .treatment import Features


def prepare(
    dataset: NodeDataset, features: Features, self_loops: bool, moments: Mapping[str, list[float]] | None = None
) -> NodeDataset:
    """Check every graph, scale its features, put exactly one self-loop on every node (or leave the edges alone).

    `moments` are the mean and deviation to standardise with; without them the training nodes' own are used. What was
    done is kept in `treatment`.
    """
    several = len(dataset.graphs) > 1
    checked = [
        check_graph(g, f"{dataset.name}, graph {i}" if several else dataset.name) for i, g in enumerate(dataset.graphs)
    ]
    dataset = replace(dataset, graphs=tuple(checked))
    for graph in checked:
        check_size(graph.x, LARGEST_RAW if features == "standardize" else LARGEST, dataset.name)
        if features != "standardize":
            check_tiny(graph.x, dataset.name)
    treatment: dict[str, Any] = {"features": features, "self_loops": self_loops}
    if features == "standardize":
        treatment["moments"] = dict(moments) if moments is not None else _training_moments(dataset)
        mean, std = (torch.tensor(treatment["moments"][key], dtype=torch.float64) for key in ("mean", "std"))
        if len(mean) != dataset.in_channels:
            raise DataError(f"{dataset.name} has {dataset.in_channels} features; the stored scale is for {len(mean)}")
    graphs = []
    for graph in checked:
        treated = with_usable_edges(graph, dataset.name)
        if features == "row-normalize":
            total = treated.x.sum(1, keepdim=True)
            treated.x = treated.x / torch.where(total != 0, total, 1.0)
        elif features == "standardize":
            treated.x = ((treated.x.double() - mean) / std).float()
            check_size(treated.x, LARGEST, f"{dataset.name}, standardised")
        if self_loops:
            treated = with_loops(treated)
        graphs.append(treated)
    return replace(dataset, graphs=tuple(graphs), treatment=treatment)


def _training_moments(dataset: NodeDataset) -> dict[str, list[float]]:
    """Mean and deviation of every feature over the training nodes alone: test nodes never shape the scale."""
    if "train" in dataset.splits:
        rows = [dataset.graphs[i].x[mask] for i, mask in dataset.splits["train"]]
    else:
        rows = [graph.x for graph in dataset.pretrain_graphs()]
    x = torch.cat(rows).double()
    std = x.std(0, correction=0)
    return {"mean": x.mean(0).tolist(), "std": torch.where(std > 0, std, 1.0).tolist()}
