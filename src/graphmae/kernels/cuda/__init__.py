"""The kernels for CUDA: Triton programs over rows, so that no edge × channel tensor and no atomics exist."""

from ..reference import dropout, lookup, pool
from .aggregate import aggregate
from .attend import attend
from .cosine import cosine
from .layer_norm import layer_norm
from .norm import batch_norm, prelu

__all__ = ["aggregate", "attend", "batch_norm", "cosine", "dropout", "layer_norm", "lookup", "pool", "prelu"]
