"""An encoder that was never trained, given what costs no training: the statistics of its batch norms, and its views.

A fresh batch norm has mean 0 and variance 1, which no data ever had. In evaluation mode it then does nothing, sums grow
from layer to layer, and the encoder scores less than its own input. A trained encoder never meets that state, so a fair
comparison does not put the untrained one into it. Where embeddings are made of several views, those of the untrained
encoder are, too: what is compared is what was learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from .. import kernels
from ..batching import GraphStore
from ..data import Dataset
from ..encoders import Composed
from ..layers import NormAct
from ..runtime.seed import preserved_randomness

AT_ONCE = 256


@torch.no_grad()
def settled(encoder: nn.Module, dataset: Dataset, device: torch.device) -> nn.Module:
    """A fresh encoder as a baseline: its batch norms settled in place, and beside it the views it has."""
    settle_norms(encoder, dataset, device)
    if not isinstance(encoder, Composed):
        return encoder
    return encoder.cpu().with_views(dataset.pretrain_graphs()).eval()


@torch.no_grad()
def settle_norms(encoder: nn.Module, dataset: Dataset, device: torch.device) -> None:
    """Set the statistics of every batch norm by one pass over the unlabelled graphs, in place, without dropout."""
    norms = [m for m in encoder.modules() if isinstance(m, _NormBase) and m.running_mean is not None]
    if not norms:
        return
    momenta, seen = [norm.momentum for norm in norms], 0
    encoder.to(device).eval()
    for norm in norms:
        norm.reset_running_stats()
    for module in encoder.modules():  # the norms look at the batch; dropout, which belongs to the layers, stays off
        module.training = isinstance(module, NormAct | _NormBase)
    with preserved_randomness():
        for x, graph in _batches(encoder, dataset, device):
            seen += len(x)
            for norm in norms:
                norm.momentum = len(x) / seen  # the mean over all nodes
            kernels.encode(encoder, x, graph)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    encoder.eval()


def _batches(encoder: nn.Module, dataset: Dataset, device: torch.device) -> Iterator[tuple[Tensor, Any]]:
    if graphs := dataset.pretrain_graphs():
        for graph in graphs:
            yield graph.x.to(device), kernels.taken_by(encoder, kernels.edges_of(graph, device))
        return
    store = GraphStore(dataset.pretrain_sets(), device)
    order = torch.randperm(len(store), generator=torch.Generator().manual_seed(0))
    for ids in order.chunk(max(1, len(store) // AT_ONCE)):  # about the same size each: none of a single node
        batch = store.take(ids)
        yield batch.x, batch.edges(encoder)
