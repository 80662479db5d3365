"""Inference: the encoder alone, no masking, no dropout."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from .runtime.device import resolve_device
from .runtime.errors import DataError


@torch.no_grad()
def embed_graph(encoder: nn.Module, data: Data, device: torch.device | str | None = None) -> Tensor:
    """[num_nodes, out_channels], on the CPU. The encoder's mode and place are left as they were."""
    place = next((p.device for p in encoder.parameters()), torch.device("cpu"))
    target = place if device is None else resolve_device(device)
    width = getattr(encoder, "in_channels", data.x.size(1))
    if data.x.size(1) != width:
        raise DataError(f"the encoder was made for {width} features a node; this graph has {data.x.size(1)}")
    was_training = encoder.training
    encoder.eval().to(target)
    try:
        return encoder(data.x.to(target), data.edge_index.to(target)).cpu()
    finally:
        encoder.train(was_training).to(place)
