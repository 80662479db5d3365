"""GraphMAE on one page: mask → encode → re-mask → decode → score (Hou et al., KDD 2022)."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from .. import kernels, losses, masking
from ..batching import Batch
from ..decoders.base import check_widths
from ..layers import Linear
from . import graphmae_fast
from .base import REGISTRY, Method
from .views import check_rates


@REGISTRY.register("graphmae")
class GraphMAE(graphmae_fast.Recordable, Method):
    """H = f_E(A, X̃), Z = f_D(A, H̃), L = mean over the masked nodes i of (1 − cos(x_i, z_i))^γ.

    X̃ has a token, or another node's features, in the rows of the masked nodes; H̃ has zeros, or a token, there.

    >>> from graphmae import decoders, encoders
    >>> model = GraphMAE(encoders.GAT(64, hidden_channels=256, heads=4), decoders.GAT(256, out_channels=64))
    >>> x, edge_index = torch.rand(10, 64), torch.arange(10).expand(2, -1)
    >>> model(x, edge_index).shape, model.encoder(x, edge_index).shape
    (torch.Size([]), torch.Size([10, 256]))

    Args:
        remask: "zero", "learnable" or "none"; not applied for decoders that see one node at a time.
        drop_edge: share of the edges hidden from the encoder in every step.
        mask_edges: hide the features of edges from and to masked nodes too, where edges have features.
    """

    tries: tuple[str, ...] = ("mask.rate=0.5,0.25,0.75", "loss.gamma=3,2,1")
    promises = graphmae_fast.PROMISES
    has_fast_loss = has_fast_rebuild = fixed_shapes = True

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        mask: masking.NodeMask | None = None,
        loss: nn.Module | None = None,
        remask: masking.RemaskKind = "zero",
        drop_edge: float = 0.0,
        mask_edges: bool = False,
    ) -> None:
        super().__init__()
        code, features, hidden = check_widths(encoder, decoder, self.decoded_channels)
        check_rates(drop_edge=drop_edge)
        self.encoder, self.decoder = encoder, decoder
        self.mask = mask or masking.RandomNodeMask()
        self.criterion = loss or losses.ScaledCosineError()
        self.drop_edge, self.mask_edges = drop_edge, mask_edges
        self.masks_embeddings = bool(getattr(encoder, "mask_embedding", False))
        self.mask_token = nn.Parameter(encoder.new_token() if self.masks_embeddings else torch.zeros(features))  # type: ignore[operator]
        self.bridge, self.remask = Linear(code, hidden, bias=False), masking.Remask(remask, hidden)

    def loss(self, batch: Batch) -> Tensor:
        """The loss of one random draw: `plain_loss`, or where all of its steps are these, the same sooner."""
        return self.plain_loss(batch) if graphmae_fast.obstacle(self) else graphmae_fast.loss(self, batch)

    def plain_loss(self, batch: Batch) -> Tensor:
        """The five steps as the paper has them."""
        hidden = self.mask.draw_in(batch)  # 1: which nodes are masked
        prediction = self._rebuild(batch.x, batch.graph_for(self.encoder, self.decoder), hidden)  # 2, 3, 4
        counts = slice(None) if batch.seeds is None else torch.isin(hidden.masked, batch.seeds)
        target = self.target(batch.x)[hidden.masked]
        return self.criterion(prediction[counts], target[counts])  # 5: how far are they from what they were?

    def _rebuild(self, x: Tensor, edge_index: Tensor | kernels.Adjacency, hidden: masking.MaskedNodes) -> Tensor:
        if self.mask_edges:
            edge_index = masking.masked_edges(kernels.adjacency(edge_index, x.size(0)), hidden.flags)
        seen = masking.drop_edges(kernels.taken_by(self.encoder, edge_index), self.drop_edge)
        if self.masks_embeddings:
            code = self.encoder(x, seen, mask=partial(hidden.apply, token=self.mask_token))
        else:
            code = kernels.encode(self.encoder, hidden.apply(x, self.mask_token), seen)  # 2: H = f_E(A, X̃)
        code = self.erase(self.to_decoder(code), hidden.flags)  # 3: H̃
        return self.decode(code, edge_index, hidden.masked)  # 4: Z = f_D(A, H̃)

    def to_decoder(self, code: Tensor) -> Tensor:
        """From the encoder's space to the decoder's: a linear map without a bias."""
        return self.bridge((getattr(self.decoder, "entrance", None) or nn.Identity())(code))

    def erase(self, code: Tensor, masked: Tensor) -> Tensor:
        """Re-mask the nodes `masked` [N] bool, unless the decoder sees one node at a time."""
        return self.remask.erase(code, masked) if self.decoder.wants_remask else code

    def decode(self, code: Tensor, edge_index: Tensor | kernels.Adjacency, rows: Tensor) -> Tensor:
        """The decoder's prediction for the nodes `rows` [M]: [M, features]."""
        return kernels.encode(self.decoder, code, edge_index, rows=rows)

    def target(self, x: Tensor) -> Tensor:
        """The features that are reconstructed: all, or the first few where the decoder gives no more."""
        return x if self.decoder.out_channels == x.size(1) else x[:, : self.decoder.out_channels]

    def reconstruct(self, x: Tensor, edge_index: Tensor | kernels.Adjacency, masked: Tensor) -> Tensor:
        """The prediction for the nodes `masked` [M] while their features are hidden: [M, features]."""
        return graphmae_fast.rebuild(self, x, edge_index, masking.MaskedNodes.of(masked, x.size(0)))
