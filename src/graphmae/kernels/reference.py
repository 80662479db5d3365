"""The kernels in plain torch: what the others are compared with."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .adjacency import Adjacency, View


def attend(view: View, x: Tensor, vectors: Tensor, slope: float, p: float, bias: Tensor | None = None) -> Tensor:
    edges, sender, receiver, row = _edges(view)
    shared = x.expand(-1, vectors.size(1), -1)
    padded = torch.cat([shared, shared.new_zeros(1, *shared.shape[1:])])  # a sender that is not given: zeros
    score = torch.einsum("nhc,shc->nsh", padded, vectors.to(x.dtype))
    logits = F.leaky_relu(score[sender, 0] + score[receiver, 1], slope)
    if view.adj.log_weight is not None:
        logits = logits + view.adj.log_weight[edges].to(logits.dtype).unsqueeze(1)
    alpha = F.dropout(_softmax(logits, row, view.num_rows), p)
    message = padded[sender] * alpha.unsqueeze(-1)
    out = x.new_zeros(view.num_rows, *message.shape[1:]).index_add(0, row, message)
    return out if bias is None else out + bias.to(x.dtype)


def aggregate(
    view: View, x: Tensor, weight: Tensor | None, own: Tensor | None = None, table: Tensor | None = None
) -> Tensor:
    edges, sender, _, row = _edges(view)
    message = torch.cat([x, x.new_zeros(1, *x.shape[1:])])[sender]
    if weight is not None:
        message = message * weight[edges].unsqueeze(-1)
    out = x.new_zeros(view.num_rows, *message.shape[1:]).index_add(0, row, message)
    return out if own is None or table is None else out + (own.detach().to(table.dtype) @ table).unsqueeze(1)


def mm(a: Tensor, b: Tensor, out: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    return torch.mm(a, b, out=out) if bias is None else torch.addmm(bias, a, b, out=out)


def takes_product(x: Tensor, width: int) -> bool:
    return False


def filled_up(x: Tensor) -> Tensor:
    return x


def lookup(adj: Adjacency, value: Tensor, rows: Tensor, table: Tensor, p: float) -> Tensor:
    begin, count = adj.crow[rows].long(), (adj.crow[rows + 1] - adj.crow[rows]).long()
    row = torch.repeat_interleave(count)
    entry = torch.arange(row.numel(), device=row.device) + (begin - count.cumsum(0) + count)[row]
    message = table[adj.col[entry].long()] * F.dropout(value[entry].to(table.dtype), p).unsqueeze(1)
    return table.new_zeros(rows.numel(), table.size(1)).index_add(0, row, message)


def pool(x: Tensor, ptr: Tensor, how: str) -> Tensor:
    # Shapes depend on no value, so that this can be recorded; rows after the last segment go to one more, left out.
    place = torch.arange(x.size(0), device=x.device)
    segment, shape = torch.searchsorted(ptr[1:].contiguous(), place, right=True), (ptr.numel(), x.size(1))
    if how == "max":
        out = x.new_full(shape, float("-inf")).scatter_reduce(0, segment.unsqueeze(1).expand_as(x), x, "amax")[:-1]
        return torch.where(out.isinf(), 0.0, out)
    out = x.new_zeros(shape).index_add(0, segment, x)[:-1]
    return out if how == "sum" else out / ptr.diff().clamp(min=1).unsqueeze(1)


def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    slope: Tensor,
    eps: float,
    valid: Tensor | None,
    running: tuple[Tensor, Tensor, float] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    if valid is None:
        mean, var = x.mean(0), x.var(0, correction=0)
        real = None
    else:
        real = (torch.arange(x.size(0), device=x.device) < valid).unsqueeze(1)
        mean = torch.where(real, x, 0.0).sum(0) / valid
        var = torch.where(real, x - mean, 0.0).square().sum(0) / valid
    out = prelu((x - mean) * (var + eps).rsqrt() * weight + bias, slope)
    if running is not None:
        move(running, mean, var, x.size(0) if valid is None else valid)
    return out if real is None else torch.where(real, out, 0.0), mean.detach(), var.detach()


@torch.no_grad()
def move(running: tuple[Tensor, Tensor, float], mean: Tensor, var: Tensor, count: int | Tensor) -> None:
    """A running mean and variance, in place, towards those of a batch of `count` rows."""
    share = count / (count - 1) if isinstance(count, int) else count / (count - 1).clamp(min=1)
    running[0].lerp_(mean.to(running[0].dtype), running[2])
    running[1].lerp_((var * share).to(running[1].dtype), running[2])


def layer_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    slope: Tensor,
    eps: float,
    shift: Tensor | None = None,
    p: float = 0.0,
) -> Tensor:
    return prelu(F.layer_norm(x if shift is None else x + shift, x.shape[-1:], weight, bias, eps), slope, p=p)


def prelu(x: Tensor, slope: Tensor, shift: Tensor | None = None, p: float = 0.0) -> Tensor:
    out = torch.prelu(x if shift is None else x + shift, slope)
    return F.dropout(out, p) if p else out


def cosine(z: Tensor, x: Tensor, least: float) -> tuple[Tensor, Tensor]:
    lengths = [torch.linalg.vector_norm(rows, dim=-1) for rows in (z, x)]
    return (z * x).sum(-1) / (lengths[0].clamp(min=least) * lengths[1].clamp(min=least)), lengths[1].detach()


def dropout(x: Tensor, p: float) -> Tensor:
    return F.dropout(x, p)


def column_sums(a: Tensor, b: Tensor | None) -> Tensor:
    return (a if b is None else a * b).sum(0)


def dropped_rows(x: Tensor, rows: Tensor, ones: int, p: float) -> Tensor:
    return F.dropout(torch.cat([x[rows], x.new_ones(ones, x.size(1))]), p)


def parted(count: int, split: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    narrow = torch.float32 if count < 2**16 else torch.float64  # few enough for ties to be rare
    order = torch.rand(count, device=device, dtype=narrow).argsort()
    return order, order[:split], order[split:]


def _edges(view: View) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The edges that count: position in the graph, feature rows of sender and receiver (n: none), output row."""
    adj = view.adj
    row = view.position[adj.row.long()]
    edges = (row >= 0).nonzero().squeeze(1)
    none = view.given.numel()
    sender, receiver = (view.place[side[edges].long()].long() for side in (adj.col, adj.row))
    return edges, torch.where(sender < 0, none, sender), torch.where(receiver < 0, none, receiver), row[edges].long()


def _softmax(logits: Tensor, row: Tensor, num_rows: int) -> Tensor:
    index = row.unsqueeze(1).expand_as(logits)
    highest = logits.new_zeros(num_rows, logits.size(1))
    highest = highest.scatter_reduce(0, index, logits.detach(), "amax", include_self=False)
    weight = (logits - highest.index_select(0, row)).exp()
    total = torch.zeros_like(highest).index_add(0, row, weight)
    return weight / total.index_select(0, row)
