"""GRACE (Zhu et al., 2020): in two views of a graph a node recognises itself among all nodes of both."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from .. import kernels
from ..batching import Batch
from ..layers import MLP
from ..runtime.errors import ConfigError
from .base import REGISTRY, Method
from .views import check_rates, random_view

COLDEST = 0.02  # below it e^(1/τ), which a cosine of 1 gives, leaves the range of float32


@REGISTRY.register("grace")
class GRACE(Method):
    """L = ½ mean of ℓ(u, v) + ℓ(v, u); ℓ(u, v) = −log e^{s(uᵢ,vᵢ)/τ} / (Σⱼ e^{s(uᵢ,vⱼ)/τ} + Σ_{j≠i} e^{s(uᵢ,uⱼ)/τ}).

    u and v are projections of the two views' codes, s their cosine. Of large graphs no N × N tensor is ever made.

    >>> from graphmae import encoders
    >>> model = GRACE(encoders.GCN(64, hidden_channels=32, dropout=0.0))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        projector_channels: width of the projector's hidden layer.
        temperature: τ.
        drop_edge, mask_feature: shares hidden from the first view; drop_edge_2, mask_feature_2: from the second.
        negatives: compare with this many nodes, drawn in every step; 0: with all.
        block: nodes compared with the others at a time; a matter of memory and time alone.
    """

    changes_edges = True
    of_seeds = "seeds are compared with the other seeds of their batch, not with all nodes"
    fixed_shapes = True
    tries = ("method.temperature=0.4,0.7,0.9", "method.drop_edge=0.3,0.5", "method.mask_feature=0.3,0.1")

    def __init__(
        self,
        encoder: nn.Module,
        projector_channels: int = 256,
        temperature: float = 0.4,
        drop_edge: float = 0.3,
        drop_edge_2: float = 0.4,
        mask_feature: float = 0.3,
        mask_feature_2: float = 0.4,
        negatives: int = 0,
        block: int = 512,
    ) -> None:
        super().__init__()
        check_rates(
            drop_edge=drop_edge, drop_edge_2=drop_edge_2, mask_feature=mask_feature, mask_feature_2=mask_feature_2
        )
        if temperature < COLDEST or block < 1 or negatives < 0:
            raise ConfigError(f"temperature must be at least {COLDEST}, block at least 1 and negatives at least 0")
        self.encoder = encoder
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.projector = MLP(width, projector_channels, width, activation="elu")
        self.temperature, self.negatives, self.block = temperature, negatives, block
        self.rates = (drop_edge, mask_feature), (drop_edge_2, mask_feature_2)

    def loss(self, batch: Batch) -> Tensor:
        views = [random_view(batch, *rates) for rates in self.rates]
        u, v = (F.normalize(batch.counted(self.projector(self.encode(view)))) for view in views)
        among = torch.arange(len(u), device=u.device)
        if self.negatives:
            among = torch.rand(len(u), device=u.device).argsort()[: self.negatives]
        return info_nce(u, v, among, self.temperature, self.block)


def info_nce(u: Tensor, v: Tensor, among: Tensor, temperature: float, block: int) -> Tensor:
    """The loss above for rows `u`, `v` [N, d], each compared with itself and the nodes `among` [M] of both views."""
    loss: Tensor = _InfoNCE.apply(u, v, among, temperature, block)
    return loss


class _InfoNCE(Function):
    """Gradients are computed on the way, so that nothing but them is kept for later."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor, among: Tensor, temperature: float, block: int) -> Tensor:
        whole = len(among) == len(u) <= 8 * block
        loss, *grads = _at_once(u, v, temperature) if whole else _in_blocks(u, v, among, temperature, block)
        scale = 1 / (2 * len(u))
        ctx.save_for_backward(*(grad * (scale / temperature) for grad in grads))
        return loss * scale

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        gu, gv = ctx.saved_tensors
        return gu * grad, gv * grad, None, None, None


def _at_once(u: Tensor, v: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """The loss summed over nodes, and its gradients times τ; every similarity is computed once."""
    cross, ours, theirs = (kernels.mm(a / temperature, b.t()).exp_() for a, b in ((u, v), (u, u), (v, v)))
    for own in (ours, theirs):
        own.fill_diagonal_(0)
    positive = (u * v).sum(1) / temperature
    sums = cross.sum(1) + ours.sum(1), cross.sum(0) + theirs.sum(1)
    loss = (sums[0].log() + sums[1].log() - 2 * positive).sum()
    share_u, share_v = (1 / total.unsqueeze(1) for total in sums)
    cross.mul_(share_u + share_v.t())
    grad_u = kernels.mm(cross, v) + kernels.mm(ours.mul_(share_u + share_u.t()), u) - 2 * v
    grad_v = kernels.mm(cross.t(), u) + kernels.mm(theirs.mul_(share_v + share_v.t()), v) - 2 * u
    return loss, grad_u, grad_v


def _in_blocks(u: Tensor, v: Tensor, among: Tensor, temperature: float, block: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same, a block of nodes after the other."""
    grads = torch.zeros_like(u), torch.zeros_like(v)
    loss, numbers = u.new_zeros(()), torch.arange(len(u), device=u.device)
    for (a, b), (ga, gb) in (((u, v), grads), ((v, u), grads[::-1])):
        own, other = a[among], b[among]
        gown, gother = torch.zeros_like(own), torch.zeros_like(other)
        for part in numbers.split(block):
            rows, mates = a[part], b[part]
            positive = (rows * mates).sum(1, keepdim=True) / temperature
            itself = part.unsqueeze(1) == among
            to_other, to_own = (
                ((rows / temperature) @ nodes.t()).exp_().masked_fill_(itself, 0) for nodes in (other, own)
            )
            total = positive.exp() + to_other.sum(1, keepdim=True) + to_own.sum(1, keepdim=True)
            loss += (total.log() - positive).sum()
            back = positive.exp() / total - 1
            ga[part] += (to_other @ other + to_own @ own) / total + back * mates
            gb[part] += back * rows
            gother += to_other.t() @ (rows / total)
            gown += to_own.t() @ (rows / total)
        ga.index_add_(0, among, gown)
        gb.index_add_(0, among, gother)
    return loss, *grads
