"""A multi-layer perceptron with norm, activation and dropout between its linear maps."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from .norm import NormAct
from .product import Linear, product


class MLP(nn.Module):
    """linear → norm → activation → dropout → … → linear; nothing after the last map, which alone can go without
    `bias`."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        norm: str = "none",
        activation: str = "prelu",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.in_channels, self.width, self.dropout = in_channels, out_channels, dropout
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        # A bias before a batch norm would be subtracted again.
        self.maps = nn.ModuleList(Linear(a, b, bias=norm != "batch") for a, b in pairwise(widths[:-1]))
        self.between = nn.ModuleList(NormAct(norm, width, activation) for width in widths[1:-1])
        self.last = Linear(widths[-2], widths[-1], bias=bias)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """`x` [N, in_channels] → [N, out_channels]; rows after `valid` only pad."""
        for linear, finish in zip(self.maps, self.between, strict=True):
            assert isinstance(linear, Linear)
            # On CUDA the bias goes with the activation, where its gradient is free.
            shift = linear.bias if x.is_cuda and finish.takes_shift else None
            p = self.dropout if self.training else 0.0
            x = finish(linear(x) if shift is None else product(x, linear.weight), valid, shift, p)
        return self.last(x)
