"""One layer of any encoder: dropout → convolution → (+ residual) → norm → activation."""

from __future__ import annotations

from torch import Tensor, nn

from .. import kernels
from ..runtime.errors import ConfigError
from .conv import Edges, GATConv, GCNConv, own_rows
from .inputs import MaskedInput
from .norm import NormAct
from .product import Linear


class Block(nn.Module):
    """A convolution with everything around it. `conv` needs `in_channels` and `width`, its output width.

    The residual is the identity where the widths agree, else a bias-free linear map.
    """

    def __init__(
        self,
        conv: nn.Module,
        dropout: float,
        norm: str = "none",
        activation: str = "none",
        residual: bool = False,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout must lie in [0, 1), not {dropout}")
        in_channels, width = int(conv.in_channels), int(conv.width)  # type: ignore[arg-type]
        self.conv, self.dropout = conv, dropout
        self.finish = NormAct(norm, width, activation)
        self.residual: nn.Module | None = None
        if residual:
            self.residual = nn.Identity() if in_channels == width else Linear(in_channels, width, bias=False)
            if isinstance(self.residual, nn.Linear) and isinstance(conv, GATConv):
                conv.initialise(self.residual.weight)

    @property
    def takes_masked(self) -> bool:
        """Whether the input may be a `MaskedInput`: the convolution must be able to begin with a projection."""
        return self.residual is None and isinstance(self.conv, GATConv | GCNConv)

    def forward(self, x: Tensor | MaskedInput, edge_index: Edges, rows: Tensor | None = None) -> Tensor:
        """`x` [n, in_channels] → [R, width]; `edge_index` may be a `kernels.View`."""
        num_nodes = x.x.size(0) if isinstance(x, MaskedInput) else x.size(0)
        view = kernels.view(edge_index, num_nodes, rows)
        if isinstance(x, MaskedInput):
            out = self.conv(x.dropout(self.dropout, self.training), view)
        else:
            x = kernels.dropout(x, self.dropout, self.training)
            out = self.conv(x, view)
            if self.residual is not None:
                out = out + self.residual(own_rows(x, view))
        return self.finish(out, view.adj.valid)
