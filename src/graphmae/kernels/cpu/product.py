"""Dense products in float32 on AMD processors with AVX-512, of which MKL, which torch calls, uses less than half.

Measured on one core of an AMD EPYC (Zen 5), 1,088 rows of 300 times 300 × 600: MKL 103, oneDNN 235 GFLOP/s. Everywhere
else, and for small products, torch's own is called.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from ...runtime.processor import is_amd
from .. import reference

LEAST = 4_000_000  # multiplications, below which oneDNN takes longer to be called than MKL to compute
ROWS = 64  # oneDNN prepares itself for every shape, for about a millisecond: numbers of rows are made few
VARYING = range(256, 8192)  # rows of mini-batches: more take much longer than what is prepared for them


@cache
def uses_onednn() -> bool:
    """Whether torch's product is slow here, and oneDNN's can be had."""
    slow = is_amd() and torch.backends.mkl.is_available() and torch.backends.cpu.get_cpu_capability() == "AVX512"
    return slow and torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def mm(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    few = a.size(0) * a.size(1) * b.size(1) < LEAST
    if few or a.dtype != torch.float32 or b.dtype != torch.float32 or not uses_onednn():
        return reference.mm(a, b, out)
    found = torch.ops.mkldnn._linear_pointwise(_dense(a), _dense(b).t(), None, "none", [], "")
    return found if out is None else out.copy_(found)


def _dense(x: Tensor) -> Tensor:
    """The same without gaps between rows or columns: with them oneDNN takes a thousand times as long."""
    return x if x.is_contiguous() or x.t().is_contiguous() else x.contiguous()


def filled_up(x: Tensor) -> Tensor:
    missing = -x.size(0) % ROWS
    if not missing or x.size(0) not in VARYING or x.dtype != torch.float32 or not uses_onednn():
        return x
    return F.pad(x, (0, 0, 0, missing))
