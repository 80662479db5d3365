"""One layer of any encoder: dropout → convolution → (+ residual) → norm → activation."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from .. import kernels
from ..runtime.errors import ConfigError, unknown
from .conv import Edges, GATConv, GCNConv, own_rows
from .inputs import MaskedInput

norms: dict[str, Callable[[int], nn.Module]] = {
    "none": lambda channels: nn.Identity(),
    "batch": nn.BatchNorm1d,
    "layer": nn.LayerNorm,
}
activations: dict[str, Callable[[], nn.Module]] = {
    "none": nn.Identity,
    "prelu": nn.PReLU,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "leaky-relu": nn.LeakyReLU,
    "tanh": nn.Tanh,
}


def make_norm(name: str, channels: int) -> nn.Module:
    if name not in norms:
        raise ConfigError(unknown("norm", name, norms))
    return norms[name](channels)


def make_activation(name: str) -> nn.Module:
    if name not in activations:
        raise ConfigError(unknown("activation", name, activations))
    return activations[name]()


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
        self.norm, self.activation = make_norm(norm, width), make_activation(activation)
        self.residual: nn.Module | None = None
        if residual:
            self.residual = nn.Identity() if in_channels == width else nn.Linear(in_channels, width, bias=False)
            if isinstance(self.residual, nn.Linear) and isinstance(conv, GATConv):
                conv.initialise(self.residual.weight)

    @property
    def takes_masked(self) -> bool:
        """Whether the input may be a `MaskedInput`: the convolution must be able to begin with a projection."""
        return self.residual is None and isinstance(self.conv, GATConv | GCNConv)

    def forward(self, x: Tensor | MaskedInput, edge_index: Edges, rows: Tensor | None = None) -> Tensor:
        """`x` [n, in_channels] → [R, width]; `edge_index` may be a `kernels.View`."""
        if isinstance(x, MaskedInput):
            return self.activation(self.norm(self.conv(x.dropout(self.dropout, self.training), edge_index, rows)))
        view = kernels.view(edge_index, x.size(0), rows)
        x = kernels.dropout(x, self.dropout, self.training)
        out = self.conv(x, view)
        if self.residual is not None:
            out = out + self.residual(own_rows(x, view))
        return self.activation(self.norm(out))
