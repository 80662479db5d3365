"""The same five steps as in `graphmae`, computed only where the loss looks, or over fixed shapes.

`loss`, for single graphs and on the CPU: the encoder computes the codes the decoder reads and nothing else, bags of
words are never written out, the zeros of re-masked nodes are left out. `padded_loss`, for batches of many graphs on
CUDA: flags instead of lists of nodes, every node through every layer, so that all shapes are fixed and a step can be
recorded.
tests/unit/methods compares both with `GraphMAE.plain_loss`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from .. import encoders, kernels, masking
from ..batching import Batch
from ..kernels import Adjacency
from ..layers import BagRows, Factored, MaskedInput, aligned, bags_of
from ..masking.nodes import MaskedNodes

if TYPE_CHECKING:
    from .graphmae import GraphMAE


STEPS = ("plain_loss", "target", "decode", "erase", "_rebuild")  # of `GraphMAE`, which the ways here do without
PROMISES = {
    **dict.fromkeys(STEPS, ("has_fast_loss", "fixed_shapes")),
    "_rebuild": ("has_fast_loss", "has_fast_rebuild", "fixed_shapes"),
    "to_decoder": ("fixed_shapes",),
    "loss": ("fixed_shapes",),
}


class Recordable:
    """What the trainer asks of a GraphMAE model before it records steps, or cuts a graph into batches."""

    mask: Any
    encoder: Any
    decoder: Any
    criterion: Any
    remask: Any
    drop_edge: float
    mask_edges: bool
    has_fast_loss: ClassVar[bool] = False  # whether the steps are those of `GraphMAE`
    has_fast_rebuild: ClassVar[bool] = False
    fixed_shapes: ClassVar[bool] = False
    is_sum_of_parts: ClassVar[bool] = True  # see `Method`
    of_seeds: ClassVar[str] = "nodes all over a batch are masked; the masked seeds alone are scored"

    @property
    def reach(self) -> int:
        return int(self.decoder.wants_remask)  # such a decoder looks at the codes of neighbours

    @property
    def records_steps(self) -> bool:
        """Whether every step on one graph has the same shapes, so that it can be recorded and replayed."""
        parts = (self.mask, self.encoder, self.decoder, self.criterion)
        return self.fixed_shapes and all(getattr(part, "records_steps", False) for part in parts)

    @property
    def route(self) -> str:
        reason = obstacle(self)
        return f"the loss is computed step by step: {reason}" if reason else "the loss is computed where it is needed"

    @property
    def uses_edge_codes(self) -> bool:
        """Whether the sums of edge features at the nodes change from step to step."""
        return self.mask_edges or (self.drop_edge > 0 and bool(getattr(self.encoder, "edge_channels", 0)))

    @property
    def takes_padding(self) -> bool:
        """Whether batches of graphs may be filled up to fixed shapes: rows of zeros must not count in the loss."""
        pads = getattr(self.mask, "draw_padded", None) is not None
        return pads and not obstacle(self) and self.records_steps and getattr(self.criterion, "leaves_out_zeros", False)


def obstacle(model: GraphMAE | Recordable) -> str:
    """Why the loss has to be computed by `plain_loss`, in words; "": it need not be.

    The ways here run none of the `STEPS`, so each has to be that of `GraphMAE`; a subclass of a part has taken its
    promises back where it overrides what they are about. What is set on an object itself is asked about here.
    """
    if not getattr(model.encoder, "takes_rows", False):
        return f"{type(model.encoder).__name__} computes all nodes"
    methods_used = (
        (model, STEPS),
        (model.mask, ("draw", "draw_in")),
        (model.remask, ("erase",)),
        (model.decoder, ("forward",)),
        (model.criterion, ("forward",)),
    )
    for part, names in methods_used:
        if changed := [name for name in names if name in vars(part)]:
            return f"{changed[0]} of {type(part).__name__} is replaced"
    if type(model.remask) is not masking.Remask:
        return f"{type(model.remask).__name__} is a re-masking of one's own"
    if not model.has_fast_loss or _has_changed_steps(type(model)):
        return f"{type(model).__name__} has steps of its own"
    return ""


_STOCK_STEPS: dict[type, dict[str, Any]] = {}  # `GraphMAE` → its steps as they were defined


def remember_steps(stock: type) -> None:
    """Keep the steps of `GraphMAE`: a class can be changed after it was defined, as in a notebook."""
    _STOCK_STEPS[stock] = {name: getattr(stock, name) for name in STEPS}


def _has_changed_steps(kind: type) -> bool:
    """Whether a class has other steps than `GraphMAE` was defined with, and does not promise the fast loss itself."""
    if "has_fast_loss" in vars(kind) and kind not in _STOCK_STEPS:
        return False
    return any(getattr(kind, name) is not step for steps in _STOCK_STEPS.values() for name, step in steps.items())


def loss(model: GraphMAE, batch: Batch) -> Tensor:
    """The loss of one random draw."""
    x, edge_index = batch.x, batch.graph
    if isinstance(edge_index, Adjacency) and edge_index.valid is not None and batch.batch is not None:
        return padded_loss(model, x, edge_index, batch.batch)
    hidden = model.mask.draw_in(batch)  # 1
    if model.mask_edges:
        edge_index = masking.masked_edges(kernels.adjacency(edge_index, x.size(0)), hidden.flags)
    scored = hidden.scored(batch.seeds)
    read = _read(model, hidden, edge_index, scored)
    code = encode(model, x, edge_index, hidden, read)  # 2
    code, nodes = _remask(model, model.to_decoder(code), hidden, read)  # 3
    prediction, target = _decode(model, code, nodes, edge_index, scored, x)  # 4
    return model.criterion(prediction, target)  # 5


def rebuild(model: GraphMAE, x: Tensor, edge_index: Tensor | Adjacency, hidden: MaskedNodes) -> Tensor:
    """What the decoder says of the masked nodes, as `_rebuild` does; by a subclass's own where it has one."""
    if not (model.has_fast_rebuild and "_rebuild" not in vars(model) and getattr(model.encoder, "takes_rows", False)):
        return model._rebuild(x, edge_index, hidden)
    if model.mask_edges:
        edge_index = masking.masked_edges(kernels.adjacency(edge_index, x.size(0)), hidden.flags)
    code = model.to_decoder(encode(model, x, edge_index, hidden, None))
    return model.decode(model.erase(code, hidden.flags), edge_index, hidden.masked)


