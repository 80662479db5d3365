"""The contract of an encoder, and the stack of blocks the three published ones share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .. import kernels
from ..layers import Block, MaskedInput, computing_again
from ..registry import Registry
from ..runtime.errors import ConfigError, DataError
from ..runtime.promises import Promising


class Encoder(Promising, nn.Module):
    """Node features and edges in, one row per node out. Any `nn.Module` with `in_channels` and `out_channels` will do.

    Attributes:
        in_channels: width of the node features.
        out_channels: width of the embedding.
        takes_adjacency: whether `edge_index` may be a `kernels.Adjacency`, sorted once, instead of a tensor.
        records_steps: whether a training step can be recorded on CUDA and replayed, also on batches that are filled up
            with rows of zeros: shapes do not depend on values, and nothing waits for the device.
        num_outputs: how many layers stand side by side where its attribute `output` is set from "last" to "all"; 0: it
            has no such attribute.
        takes_rows: whether `forward` takes `rows`, and computes them alone where `restricts` says so.
        groups_atoms: whether `pool_environments` gives what `forward` does, sooner.
    """

    promises = {  # noqa: RUF012
        "forward": ("takes_adjacency", "records_steps", "num_outputs", "takes_rows", "groups_atoms")
    }

    in_channels: int
    out_channels: int
    num_outputs: int = 0
    takes_adjacency: bool = False
    records_steps: bool = False
    takes_rows: bool = False
    groups_atoms: bool = False

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """`x` [N, in_channels], `edge_index` [2, E] → [N, out_channels]."""
        raise TypeError(f"{type(self).__name__} must define forward(x, edge_index)")


REGISTRY: Registry[Encoder] = Registry("encoder", supplied=["in_channels"])


def build_for(name: str, options: Mapping[str, Any], in_channels: int, edge_channels: int = 0) -> Encoder:
    """A registered encoder with these options, for so many features of nodes and, if it takes some, of edges."""
    takes = edge_channels and "edge_channels" in REGISTRY.options(name)
    widths = {"in_channels": in_channels, **({"edge_channels": edge_channels} if takes else {})}
    return REGISTRY.build(name, **{**widths, **options})


class StackedEncoder(Encoder):
    """Blocks one after the other; the embedding is the last block's output or all of them side by side.

    Args:
        output: "last" or "all". The same in training and in `embed`.

    The published encoders also take:
        out_channels: width of the last layer, where it is not that of the others.
        plain_output: the last layer has neither norm nor activation.
    """

    takes_adjacency = True
    records_steps = True
    takes_rows = True
    is_checkpointed = False  # see `checkpointed`

    def __init__(self, in_channels: int, hidden_channels: int, blocks: Iterable[Block], output: str) -> None:
        super().__init__()
        if output not in ("last", "all"):
            raise ConfigError(f"encoder.output must be 'last' or 'all', not {output!r}")
        self.in_channels, self.hidden_channels, self.output = in_channels, hidden_channels, output
        self.blocks = nn.ModuleList(blocks)

    @property
    def out_channels(self) -> int:  # type: ignore[override]
        widths = [int(block.width) for block in self.blocks]  # type: ignore[arg-type]
        return sum(widths) if self.output == "all" else widths[-1]

    @property
    def num_outputs(self) -> int:  # type: ignore[override]
        return len(self.blocks)

    def takes_masked(self, on_cuda: bool) -> bool:
        """Whether the input may be a `MaskedInput`."""
        first = self.blocks[0]
        assert isinstance(first, Block)
        return first.takes_masked(on_cuda)

    @property
    def restricts(self) -> bool:
        """Whether the nodes asked for can be computed without all others: not where a batch norm looks at them."""
        looks_at_all = any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in self.modules())
        return self.output == "last" and not looks_at_all

    def forward(
        self,
        x: Tensor | MaskedInput,
        edge_index: Tensor | kernels.Adjacency,
        rows: Tensor | None = None,
    ) -> Tensor:
        """`x` [N, in_channels] → [N, out_channels], or only `rows` [R] of it."""
        if isinstance(x, Tensor):
            self._check(x)
        num_nodes = x.x.size(0) if isinstance(x, MaskedInput) else x.size(0)
        adj = kernels.adjacency(edge_index, num_nodes)
        views = [kernels.View(adj, rows)]
        fixed = adj.col.is_cuda and not adj.is_sampled
        for _ in self.blocks[1:]:  # on CUDA shapes must not depend on the draw, so only the last layer is restricted
            before = None if views[0].rows is None or fixed else views[0].needed
            views[0] = replace(views[0], nodes=before)
            views.insert(0, kernels.View(adj, before))
        if isinstance(x, MaskedInput):
            x = x if views[0].rows is None or fixed else x.among(views[0].needed)
            views[0] = replace(views[0], nodes=x.nodes)
        if self.output == "all":
            return torch.cat(self._each(x, views), dim=1)
        after = [*(float(block.dropout) if block.training else 0.0 for block in self.blocks[1:]), 0.0]  # type: ignore[arg-type]
        for i, (block, view) in enumerate(zip(self.blocks, views, strict=True)):
            x = self._computed(block, x, view, dropped=i > 0, drop=after[i])
        return x  # type: ignore[return-value]

    def _check(self, x: Tensor) -> None:
        """Refuse features of another width or of double precision, which torch's products refuse less clearly."""
        width = int(self.blocks[0].conv.in_channels)  # type: ignore[union-attr, arg-type]
        if x.dim() != 2 or x.size(1) != width:
            raise DataError(
                f"x has the shape {tuple(x.shape)}, and this encoder takes [nodes, {width}]; where the "
                "model has views, model.as_seen(graph) has the features that it sees"
            )
        own = next(self.parameters()).dtype
        if x.dtype != own and torch.float64 in (x.dtype, own):
            way = "x.float()" if own == torch.float32 else "encoder.float()"
            raise DataError(f"x holds {x.dtype} and the weights of this encoder are {own}; use {way}")

    def every_block(self, x: Tensor, edge_index: Tensor | kernels.Adjacency) -> list[Tensor]:
        """[N, width] what each block gives, the last one last."""
        return self._each(x, [kernels.View(kernels.adjacency(edge_index, x.size(0)))] * len(self.blocks))

    def _each(self, x: Tensor | MaskedInput, views: list[kernels.View]) -> list[Tensor]:
        hidden: list[Tensor] = []
        for block, view in zip(self.blocks, views, strict=True):
            hidden.append(self._computed(block, hidden[-1] if hidden else x, view))
        return hidden

    def _computed(self, block: nn.Module, x: Tensor | MaskedInput, view: kernels.View, **options: Any) -> Tensor:
        """A layer; while `checkpointed` only its input is kept, and the rest computed again for the gradient."""
        if not (self.is_checkpointed and torch.is_grad_enabled() and self.training):
            return block(x, view, **options)

        def computed(x: Tensor | MaskedInput, view: kernels.View, weight: Tensor) -> Tensor:
            out: Tensor = block(x, view, **options)
            return out

        # Dropout draws the seed of its own generator from torch's, which is set back before computing again: that of
        # the devices of the tensors handed in. Masked input is not a tensor, so a weight says which device it is.
        near = next(block.parameters())
        return checkpoint(computed, x, view, near, use_reentrant=False, context_fn=_contexts)


