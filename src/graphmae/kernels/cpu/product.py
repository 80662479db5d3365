"""Dense products in float32 on AMD processors from Zen 5 on: MKL, which torch calls, uses less than half of AVX-512.

Measured on one core of an AMD EPYC, 1,088 rows of 300 times 300 × 600: on Zen 5 MKL 103, oneDNN 235 GFLOP/s; on Zen 4
104 and 113, and with tall matrices oneDNN is slower. There and everywhere else, and for small products, torch's own is
called.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from ...runtime.processor import is_zen5
from .. import reference

LEAST = 4_000_000  # multiplications, below which oneDNN takes longer to be called than MKL to compute
ROWS = 64  # oneDNN prepares itself for every shape, for about a millisecond: numbers of rows are made few
VARYING = range(256, 8192)  # rows of mini-batches: more take much longer than what is prepared for them


@cache
def uses_onednn() -> bool:
    """Whether torch's product is slow here, and oneDNN's can be had."""
    slow = is_zen5() and torch.backends.mkl.is_available() and torch.backends.cpu.get_cpu_capability() == "AVX512"
    return slow and torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def takes_product(x: Tensor, width: int) -> bool:
    """Whether `mm` of `x` [n, k] and a matrix [k, width] is another product than torch's."""
    large = x.dim() == 2 and x.size(0) * x.size(1) * width >= LEAST
    return large and x.dtype == torch.float32 and x.layout == torch.strided and uses_onednn()


def mm(a: Tensor, b: Tensor, out: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    if not takes_product(a, b.size(1)) or b.dtype != torch.float32:
        return reference.mm(a, b, out, bias)
    found = torch.ops.mkldnn._linear_pointwise(_dense(a), _dense(b).t(), bias, "none", [], "")
    return found if out is None else out.copy_(found)


def _dense(x: Tensor) -> Tensor:
    """The same without gaps between rows or columns: with them oneDNN takes a thousand times as long."""
    return x if x.is_contiguous() or x.t().is_contiguous() else x.contiguous()


def filled_up(x: Tensor) -> Tensor:
    missing = -x.size(0) % ROWS
    return F.pad(x, (0, 0, 0, missing)) if missing and x.size(0) in VARYING else x
