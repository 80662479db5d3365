"""Which device to compute on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

from . import ranks
from .bfloat16 import check_bfloat16
from .errors import InputError
from .values import check_device

NumericMode = tuple[bool, bool, bool, str]
P = ParamSpec("P")
R = TypeVar("R")


def resolve_device(name: str | torch.device = "auto") -> torch.device:
    """'auto' is CUDA where there is one, else the CPU. Each of several processes has a GPU of its own."""
    if isinstance(name, torch.device):
        return name
    check_device(name)
    device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {name!r} was asked for, but torch sees no CUDA device; use --device cpu")
    if device.type == "cuda" and ranks.size() > 1:
        if device.index is not None:
            raise InputError(f"device {name!r}: under torchrun every process takes its own GPU; use --device cuda")
        if ranks.local_size() > torch.cuda.device_count():
            raise InputError(
                f"torchrun started {ranks.local_size()} processes here and there are {torch.cuda.device_count()} GPUs; "
                f"use --nproc-per-node {torch.cuda.device_count()} or --device cpu"
            )
        return torch.device("cuda", ranks.local_rank())
    if device.type == "cuda" and device.index is not None and device.index >= torch.cuda.device_count():
        raise InputError(f"device {name!r}: there are only {torch.cuda.device_count()} CUDA devices")
    return device


def with_torch_defaults(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator for a function that computes with tensors of its own: what its caller set for others does not reach it.

    Inside, gradients can be computed, and new tensors are float32 and on the CPU, also within torch.no_grad(),
    torch.inference_mode(), set_default_dtype(torch.float64) and set_default_device("meta").
    """

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        kind = torch.get_default_dtype()
        elsewhere = torch.get_default_device().type != "cpu"
        with torch.inference_mode(False), torch.enable_grad(), torch.device("cpu") if elsewhere else nullcontext():
            if kind == torch.float32:  # as a rule; it is the whole process's
                return function(*arguments, **named)
            torch.set_default_dtype(torch.float32)
            try:
                return function(*arguments, **named)
            finally:
                torch.set_default_dtype(kind)

    return call


_half = False
_changing = threading.Lock()
_blocks: dict[object, tuple[NumericMode, NumericMode]] = {}  # blocks of `numerics`: the mode before, and its own


def half_products() -> bool:
    """Whether dense products run in bfloat16: in a block of `numerics(…, "bf16")`, or "amp-bf16"."""
    return _half


def numeric_mode() -> NumericMode:
    """Everything `numerics` changes, for `restore_numeric_mode`."""
    fill: bool = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    return _half, torch.are_deterministic_algorithms_enabled(), fill, torch.get_float32_matmul_precision()


def restore_numeric_mode(mode: NumericMode) -> None:
    global _half
    _half, strict, fill, precision = mode
    torch.use_deterministic_algorithms(strict)
    torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
    torch.set_float32_matmul_precision(precision)


@contextmanager
def numerics(device: torch.device, precision: str = "float32", deterministic: bool = False) -> Iterator[None]:
    """How to compute for the length of a block: bit-identical sums on the CPU, float32 or TF32 products on CUDA.

    "bf16" and "amp-bf16" make the layers' products bfloat16 on either; for others' layers see `autocasting`.

    On CUDA a few sums run in an order that is not fixed; the same seed then agrees to rounding only. With
    `deterministic` torch's own operations have a fixed order there, too, and those that have none are refused.

    The mode is the process's. Where several threads are in such blocks, it is that of the block entered last, and what
    was there before comes back when all are over.
    """
    if precision.endswith("bf16") and device.type == "cpu":
        check_bfloat16()
    block, strict = object(), device.type == "cpu" or deterministic
    if deterministic and device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what torch asks for, before the first product
    with _changing:
        before = numeric_mode()
        strict = strict or before[1]
        # Filling memory is a debugging aid that costs 10 % of the time.
        fill = before[2] and not strict
        products = "highest" if precision == "float32" else "high"
        _blocks[block] = before, (precision.endswith("bf16"), strict, fill, products)
        restore_numeric_mode(_blocks[block][1])
    try:
        yield
    finally:
        with _changing:
            _leave(block)


def autocasting(device: torch.device, precision: str) -> AbstractContextManager[None]:
    """A block in which, with "amp-bf16", torch's own products are bfloat16: those of layers that are not ours.

    Our kernels compute in float32 in it. Weights are converted anew in every product, so that a step can be recorded.
    """
    if precision != "amp-bf16":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16, cache_enabled=False)


def _leave(block: object) -> None:
    """Back to the mode of the block entered before; one that is still open inherits what to go back to."""
    order = list(_blocks)
    after, (outside, _) = order[order.index(block) + 1 :], _blocks.pop(block)
    if after:
        _blocks[after[0]] = outside, _blocks[after[0]][1]
    else:
        restore_numeric_mode(outside)
