"""A multi-layer perceptron with norm and activation between its linear maps."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from .block import make_activation, make_norm


class MLP(nn.Module):
    """linear → norm → activation → … → linear; nothing after the last map, which alone can go without `bias`."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        norm: str = "none",
        activation: str = "prelu",
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.in_channels, self.width = in_channels, out_channels
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        steps: list[nn.Module] = []
        for a, b in pairwise(widths[:-1]):
            steps += [nn.Linear(a, b), make_norm(norm, b), make_activation(activation)]
        self.steps = nn.Sequential(*steps, nn.Linear(widths[-2], widths[-1], bias=bias))

    def forward(self, x: Tensor) -> Tensor:
        return self.steps(x)
