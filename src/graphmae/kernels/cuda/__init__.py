"""The kernels for CUDA: Triton programs over rows, so that no edge × channel tensor exists."""

from ..reference import dropout, filled_up, lookup, mm, pool, takes_product
from .adam import adam_step
from .aggregate import aggregate
from .attend import attend
from .batches import LARGEST as LARGEST_GRAPH
from .batches import MAX_GRAPHS, chosen_within, take_padded
from .column_sums import column_sums
from .cosine import cosine
from .dropped_rows import dropped_rows
from .finish import layer_norm, prelu
from .norm import batch_norm
from .part import parted

__all__ = [
    "LARGEST_GRAPH",
    "MAX_GRAPHS",
    "adam_step",
    "aggregate",
    "attend",
    "batch_norm",
    "chosen_within",
    "column_sums",
    "cosine",
    "dropout",
    "dropped_rows",
    "filled_up",
    "layer_norm",
    "lookup",
    "mm",
    "parted",
    "pool",
    "prelu",
    "take_padded",
    "takes_product",
]
