"""Pre-training: a model that returns its own loss, run over graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from .. import kernels
from ..batching.store import GraphBatch, GraphStore
from ..config import Train
from ..data import GraphSet, MoleculeStore
from .loop import fit
from .state import Outcome


def pretrain_model(
    model: nn.Module,
    graphs: Sequence[Data] | GraphSet | MoleculeStore,
    train: Train,
    device: torch.device,
    **loop: Any,
) -> Outcome:
    """Train `model` in place on unlabelled graphs; `loop` goes to `fit`."""
    model.to(device)
    settings = {
        "epochs": train.epochs,
        "lr": train.lr,
        "weight_decay": train.weight_decay,
        "schedule": train.schedule,
        "clip_norm": train.clip_norm,
        **loop,
    }
    on_cuda = device.type == "cuda" and kernels.has("cuda")  # plain torch waits for the device: nothing to record
    if not isinstance(graphs, GraphSet | MoleculeStore) and len(graphs) == 1:
        whole = Data(x=graphs[0].x, edge_index=graphs[0].edge_index).to(device)  # labels stay behind
        capture = on_cuda and getattr(model, "has_fixed_shapes", False)
        return fit(model, lambda graph: model(graph.x, graph.edge_index), lambda: [whole], capture=capture, **settings)
    if not isinstance(graphs, GraphSet | MoleculeStore):
        graphs = GraphSet.from_list("graphs", [Data(x=graph.x, edge_index=graph.edge_index) for graph in graphs])
    parts = graphs.parts() if isinstance(graphs, MoleculeStore) else graphs
    store = GraphStore(parts, device, edges=getattr(model, "looks_at_edges", False))

    def step(batch: GraphBatch) -> Tensor:
        return model(batch.x, batch.graph, batch.batch)

    if on_cuda and getattr(model, "takes_padding", False):
        return fit(model, step, batches_of(store, train.batch_size, take=False), store=store, **settings)
    return fit(model, step, batches_of(store, train.batch_size, take=True), **settings)


def batches_of(store: GraphStore, batch_size: int, take: bool) -> Callable[[], Iterator[Any]]:
    """Every graph once an epoch, in a new order, `batch_size` at a time: their numbers, or the batch itself."""

    def epoch() -> Iterator[Any]:
        for chosen in torch.randperm(len(store)).split(batch_size):
            yield store.take(chosen) if take else chosen

    return epoch
