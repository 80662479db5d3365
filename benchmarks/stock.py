"""GraphMAE as one would write it today with PyTorch Geometric's own layers: what ours is timed against.

`GATConv`, `GINConv`, `F.dropout`, `DataLoader`, every node through every layer; nothing here is written to be slow.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GINConv, MessagePassing

from graphmae.config import Recipe


def norm(name: str, channels: int) -> nn.Module:
    return {"none": nn.Identity, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm}[name](channels)


class StockLayer(nn.Module):
    """dropout → convolution → norm → PReLU, as PyG users stack them."""

    def __init__(self, conv: nn.Module, width: int, dropout: float, norm_name: str, last: bool = False) -> None:
        super().__init__()
        self.conv, self.dropout = conv, dropout
        self.after = nn.Identity() if last else nn.Sequential(norm(norm_name, width), nn.PReLU())

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.after(self.conv(F.dropout(x, self.dropout, self.training), edge_index))


def gat(i: int, o: int, heads: int, options: dict[str, Any]) -> nn.Module:
    return GATConv(i, o // heads, heads, dropout=options.get("attention_dropout", 0.1), add_self_loops=False)


def gin(i: int, hidden: int, o: int, norm_name: str) -> nn.Module:
    return GINConv(nn.Sequential(nn.Linear(i, hidden), norm(norm_name, hidden), nn.PReLU(), nn.Linear(hidden, o)))


class StockGraphMAE(nn.Module):
    """The model of a recipe: GAT or GIN encoder, a decoder of the same kind."""

    def __init__(self, recipe: Recipe, in_channels: int) -> None:
        super().__init__()
        e, d, m = recipe.encoder.options, recipe.decoder.options, recipe.mask.options
        hidden, layers = int(e["hidden_channels"]), int(e["num_layers"])
        norm_name, dropout = str(e.get("norm", "none")), float(e.get("dropout", 0.2))
        widths = [in_channels, *[hidden] * (layers - 1)]
        attention = recipe.encoder.name == "gat"
        self.encoder = nn.ModuleList(
            StockLayer(
                gat(w, hidden, int(e["heads"]), e) if attention else gin(w, hidden, hidden, norm_name),
                hidden, dropout, norm_name,
            )
            for w in widths
        )  # fmt: skip
        self.bridge = nn.Linear(hidden, hidden, bias=False)
        decoder = (
            gat(hidden, in_channels, 1, d)
            if attention
            else gin(hidden, hidden, in_channels, str(d.get("norm", "none")))
        )
        self.decoder = StockLayer(decoder, in_channels, float(d.get("dropout", 0.2)), "none", last=True)
        self.token = nn.Parameter(torch.zeros(in_channels))
        self.rate, self.replace, self.gamma = m["rate"], m.get("replace_rate", 0.0), recipe.loss.options["gamma"]
        self.drop_edge = recipe.method.options.get("drop_edge", 0.0)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        order = torch.randperm(x.size(0), device=x.device)
        masked = order[: int(self.rate * x.size(0))]
        replaced = masked[: int(self.replace * len(masked))]
        seen = x.clone()
        seen[masked] = self.token
        seen[replaced] = x[torch.randint(x.size(0), (len(replaced),), device=x.device)]
        edges = edge_index
        if self.drop_edge:
            keep = torch.rand(edge_index.size(1), device=x.device) >= self.drop_edge
            edges = edge_index[:, keep | (edge_index[0] == edge_index[1])]
        for layer in self.encoder:
            seen = layer(seen, edges)
        code = self.bridge(seen)
        code[masked] = 0.0
        out = self.decoder(code, edge_index)
        cosine = (F.normalize(out[masked], dim=-1) * F.normalize(x[masked], dim=-1)).sum(-1)
        return (1 - cosine).pow(self.gamma).mean()


class StockBondConv(MessagePassing):
    """A message is x_j + bond embedding, summed; then a perceptron."""

    def __init__(self, channels: int, out_channels: int) -> None:
        super().__init__(aggr="add")
        self.kind, self.direction = nn.Embedding(6, channels), nn.Embedding(3, channels)
        self.mlp = nn.Sequential(nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, out_channels))

    def forward(self, x: Tensor, edge_index: Tensor, bond: Tensor) -> Tensor:
        return self.mlp(self.propagate(edge_index, x=x, e=self.kind(bond[:, 0]) + self.direction(bond[:, 1])))

    def message(self, x_j: Tensor, e: Tensor) -> Tensor:
        return x_j + e


class StockMoleculeMAE(nn.Module):
    """The molecule model of the paper: five bond-aware GIN layers of width 300, one more as decoder."""

    def __init__(self, channels: int = 300, layers: int = 5, rate: float = 0.25, atoms: int = 119) -> None:
        super().__init__()
        self.atom, self.chirality = nn.Embedding(atoms + 1, channels), nn.Embedding(4, channels)
        self.convs = nn.ModuleList(StockBondConv(channels, channels) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(channels) for _ in range(layers))
        self.activation, self.bridge = nn.PReLU(), nn.Linear(channels, channels, bias=False)
        self.decoder, self.rate, self.atoms = StockBondConv(channels, atoms), rate, atoms

    def forward(self, x: Tensor, edge_index: Tensor, bond: Tensor) -> Tensor:
        masked = torch.rand(x.size(0), device=x.device) < self.rate
        kind = x[:, 0].masked_fill(masked, self.atoms)
        h = self.atom(kind) + self.chirality(x[:, 1].masked_fill(masked, 0))
        for i, (conv, batch_norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            h = batch_norm(conv(h, edge_index, bond))
            h = F.relu(h) if i + 1 < len(self.convs) else h
        code = self.bridge(self.activation(h)).masked_fill(masked.unsqueeze(1), 0.0)
        out = self.decoder(code, edge_index, bond)[masked]
        target = F.one_hot(x[masked, 0], self.atoms).to(out.dtype)
        return (1 - (F.normalize(out, dim=-1) * target).sum(-1)).mean()
