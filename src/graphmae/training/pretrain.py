"""Pre-training: a model that returns its own loss, run over graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from ..config import Train
from .loop import fit
from .state import Outcome


def pretrain_model(
    model: nn.Module, graphs: Sequence[Data], train: Train, device: torch.device, **loop: Any
) -> Outcome:
    """Train `model` in place on unlabelled graphs; `loop` goes to `fit`."""
    model.to(device)
    # Labels stay behind: nothing in here could use them.
    bare = [Data(x=graph.x, edge_index=graph.edge_index).to(device) for graph in graphs]

    def step(batch: Data) -> Tensor:
        return model(batch.x, batch.edge_index, batch.get("batch"))

    return fit(
        model,
        step,
        batches_of(bare, train.batch_size),
        epochs=train.epochs,
        lr=train.lr,
        weight_decay=train.weight_decay,
        schedule=train.schedule,
        clip_norm=train.clip_norm,
        capture=device.type == "cuda" and len(bare) == 1 and getattr(model, "has_fixed_shapes", False),
        **loop,
    )


def batches_of(graphs: Sequence[Data], batch_size: int) -> Callable[[], Iterator[Data]]:
    """Every graph once an epoch, in a new order, `batch_size` at a time as one disjoint union."""
    if len(graphs) == 1:
        return lambda: iter(graphs)

    def epoch() -> Iterator[Data]:
        for chosen in torch.randperm(len(graphs)).split(batch_size):
            yield Batch.from_data_list([graphs[i] for i in chosen.tolist()])

    return epoch
