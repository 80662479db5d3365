"""The kernels for CUDA: Triton programs over rows, so that no edge × channel tensor and no atomics exist."""

from ..reference import dropout, lookup, pool
from .aggregate import aggregate
from .attend import attend
from .norm import batch_norm, prelu

__all__ = ["aggregate", "attend", "batch_norm", "dropout", "lookup", "pool", "prelu"]
