"""What the autoencoder says of a node while the node is hidden, and so how unusual the node is."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from .. import kernels
from ..data import NodeDataset, TableGraph
from ..methods import GraphMAE
from ..runtime.device import resolve_device
from ..runtime.errors import InputError


@torch.no_grad()
def reconstruct(
    model: GraphMAE,
    data: Data | NodeDataset,
    device: torch.device | str = "cpu",
    share: float | None = None,
    seed: int = 0,
) -> Tensor:
    """[num_nodes, features]: every node's features as predicted while they are hidden.

    A `share` of the nodes, drawn by `seed`, is hidden at a time (default: the model's own mask rate), but at most half.
    Of tables, in the order of their rows.
    """
    if isinstance(data, NodeDataset):
        return _in_rows(reconstruct(model, _only(data), device, share, seed), data)
    if int(model.decoder.out_channels) != int(data.x.size(1)):
        raise InputError(
            f"the model reconstructs {model.decoder.out_channels} features; this graph has {data.x.size(1)}"
        )
    place = resolve_device(device)
    was_training = model.training
    model.eval().to(place)
    x, nodes = data.x.to(place), int(data.x.size(0))
    graph = kernels.adjacency(data.edge_index.to(place), nodes)
    share = float(getattr(model.mask, "rate", 0.5)) if share is None else share
    order = torch.randperm(nodes, generator=torch.Generator().manual_seed(seed))
    out = torch.empty(nodes, x.size(1))
    for hidden in order.chunk(max(2, round(1 / share))):
        out[hidden] = model.reconstruct(x, graph, hidden.to(place)).float().cpu()
    model.train(was_training)
    return out


def anomaly_scores(
    model: GraphMAE,
    data: Data | NodeDataset,
    device: torch.device | str = "cpu",
    rounds: int = 5,
    share: float | None = None,
) -> Tensor:
    """[num_nodes], from 0 up: how little a node's features look like what its surroundings let expect.

    The mean, over `rounds` draws, of 1 − cos between features and reconstruction. NaN for nodes without any feature.
    Of tables, in the order of their rows. `share` as in `reconstruct`.
    """
    if isinstance(data, NodeDataset):
        return _in_rows(anomaly_scores(model, _only(data), device, rounds, share), data)
    total = torch.zeros(int(data.x.size(0)))
    for seed in range(rounds):
        total += 1 - F.cosine_similarity(reconstruct(model, data, device, share, seed), data.x)
    empty = data.x.abs().sum(1) == 0
    return torch.where(empty, torch.nan, total.clamp(min=0) / rounds)


def _only(dataset: NodeDataset) -> Data:
    graphs = dataset.every_node()
    if len(graphs) != 1:
        raise InputError(f"{dataset.name} has {len(graphs)} graphs; hand them in one by one")
    return graphs[0]


def _in_rows(found: Tensor, dataset: NodeDataset) -> Tensor:
    return found[torch.from_numpy(dataset.rows)] if isinstance(dataset, TableGraph) else found