def padded_loss(model: GraphMAE, x: Tensor, graph: Adjacency, batch: Tensor) -> Tensor:
    """The same five steps over fixed shapes."""
    assert graph.sizes is not None
    hidden = model.mask.draw_padded(batch, graph.sizes, graph.starts, graph.largest)  # 1
    if model.mask_edges:
        graph = masking.masked_edges(graph, hidden.masked)
    treat = partial(hidden.apply, token=model.mask_token)
    thinned = masking.thinned(graph, model.drop_edge)
    code = model.encoder(x, thinned, mask=treat) if model.masks_embeddings else model.encoder(treat(x), thinned)  # 2
    code = model.to_decoder(code)
    code = model.erase(code, hidden.masked)  # 3
    prediction = model.decoder(code, graph, rows=None)  # 4
    return model.criterion(prediction, torch.where(hidden.masked.unsqueeze(1), model.target(x), 0.0))  # 5


def _read(model: GraphMAE, hidden: MaskedNodes, edge_index: Tensor | Adjacency, scored: Tensor) -> Tensor | None:
    """The nodes whose code reaches the loss of those `scored`; None: all."""
    if not model.decoder.wants_remask:
        return scored if getattr(model.decoder, "takes_nodes", False) else None
    if model.remask.kind == "none":
        return None
    if model.remask.kind == "learnable" or not _takes_some(model.decoder):
        return hidden.visible
    adj = kernels.adjacency(edge_index, len(hidden.visible) + len(hidden.masked))
    if adj.col.is_cuda and not adj.is_sampled:  # there shapes must not depend on the draw
        return hidden.visible
    heard = kernels.View(adj, scored).senders
    return hidden.visible[heard[hidden.visible]]


def encode(
    model: GraphMAE, x: Tensor, edge_index: Tensor | Adjacency, hidden: MaskedNodes, read: Tensor | None
) -> Tensor:
    """Codes of the nodes that are `read` (None: all), computed from nothing but what they depend on."""
    encoder = model.encoder
    assert isinstance(encoder, encoders.StackedEncoder)
    options = {}
    if model.masks_embeddings:
        seen: Tensor | MaskedInput = x
        options["mask"] = partial(hidden.apply, token=model.mask_token)
    elif encoder.takes_masked(x.is_cuda) and not x.requires_grad:
        seen = hidden.rows_of(aligned(x), model.mask_token)
    else:
        seen = hidden.apply(x, model.mask_token)
    graph = masking.thinned(kernels.adjacency(edge_index, x.size(0)), model.drop_edge)
    if read is None or encoder.restricts:
        return encoder(seen, graph, read, **options)
    return encoder(seen, graph, **options).index_select(0, read)


def _takes_some(decoder: nn.Module) -> bool:
    """Whether the decoder can do without the codes of nodes that are zeros."""
    return getattr(decoder, "takes_nodes", False) and not getattr(decoder, "looks_at_all", False)


def _remask(model: GraphMAE, code: Tensor, hidden: MaskedNodes, read: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The decoder's input, and the nodes its rows belong to; None: all."""
    if not model.decoder.wants_remask or model.remask.kind == "none" or read is None:
        return code, read
    return model.remask(code, hidden, read, _takes_some(model.decoder))


def _decode(
    model: GraphMAE, code: Tensor, nodes: Tensor | None, edge_index: Tensor | Adjacency, scored: Tensor, x: Tensor
) -> tuple[Tensor | Factored, Tensor | BagRows]:
    """What the decoder says of the nodes that are scored, and what they were; bags of words are not written out."""
    if nodes is None:
        return model.decode(code, edge_index, scored), model.target(x)[scored]
    adj = kernels.adjacency(edge_index, x.size(0))
    whole, factor = model.decoder.out_channels == x.size(1), getattr(model.decoder, "factored", None)
    if model.decoder._forward_hooks or model.decoder._forward_pre_hooks:  # they are for what `forward` gives
        factor = None
    if whole and factor is not None and getattr(model.criterion, "takes_factored", False):
        bags, wide = bags_of(x), aligned(x)
        short = bags is not None or wide is not x
        factored = factor(code, adj, scored, nodes) if short else None
        if factored is not None and bags is not None:
            return factored, BagRows(bags, scored)
        if factored is not None:
            return factored.dense(wide.size(1)), wide.index_select(0, scored)
    return model.decoder(code, adj, rows=scored, nodes=nodes), model.target(x)[scored]
