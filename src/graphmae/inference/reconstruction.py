"""What the autoencoder says of a node while the node is hidden."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from .. import kernels
from ..batching import GraphStore
from ..data import Dataset, GraphSet
from ..methods import GraphMAE, Method
from ..runtime.device import resolve_device
from ..runtime.errors import InputError
from ..runtime.resting import resting_copy

AT_ONCE = 256  # graphs


@torch.no_grad()
def reconstruct(
    model: GraphMAE,
    data: Data | Dataset,
    device: torch.device | str = "cpu",
    share: float | None = None,
    seed: int = 0,
) -> Tensor:
    """[num_nodes, features]: every node's features as predicted while they are hidden.

    A `share` of the nodes, drawn by `seed`, is hidden at a time (default: the model's own mask rate), but at most half.
    Of tables, in the order of their rows.
    """
    if isinstance(data, Dataset):
        return data.from_sorted(reconstruct(model, data.sorted_by_id().single_graph(), device, share, seed))
    data = model.as_seen(data)
    if int(model.decoder.out_channels) != int(data.x.size(1)):
        raise InputError(
            f"the model reconstructs {model.decoder.out_channels} features; this graph has {data.x.size(1)}"
        )
    used = resolve_device(device)
    model = resting_copy(model, used)
    x, nodes = data.x.to(used), int(data.x.size(0))
    graph = kernels.adjacency(kernels.edges_of(data, used), nodes)
    share = float(getattr(model.mask, "rate", 0.5)) if share is None else share
    order = torch.randperm(nodes, generator=torch.Generator().manual_seed(seed))
    out = torch.empty(nodes, x.size(1))
    for hidden in order.chunk(max(2, round(1 / share))):
        out[hidden] = model.reconstruct(x, graph, hidden.to(used)).float().cpu()
    return out if model.views is None else model.views.cpu().features(out)


@torch.no_grad()
def graph_errors(model: GraphMAE, graphs: GraphSet, device: torch.device | str = "cpu", seed: int = 0) -> Tensor:
    """[graphs]: the mean over a graph's nodes of 1 − cos between features and reconstruction, each node hidden once."""
    used = resolve_device(device)
    model = resting_copy(model, used)
    store = GraphStore(graphs, used, edges=bool(getattr(model, "mask_edges", False)))
    share = float(getattr(model.mask, "rate", 0.5))
    generator, out = torch.Generator().manual_seed(seed), []
    for ids in torch.arange(len(graphs)).split(AT_ONCE):
        batch = store.take(ids)
        target = model.target(batch.x).float()
        built = torch.empty_like(target)
        for hidden in torch.randperm(len(target), generator=generator).chunk(max(2, round(1 / share))):
            built[hidden.to(used)] = model.reconstruct(batch.x, batch.graph, hidden.to(used)).float()
        out.append(batch.mean((1 - F.cosine_similarity(built, target)).unsqueeze(1)).flatten().cpu())
    return torch.cat(out)


def reconstruction_error(
    model: GraphMAE, data: Data, device: torch.device | str = "cpu", rounds: int = 5, share: float | None = None
) -> float:
    """The mean of 1 − cos between features and reconstruction, over `rounds` draws; nodes without features aside."""
    total = torch.zeros(int(data.x.size(0)))
    for seed in range(rounds):
        total += 1 - F.cosine_similarity(reconstruct(model, data, device, share, seed), data.x)
    return float(total[(data.x != 0).any(1)].mean().clamp(min=0)) / rounds


def reconstructing(model: Method) -> GraphMAE:
    """The model, refused if its method reconstructs no features."""
    if not hasattr(model, "reconstruct"):
        name = type(model).__name__
        raise InputError(f"this needs a model that reconstructs features, as graphmae does; {name} does not")
    return model  # type: ignore[return-value]
