"""The kernels for the CPU: numba loops over rows, so that no edge × channel tensor ever exists.

Every row is summed by one thread in a fixed order, so results do not depend on the number of threads.
"""

from ..reference import column_sums, parted
from .aggregate import aggregate
from .attend import attend
from .cosine import cosine
from .dropout import dropout, dropped_rows
from .lookup import lookup
from .norm import batch_norm, layer_norm, prelu
from .pool import pool
from .product import filled_up, mm, takes_product

__all__ = [
    "aggregate",
    "attend",
    "batch_norm",
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
    "takes_product",
]