def _contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    chosen = kernels.chosen()  # not known in the thread that computes gradients on CUDA

    @contextmanager
    def computing() -> Iterator[None]:
        with kernels.use(chosen), computing_again():
            yield

    return nullcontext(), computing()


@contextmanager
def checkpointed(module: nn.Module) -> Iterator[None]:
    """A block in which the encoders inside of `module` keep the inputs of their layers for the gradient, and nothing
    else: less memory, and their time once more."""
    inside = [part for part in module.modules() if isinstance(part, StackedEncoder)]
    for part in inside:
        part.is_checkpointed = True
    try:
        yield
    finally:
        for part in inside:
            part.is_checkpointed = False


@dataclass(frozen=True)
class LayerShape:
    """What differs between the layers of a stack."""

    in_channels: int
    width: int
    norm: str
    activation: str


MOST_LAYERS = 1000  # a typing error, or a file made to keep the machine busy


def layer_shapes(
    in_channels: int,
    hidden_channels: int,
    num_layers: int,
    norm: str,
    activation: str,
    out_channels: int | None = None,
    plain_output: bool = False,
) -> list[LayerShape]:
    """Layers of one width; the last may have another, and may be left without norm and activation."""
    last = hidden_channels if out_channels is None else out_channels
    for name, value in (
        ("in_channels", in_channels),
        ("hidden_channels", hidden_channels),
        ("out_channels", last),
        ("num_layers", num_layers),
    ):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1, not {value}")
    if num_layers > MOST_LAYERS:
        raise ConfigError(f"num_layers must be at most {MOST_LAYERS:,}, not {num_layers}")
    widths = [in_channels, *[hidden_channels] * (num_layers - 1), last]
    shapes = [LayerShape(*pair, norm, activation) for pair in pairwise(widths)]
    if plain_output:
        shapes[-1] = replace(shapes[-1], norm="none", activation="none")
    return shapes
