"""The contract of a decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from ..registry import Registry
from ..runtime.errors import ConfigError
from ..runtime.promises import Promising


class Decoder(Promising, nn.Module):
    """Codes and edges in, reconstructed features of the asked-for nodes out.

    Attributes:
        in_channels, out_channels: width of the code and of the node features.
        wants_remask: whether the codes of masked nodes are erased first. False for decoders that see one node at a
            time: with its code erased they would have nothing to decode from.
        takes_nodes: whether `forward` takes the codes of some `nodes` only; for those here, not needed in your own.
        entrance: applied to the codes before the bridge; None: nothing.
        looks_at_all: whether a batch norm looks at every node, so that none can be left out.
        factored: a function that gives the same as a product not written out; None: there is none.
        takes_adjacency, records_steps: as of an encoder.
    """

    promises = {"forward": ("takes_nodes", "takes_adjacency", "records_steps", "factored")}  # noqa: RUF012

    in_channels: int
    out_channels: int
    wants_remask: bool = True
    takes_nodes: bool = False
    looks_at_all: bool = False
    takes_adjacency: bool = False
    records_steps: bool = False
    factored: Any = None

    def forward(self, h: Tensor, edge_index: Tensor, rows: Tensor) -> Tensor:
        """`h` [N, in_channels], `edge_index` [2, E], `rows` [M] → [M, out_channels]."""
        raise TypeError(f"{type(self).__name__} must define forward(h, edge_index, rows)")


REGISTRY: Registry[Decoder] = Registry("decoder", supplied=["in_channels", "out_channels"])


def check_widths(
    encoder: nn.Module, decoder: nn.Module, decoded: Callable[[nn.Module, int], int]
) -> tuple[int, int, int]:
    """(width of the code, of the features, of the decoder's input) of two parts that fit together.

    The decoder may give at most as many numbers as `decoded` says, for this encoder and this many features.
    """
    for part in (encoder, decoder):
        for width in ("in_channels", "out_channels"):
            if not isinstance(getattr(part, width, None), int):
                raise ConfigError(f"{type(part).__name__} must have the attribute {width}, a whole number")
    code, features = int(encoder.out_channels), int(encoder.in_channels)  # type: ignore[arg-type]
    most = decoded(encoder, features)
    if decoder.out_channels > most:  # type: ignore[operator]
        raise ConfigError(
            f"the decoder gives {decoder.out_channels} features, the encoder takes {features}; a decoder must give "
            f"at most {most}"
        )
    return code, features, int(decoder.in_channels)  # type: ignore[arg-type]
