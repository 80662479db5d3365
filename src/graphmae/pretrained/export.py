"""The encoder as a program of plain torch operations, for `torch.export`: no kernels, no caches, no Python of ours."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..encoders import GAT, GCN, GIN
from ..layers import MLP, Block, GATConv, GCNConv, GINConv
from ..layers.norm import NormAct
from ..runtime.errors import InputError
from ..runtime.resting import resting_copy


class PlainEncoder(nn.Module):
    """Computes what `encoder` does in evaluation mode: (x [N, in], edge_index [2, E]) → [N, out]."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        if not isinstance(encoder, GAT | GCN | GIN) or encoder.edge_channels:
            raise InputError(f"{type(encoder).__name__} cannot be exported; gat, gcn and gin without edge features can")
        self.encoder = encoder

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden: list[Tensor] = []
        for block in self.encoder.blocks:
            assert isinstance(block, Block)
            out = _convolve(block.conv, x, edge_index[0], edge_index[1])
            if block.residual is not None:
                out = out + block.residual(x)
            x = _finish(block.finish, out)
            hidden.append(x)
        return torch.cat(hidden, dim=1) if self.encoder.output == "all" else x


def _finish(finish: NormAct, x: Tensor) -> Tensor:
    return finish.activation(finish.norm(x))


def _convolve(conv: nn.Module, x: Tensor, sender: Tensor, receiver: Tensor) -> Tensor:
    if isinstance(conv, GATConv):
        h = torch.einsum("ni,hci->nhc", x, conv.weight)
        score = torch.einsum("nhc,shc->nsh", h, conv.attention)
        logits = F.leaky_relu(score[sender, 0] + score[receiver, 1], conv.negative_slope)
        place = receiver.unsqueeze(1).expand_as(logits)
        top = logits.new_full((x.size(0), conv.heads), float("-inf")).scatter_reduce(0, place, logits, "amax")
        weight = torch.exp(logits - top[receiver])
        total = torch.zeros_like(top).index_add(0, receiver, weight)
        message = h[sender] * (weight / total[receiver]).unsqueeze(-1)
        out = torch.zeros_like(h).index_add(0, receiver, message)
        out = out.flatten(1) if conv.concat else out.mean(1)
        return out if conv.bias is None else out + conv.bias
    if isinstance(conv, GCNConv):
        ones = torch.ones_like(sender, dtype=x.dtype)
        inward, outward = (x.new_zeros(x.size(0)).index_add(0, end, ones) for end in (receiver, sender))
        weight = inward.clamp(min=1).rsqrt()[receiver] * outward.clamp(min=1).rsqrt()[sender]
        h = F.linear(x, conv.weight)
        out = torch.zeros_like(h).index_add(0, receiver, h[sender] * weight.unsqueeze(1))
        return out if conv.bias is None else out + conv.bias
    if not isinstance(conv, GINConv) or not isinstance(conv.mlp, MLP):
        raise InputError(f"a layer of the kind {type(conv).__name__} cannot be exported")
    out = torch.zeros_like(x).index_add(0, receiver, x[sender])
    out = out + (1 + conv.eps) * x if conv.own else out
    for linear, finish in zip(conv.mlp.maps, conv.mlp.between, strict=True):
        out = _finish(finish, F.linear(out, linear.weight, linear.bias))  # type: ignore[arg-type]
    return F.linear(out, conv.mlp.last.weight, conv.mlp.last.bias)


def export_encoder(encoder: nn.Module, file: str | Path | None = None) -> torch.export.ExportedProgram:
    """The encoder as a `torch.export` program for graphs of any size; written to `file` (.pt2) where one is named.

    `edge_index` must hold the self-loops the model was trained with: one a node, unless it says otherwise.
    """
    plain = resting_copy(PlainEncoder(encoder), "cpu")
    nodes, edges = torch.export.Dim("nodes", min=2), torch.export.Dim("edges", min=2)
    x = torch.zeros(5, int(encoder.in_channels))  # type: ignore[arg-type]
    edge_index = torch.tensor([[0, 1, 2, 3, 4, 0, 1], [0, 1, 2, 3, 4, 1, 0]])
    with torch.no_grad():
        program = torch.export.export(plain, (x, edge_index), dynamic_shapes=({0: nodes}, {1: edges}), strict=False)
    if file is not None:
        if Path(file).suffix != ".pt2":
            raise InputError(f"{file}: a torch.export program is written as .pt2")
        if not Path(file).parent.is_dir():
            raise InputError(f"{Path(file).parent} is not a folder")
        torch.export.save(program, file)
    return program
