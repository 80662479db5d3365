"""Step 1: which nodes are masked, and how each of them is treated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from .. import kernels
from ..layers import MaskedInput, bags_of
from ..registry import Registry
from ..runtime.errors import ConfigError, unknown
from ..runtime.promises import Promising

if TYPE_CHECKING:
    from ..batching import Batch


@dataclass(frozen=True)
class MaskedNodes:
    """One draw. Every masked node is in exactly one of `token`, `replaced` and `kept`.

    Attributes:
        masked: [M] the nodes that are scored.
        visible: [N − M] the others.
        token: nodes whose features become the [MASK] token.
        replaced, donors: nodes that get the features of another, visible node.
        kept: masked nodes left unchanged (ablation only).
        order: [N] visible, kept, replaced and token one after the other, where they lie so.
    """

    masked: Tensor
    visible: Tensor
    token: Tensor
    replaced: Tensor
    donors: Tensor
    kept: Tensor
    order: Tensor | None = None

    @classmethod
    def of(cls, masked: Tensor, num_nodes: int) -> MaskedNodes:
        """These nodes, all of them by the token."""
        flags = torch.zeros(num_nodes, dtype=torch.bool, device=masked.device)
        flags[masked] = True
        none = masked[:0]
        return cls(masked, (~flags).nonzero().flatten(), masked, none, none, none)

    def within(self, nodes: Tensor, num_nodes: int) -> MaskedNodes:
        """The same draw, of `nodes` [n] in a graph of `num_nodes`, whose other nodes are visible."""
        parts = (nodes[part] for part in (self.masked, self.token, self.replaced, self.donors, self.kept))
        masked, token, replaced, donors, kept = parts
        flags = torch.zeros(num_nodes, dtype=torch.bool, device=nodes.device).index_fill_(0, masked, True)
        return MaskedNodes(masked, (~flags).nonzero().flatten(), token, replaced, donors, kept)

    def joined(self, other: MaskedNodes) -> MaskedNodes:
        """Both draws as one; each has its own nodes of the same graph masked."""
        names = ("masked", "token", "replaced", "donors", "kept")
        masked, token, replaced, donors, kept = (torch.cat([getattr(self, n), getattr(other, n)]) for n in names)
        flags = torch.zeros(len(self.masked) + len(self.visible), dtype=torch.bool, device=masked.device)
        visible = (~flags.index_fill_(0, masked, True)).nonzero().flatten()
        return MaskedNodes(masked, visible, token, replaced, donors, kept)

    def scored(self, seeds: Tensor | None) -> Tensor:
        """[M] the masked nodes that count in a loss."""
        return self.masked if seeds is None else self.masked[torch.isin(self.masked, seeds)]

    @property
    def flags(self) -> Tensor:
        """[N] bool: which nodes are masked."""
        total = len(self.masked) + len(self.visible)
        return torch.zeros(total, dtype=torch.bool, device=self.masked.device).index_fill(0, self.masked, True)

    def apply(self, x: Tensor, token: Tensor) -> Tensor:
        """Features the encoder sees: `x` [N, d] with masked rows treated; `token` [d]."""
        out = x.clone()
        out[self.token] = token.to(x.dtype)
        out[self.replaced] = x[self.donors]
        return out

    def rows_of(self, x: Tensor, token: Tensor) -> MaskedInput:
        """The same without writing it out: which rows of `x` stand where, and where the token does."""
        rows = torch.cat([self.visible, self.kept, self.donors])
        nodes = self.order
        if nodes is None:
            nodes = torch.cat([self.visible, self.kept, self.replaced, self.token])
        return MaskedInput(x, bags_of(x), rows, token, nodes)


@dataclass(frozen=True)
class PaddedMask:
    """The same draw over fixed shapes, so that it can be recorded: [N] flags instead of lists.

    Attributes:
        masked, token, replaced: which nodes are; a node that is masked and neither of the others is kept unchanged.
        donors: [N] the node whose features a replaced one gets.
    """

    masked: Tensor
    token: Tensor
    replaced: Tensor | None
    donors: Tensor | None

    def apply(self, x: Tensor, token: Tensor) -> Tensor:
        """Features the encoder sees."""
        if self.replaced is not None and self.donors is not None:
            x = torch.where(self.replaced.unsqueeze(1), x.index_select(0, self.donors), x)
        return torch.where(self.token.unsqueeze(1), token.to(x.dtype), x)


class NodeMask(Promising):
    """The contract of a masking rule: `draw` says which nodes are masked this step.

    Attributes:
        records_steps: whether a step with it can be recorded on CUDA: how many nodes are masked is always the same.
        draw_padded: a function that draws the same over fixed shapes; None: there is none.
    """

    promises = dict.fromkeys(("draw", "draw_in"), ("records_steps", "draw_padded"))
    records_steps: bool = False
    draw_padded: Any = None

    def draw(self, num_nodes: int, device: torch.device | str = "cpu", batch: Tensor | None = None) -> MaskedNodes:
        """`batch` [N] numbers the graph of every node, ascending, where `num_nodes` are those of several graphs."""
        raise TypeError(f"{type(self).__name__} must define draw(num_nodes, device, batch)")

    def draw_in(self, batch: Batch) -> MaskedNodes:
        """The nodes masked in a batch. Where it has seeds, the rate holds among them and among its other nodes, so that
        a masked seed sees as much of what is around it as in the whole graph. Rules that look at features or edges
        define this instead of `draw`."""
        x, graphs = batch.x, batch.batch
        if batch.seeds is None:
            return self.draw(x.size(0), x.device, graphs)
        others = torch.ones(x.size(0), dtype=torch.bool, device=x.device).index_fill_(0, batch.seeds, False)
        parts = [part for part in (batch.seeds, others.nonzero().flatten()) if len(part)]
        drawn = [
            self.draw(len(part), x.device, None if graphs is None else graphs[part]).within(part, x.size(0))
            for part in parts
        ]
        return drawn[0] if len(drawn) == 1 else drawn[0].joined(drawn[1])


REGISTRY: Registry[NodeMask] = Registry("mask")


@REGISTRY.register("random")
class RandomNodeMask(NodeMask):
    """Uniformly random nodes, without replacement.

    Args:
        rate: share of the nodes that is masked, in every graph of a batch. At least one node is, and at least one
            stays visible (a graph of a single node is masked whole).
        replace_rate: share of the masked nodes that gets another node's features instead of the token.
        keep_rate: share of the masked nodes left unchanged; the paper found it harmful.
        per_graph: False is the published rule: the rate holds over all nodes of a batch, so that a small graph may be
            masked whole or not at all.
        count: how many of n nodes the rate is: "nearest", or "one-more", ⌊rate · n⌋ + 1, the published rule for
            molecules.

    >>> draw = RandomNodeMask(rate=0.5, replace_rate=0.1).draw(100)
    >>> len(draw.masked), len(draw.token), len(draw.replaced)
    (50, 45, 5)
    """

    records_steps = True

    def __init__(
        self,
        rate: float = 0.5,
        replace_rate: float = 0.0,
        keep_rate: float = 0.0,
        per_graph: bool = True,
        count: Literal["nearest", "one-more"] = "nearest",
    ) -> None:
        if not 0 < rate < 1:
            raise ConfigError(f"mask.rate must be strictly between 0 and 1, not {rate}")
        for name, value in (("replace_rate", replace_rate), ("keep_rate", keep_rate)):
            if not 0 <= value <= 1:
                raise ConfigError(f"mask.{name} must be in [0, 1], not {value}")
        if replace_rate + keep_rate > 1:
            raise ConfigError(f"mask.replace_rate + mask.keep_rate must be at most 1, not {replace_rate + keep_rate}")
        if count not in ("nearest", "one-more"):
            raise ConfigError(unknown("mask.count", count, ("nearest", "one-more")))
        self.rate, self.replace_rate, self.keep_rate, self.per_graph = rate, replace_rate, keep_rate, per_graph
        self.count = count
        self._tables: dict[tuple[int, torch.device], Tensor] = {}  # how many are masked, by the size of a graph

    def draw(self, num_nodes: int, device: torch.device | str = "cpu", batch: Tensor | None = None) -> MaskedNodes:
        order = None
        if batch is None or not self.per_graph:
            order, visible, masked = kernels.parted(num_nodes, num_nodes - self._count(num_nodes), device)
        else:  # the rate holds in every graph, not just over all of them
            sizes = torch.bincount(batch)
            counts = self._counts(sizes)
            within = (batch + torch.rand(num_nodes, device=device, dtype=torch.float64)).argsort()
            rank = torch.arange(num_nodes, device=device) - (sizes.cumsum(0) - sizes)[batch]
            chosen = within[rank < counts[batch]]
            masked = chosen[torch.rand(len(chosen), device=device).argsort()]
            visible = within[rank >= counts[batch]]
        count = len(masked)
        # Differs: donors are visible nodes (never the node itself, never another masked one), so no target leaks.
        num_replaced = min(round(self.replace_rate * count), count) if len(visible) else 0
        num_kept = min(round(self.keep_rate * count), count - num_replaced)
        kept, replaced, token = masked.split([num_kept, num_replaced, count - num_replaced - num_kept])
        donors = visible[torch.randint(max(len(visible), 1), (num_replaced,), device=device)]
        return MaskedNodes(masked, visible, token, replaced, donors, kept, order)

    def draw_padded(self, batch: Tensor, sizes: Tensor, starts: Tensor | None = None, largest: int = 0) -> PaddedMask:
        """A draw for graphs side by side of `sizes` [G], nodes of no graph (`batch` = G) after them.

        Faster where it is known where they start ([G + 1]) and how large the `largest` is.
        """
        place = torch.arange(batch.numel(), device=batch.device)
        real = batch < len(sizes)
        masked = self._drawn_within(sizes, starts, largest, len(batch)) if self.per_graph else None
        if masked is None:
            draws = torch.rand(len(batch), device=batch.device, dtype=torch.float64)
            if self.per_graph:
                owner = batch.clamp(max=len(sizes) - 1)
                rank = place - (sizes.cumsum(0) - sizes)[owner]
                chosen = real & (rank < self._counts(sizes)[owner])
                masked = torch.zeros_like(real).scatter(0, (batch + draws).argsort(), chosen)
            else:
                chosen = place < self._counts(sizes.sum())
                masked = torch.zeros_like(real).scatter(0, (draws + 2 * (~real)).argsort(), chosen)
        if not self.replace_rate and not self.keep_rate:
            return PaddedMask(masked, masked, None, None)
        total, visible = masked.sum(), (real & ~masked).sum()
        first = (torch.rand(len(batch), device=batch.device) + 2 * (~masked)).argsort()
        num_replaced = torch.where(visible > 0, (self.replace_rate * total).round(), 0)
        num_treated = num_replaced + (self.keep_rate * total).round()
        replaced = torch.zeros_like(real).scatter(0, first, place < num_replaced)
        token = masked & ~torch.zeros_like(real).scatter(0, first, place < num_treated)
        seen = (masked | ~real).to(torch.int8).argsort(stable=True)
        pick = (torch.rand(len(batch), device=batch.device) * visible).long().minimum((visible - 1).clamp(min=0))
        return PaddedMask(masked, token, replaced, seen[pick])

    def _drawn_within(self, sizes: Tensor, starts: Tensor | None, largest: int, total: int) -> Tensor | None:
        """[total] which nodes are masked, the rate holding in every graph; None where sorting has to do it."""
        if starts is None or not largest:
            return None
        key = largest, sizes.device
        if key not in self._tables:
            self._tables[key] = self._counts(torch.arange(largest + 1)).to(torch.int32).to(sizes.device)
        return kernels.chosen_within(sizes, starts, self._tables[key], total)

    def _count(self, num_nodes: int) -> int:
        return int(self._counts(torch.tensor(num_nodes)))

    def _counts(self, sizes: Tensor) -> Tensor:
        share = self.rate * sizes.double()
        wanted = share.round() if self.count == "nearest" else share.floor() + 1
        return torch.minimum(wanted.long(), sizes - 1).clamp(min=1)
