"""Convolutions, and the block (dropout → convolution → residual → norm → activation) every encoder is made of."""

from .block import Block, activations, make_activation, make_norm, norms
from .conv import GATConv, GCNConv, GINConv
from .inputs import BagRows, Bags, Factored, MaskedInput, bags_of
from .mlp import MLP

__all__ = [
    "MLP",
    "BagRows",
    "Bags",
    "Block",
    "Factored",
    "GATConv",
    "GCNConv",
    "GINConv",
    "MaskedInput",
    "activations",
    "bags_of",
    "make_activation",
    "make_norm",
    "norms",
]
