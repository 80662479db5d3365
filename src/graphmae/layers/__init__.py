"""Convolutions, and the block (dropout → convolution → residual → norm → activation) every encoder is made of."""

from .block import Block
from .conv import GATConv, GCNConv, GINConv
from .inputs import BagRows, Bags, Factored, MaskedInput, aligned, bags_of, keep_columns
from .mlp import MLP
from .norm import NormAct, PReLU, activations, computing_again, norms
from .product import Linear, product

__all__ = [
    "MLP",
    "BagRows",
    "Bags",
    "Block",
    "Factored",
    "GATConv",
    "GCNConv",
    "GINConv",
    "Linear",
    "MaskedInput",
    "NormAct",
    "PReLU",
    "activations",
    "aligned",
    "bags_of",
    "computing_again",
    "keep_columns",
    "norms",
    "product",
]
