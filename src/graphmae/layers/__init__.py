"""Convolutions, and the block (dropout → convolution → residual → norm → activation) every encoder is made of."""

from .block import Block, activations, make_activation, make_norm, norms
from .conv import GATConv, GCNConv, GINConv
from .mlp import MLP
from .sparse import SparseRows, sparse_rows

__all__ = [
    "MLP",
    "Block",
    "GATConv",
    "GCNConv",
    "GINConv",
    "SparseRows",
    "activations",
    "make_activation",
    "make_norm",
    "norms",
    "sparse_rows",
]
