"""One layer of any encoder: dropout → convolution → (+ residual) → norm → activation, or the last two swapped."""

from __future__ import annotations

from torch import Tensor, nn

from .. import kernels
from ..runtime.errors import ConfigError
from .conv import Edges, GATConv, GCNConv, own_rows
from .inputs import MaskedInput, bags_of
from .norm import NormAct
from .product import Linear


class Block(nn.Module):
    """A convolution with everything around it. `conv` needs `in_channels` and `width`, its output width.

    The residual is the identity where the widths agree, else a bias-free linear map. With `norm_last` the norm comes
    after the activation.
    """

    def __init__(
        self,
        conv: nn.Module,
        dropout: float,
        norm: str = "none",
        activation: str = "none",
        residual: bool = False,
        norm_last: bool = False,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout must be in [0, 1), not {dropout}")
        in_channels, width = int(conv.in_channels), int(conv.width)  # type: ignore[arg-type]
        self.conv, self.dropout, self.width = conv, dropout, width
        self.finish = NormAct("none" if norm_last else norm, width, activation)
        self.norm = NormAct(norm, width, "none") if norm_last else None
        self.residual: nn.Module | None = None
        if residual:
            self.residual = nn.Identity() if in_channels == width else Linear(in_channels, width, bias=False)
            if isinstance(self.residual, nn.Linear) and isinstance(conv, GATConv):
                conv.initialise(self.residual.weight)

    def takes_masked(self, on_cuda: bool) -> bool:
        """Whether the input may be a `MaskedInput`: the convolution must begin with a projection at no extra cost."""
        if self.residual is not None or not isinstance(self.conv, GATConv | GCNConv):
            return False
        return not on_cuda or self.conv.projects_first(1, 1, on_cuda)

    def forward(
        self,
        x: Tensor | MaskedInput,
        edge_index: Edges,
        rows: Tensor | None = None,
        dropped: bool = False,
        drop: float = 0.0,
    ) -> Tensor:
        """`x` [n, in_channels] → [R, width]; `edge_index` may be a `kernels.View`.

        The dropout of a block's input can be left to the block before, which has it for free: `dropped` says that it
        was done there, `drop` what to do for the next one.
        """
        num_nodes = x.x.size(0) if isinstance(x, MaskedInput) else x.size(0)
        view = kernels.view(edge_index, num_nodes, rows)
        shift = self._shift(x)
        options = {} if shift is None else {"biased": False}
        if not dropped and not isinstance(x, MaskedInput):
            x = self._by_entries(x)
        if isinstance(x, MaskedInput):
            out = self.conv(x.dropout(self.dropout, self.training), view, **options)
        else:
            x = x if dropped else kernels.dropout(x, self.dropout, self.training)
            out = self.conv(x, view, **options)
            if self.residual is not None:
                out = out + self.residual(own_rows(x, view))
        if self.norm is None:
            return self.finish(out, view.adj.valid, shift, drop)
        return self.norm(self.finish(out, view.adj.valid, shift), view.adj.valid, dropout=drop)

    def _by_entries(self, x: Tensor) -> Tensor | MaskedInput:
        """A bag of words that is to be dropped out, by its entries: a dense copy would cost more than the rest."""
        if not self.training or self.dropout == 0.0 or x.is_cuda or not self.takes_masked(on_cuda=False):
            return x
        bags = bags_of(x)
        return x if bags is None else MaskedInput.whole(x, bags)

    def _shift(self, x: Tensor | MaskedInput) -> Tensor | None:
        """The convolution's bias where what follows adds it: on CUDA, where its gradient is then free too."""
        on_cuda = x.x.is_cuda if isinstance(x, MaskedInput) else x.is_cuda
        if on_cuda and self.finish.takes_shift and isinstance(self.conv, GATConv | GCNConv):
            return self.conv.bias
        return None
