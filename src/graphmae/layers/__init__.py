"""Convolutions, and the block (dropout → convolution → residual → norm → activation) every encoder is made of."""

from .block import Block, activations, make_activation, make_norm, norms
from .conv import GATConv, GCNConv, GINConv
from .mlp import MLP

__all__ = [
    "Block",
    "GATConv",
    "GCNConv",
    "GINConv",
    "MLP",
    "activations",
    "make_activation",
    "make_norm",
    "norms",
]
