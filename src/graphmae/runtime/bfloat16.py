"""Whether a CPU computes in bfloat16: some virtual machines announce a matrix unit (AMX) and refuse to run it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

from .errors import InputError
from .processor import cpu_flags

ISA = "ONEDNN_MAX_CPU_ISA"  # read by oneDNN, which computes these products, before its first one
PRODUCT = "import torch; x = torch.ones(300, 200, dtype=torch.bfloat16); assert (x @ x.t()).float().mean() == 200"


def check_bfloat16() -> None:
    """Refuse where a product in bfloat16 would end the process."""
    if ISA not in os.environ and "amx_bf16" in cpu_flags() and not _works():
        raise InputError(
            "products in bfloat16 fail on this CPU, whose matrix unit (AMX) is announced and does not work, as in some "
            f"virtual machines; set {ISA}=AVX512_CORE_BF16 before the start to do without it, or take another "
            "precision (--set train.precision=tf32)"
        )


@cache
def _works() -> bool:
    """Tried once, by a process of its own, which may die of it."""
    return subprocess.run([sys.executable, "-I", "-c", PRODUCT], capture_output=True, check=False).returncode == 0
