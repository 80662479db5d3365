"""The few sparse operations everything runs on. One function each; the implementation is chosen here, by device.

`reference` is plain torch and always there; `cpu` is numba and `cuda` is Triton, row by row, with no edge × channel
tensor. Where numba or Triton is missing the reference runs, with one warning; on the CPU it also runs in a forked child
(see `runtime.compiled`).
`GRAPHMAE_KERNELS=reference` or `with use("reference"):` overrides the choice.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..runtime.compiled import is_forked
from ..runtime.errors import InputError, unknown
from . import reference
from .adjacency import Adjacency, View, adjacency, plain
from .edges import edges_of, encode, taken_by, takes_batch, with_sizes
from .packed import Packed, Taken

__all__ = [
    "Adjacency",
    "Packed",
    "Taken",
    "View",
    "adam_step",
    "adjacency",
    "aggregate",
    "attend",
    "batch_norm",
    "chosen",
    "chosen_within",
    "column_sums",
    "cosine",
    "dropout",
    "dropped_rows",
    "edges_of",
    "encode",
    "filled_up",
    "has",
    "layer_norm",
    "lookup",
    "mm",
    "parted",
    "plain",
    "pool",
    "prelu",
    "take_padded",
    "taken_by",
    "takes_batch",
    "takes_product",
    "use",
    "view",
    "with_sizes",
]

CHOICES = ("auto", "reference", "cpu", "cuda")
_CHOSEN: str = os.environ.get("GRAPHMAE_KERNELS", "auto")
_choice = ContextVar("_choice", default=_CHOSEN)  # one thread does not choose for others


def view(edges: Tensor | Adjacency | View, num_nodes: int, rows: Tensor | None = None) -> View:
    """The graph of edges, a tensor [2, E] or sorted, asked for `rows` (None: all); a `View` is taken as it is."""
    return edges if isinstance(edges, View) else View(adjacency(edges, num_nodes), rows)


F = TypeVar("F", bound=Callable[..., Any])


def _in_full(function: F) -> F:
    """Under torch's autocast: what comes in half precision is widened, and nothing inside is narrowed."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")):
            return function(*arguments, **named)
        with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
            return function(*map(_widened, arguments), **{key: _widened(value) for key, value in named.items()})

    return call  # type: ignore[return-value]


def _widened(value: Any) -> Any:
    narrow = isinstance(value, Tensor) and value.dtype in (torch.bfloat16, torch.float16)
    return value.float() if narrow else value


@_in_full
def attend(
    view: View, x: Tensor, vectors: Tensor, slope: float, p: float, training: bool, bias: Tensor | None = None
) -> Tensor:
    """Σ_j α_ij · x_j + bias for every row i and head, α_ij = dropout(softmax_j(leaky_relu(v₀·x_j + v₁·x_i))).

    Where the graph's edges have weights w (`Adjacency.weight`), log w_ij is added before the softmax: α_ij ∝ w_ij.
    `x` [n, heads, channels], or [n, 1, channels] where all heads look at the same; `vectors` [2, heads, channels];
    `bias` [heads, channels].
    """
    return _implementation(x).attend(view, x, vectors, slope, p if training else 0.0, bias)


@_in_full
def aggregate(
    view: View, x: Tensor, weight: Tensor | None = None, own: Tensor | None = None, table: Tensor | None = None
) -> Tensor:
    """Σ_j w_ij · x_j for every row i: `x` [n, heads, channels], `weight` [num_edges, heads] (None: 1).

    With features of the rows' `own` [R, k] and a `table` [k, channels], plus own_i · table. `own` gets no gradient.
    """
    return _implementation(x).aggregate(view, x, weight, own, table)


@_in_full
def lookup(adj: Adjacency, value: Tensor, rows: Tensor, table: Tensor, p: float = 0.0, training: bool = True) -> Tensor:
    """Σ_k dropout(value_k) · table[col_k] over the entries k of `rows` (which may repeat): [R, out]."""
    return _implementation(table).lookup(adj, value, rows, table, p if training else 0.0)


@_in_full
def pool(x: Tensor, ptr: Tensor, how: str) -> Tensor:
    """Sum, mean or max of the rows ptr[g] … ptr[g + 1] − 1, for every g; zeros where there are none."""
    return _implementation(x).pool(x, ptr, how)


@_in_full
def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    slope: Tensor,
    eps: float,
    valid: Tensor | None = None,
    running: tuple[Tensor, Tensor, float] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(prelu(batch norm of `x` [N, channels]), mean, variance); `slope` [1] is the activation's below zero.

    `valid`, a number on the device: rows after that many only pad; they count for nothing and become zeros.
    `running`: a mean and a variance to move towards those found, in place, and by which share.
    """
    return _implementation(x).batch_norm(x, weight, bias, slope, eps, valid, running)


@_in_full
def layer_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    slope: Tensor,
    eps: float,
    shift: Tensor | None = None,
    p: float = 0.0,
) -> Tensor:
    """dropout(prelu(layer norm of `x` + `shift`)): `x` [N, channels], `shift` [channels], `slope` [1]."""
    return _implementation(x).layer_norm(x, weight, bias, slope, eps, shift, p)


@_in_full
def prelu(x: Tensor, slope: Tensor, shift: Tensor | None = None, p: float = 0.0) -> Tensor:
    """dropout(prelu(`x` + `shift`)), which is `slope` [1] · what is below zero."""
    return _implementation(x).prelu(x, slope, shift, p)


@_in_full
def cosine(z: Tensor, x: Tensor, least: float = 1e-12) -> tuple[Tensor, Tensor]:
    """[M] cosine of each row of `z` with that of `x`, both [M, channels], and [M] the length of that of `x`.

    In the cosine, lengths count as `least` at least. With a gradient for `z` alone, unless `x` asks for one.
    """
    return (reference if x.requires_grad or z.dim() != 2 else _implementation(z)).cosine(z, x, least)


@_in_full
def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Zero a share `p` of the entries and scale the others by 1 / (1 − p)."""
    if not training or p == 0.0 or x.numel() == 0:
        return x
    return _implementation(x).dropout(x, p)


@_in_full
def dropped_rows(x: Tensor, rows: Tensor, ones: int, p: float) -> Tensor:
    """dropout(`x`[rows], and after it as many rows of `ones`): [rows + ones, channels]. Without a gradient."""
    with torch.no_grad():
        return _implementation(x).dropped_rows(x, rows, ones, p)


@_in_full
def column_sums(a: Tensor, b: Tensor | None = None) -> Tensor:
    """[channels]: Σ_r a[r] · b[r] over the rows of `a` and `b` [N, channels] (`b` None: 1). Without a gradient."""
    with torch.no_grad():
        return _implementation(a).column_sums(a, b)


def mm(a: Tensor, b: Tensor, out: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """`a` [n, k] · `b` [k, m] + `bias` [m], into `out` where that is given; without a gradient."""
    with torch.no_grad():
        return _implementation(a).mm(a, b, out, bias)


def takes_product(x: Tensor, width: int) -> bool:
    """Whether `mm` of `x` [n, k] and a matrix [k, `width`] is another product than torch's, as a rule a faster one."""
    return _implementation(x).takes_product(x, width)


def filled_up(x: Tensor) -> Tensor:
    """`x` [n, k], with rows of zeros up to a number of rows that `mm` is fast with."""
    return _implementation(x).filled_up(x)


def parted(count: int, split: int, device: torch.device | str) -> tuple[Tensor, Tensor, Tensor]:
    """0 … count − 1 in a random order, and its two parts, the first of `split`; int64."""
    where = torch.device(device)
    module = _fast(where.type) if where.type in _PACKAGES and has(where.type) else reference
    return (module or reference).parted(count, split, where)


def adam_step(
    param: Tensor,
    grad: Tensor,
    mean: Tensor,
    square: Tensor,
    step: Tensor,
    lr: Tensor,
    weight_decay: float,
    betas: tuple[float, float],
    eps: float,
) -> None:
    """Adam's step number `step` (from 1 up) with L2 weight decay, in place; on CUDA only, where `has("cuda")`."""
    module = _fast("cuda")
    assert module is not None
    module.adam_step(param, grad, mean, square, step, lr, weight_decay, betas, eps)


def take_padded(packed: Packed, ids: Tensor, num_nodes: int, num_edges: int) -> Taken | None:
    """The graphs `ids` [B] side by side in fixed shapes; None where no kernel is there for it: on CUDA, for codes."""
    fits = packed.widths is not None and packed.x.is_cuda and has("cuda")
    module = _fast("cuda") if fits else None
    return (
        None
        if module is None or len(ids) > module.MAX_GRAPHS
        else module.take_padded(packed, ids, num_nodes, num_edges)
    )


def chosen_within(sizes: Tensor, starts: Tensor, counts: Tensor, total: int) -> Tensor | None:
    """[total] bool: of a graph with n = `sizes`[b] nodes from `starts`[b] on, `counts`[n] random ones.

    None where no kernel is there for it: on CUDA, for graphs that are not too large; `counts` [largest + 1].
    """
    module = _fast("cuda") if sizes.is_cuda and has("cuda") else None
    fits = module is not None and len(counts) <= module.LARGEST_GRAPH
    return module.chosen_within(sizes, starts, counts, total) if module is not None and fits else None


def has(device: str) -> bool:
    """Whether the fast kernels for "cpu" or "cuda" are there, may be used and were not overridden."""
    return _choice.get() in ("auto", device) and not _must_be_plain(device) and _fast(device) is not None


def chosen() -> str:
    """The implementation that is forced in this thread, for `use`; "auto": none."""
    return _choice.get()


@contextmanager
def use(choice: str) -> Iterator[None]:
    """Force an implementation for the length of a block, in this thread."""
    if choice not in CHOICES:
        raise InputError(unknown("kernel implementation", choice, CHOICES))
    before = _choice.set(choice)
    try:
        yield
    finally:
        _choice.reset(before)


def _implementation(x: Tensor) -> ModuleType:
    if (choice := _choice.get()) not in CHOICES:
        raise InputError(unknown("value of GRAPHMAE_KERNELS:", choice, CHOICES))
    device = x.device.type if choice == "auto" else choice
    if torch.compiler.is_compiling() or _must_be_plain(device):  # torch.compile cannot look into the others
        return reference
    known = (torch.float32,) if device == "cuda" else (torch.float32, torch.float64)
    if device not in _PACKAGES or x.dtype not in known:
        return reference
    return _fast(device) or reference


def _must_be_plain(device: str) -> bool:
    """In a forked child; and on CUDA where the bits must be the same every time, since the fast kernels there add up
    what several programs have in no fixed order. torch's own switch is asked: autograd's threads see it too."""
    if device == "cpu":
        return is_forked()
    return _choice.get() == "auto" and torch.are_deterministic_algorithms_enabled()


_PACKAGES = {"cpu": "numba", "cuda": "triton"}


@cache
def _fast(device: str) -> ModuleType | None:
    try:
        return importlib.import_module(f".{device}", __name__)
    except ImportError:
        package = _PACKAGES[device]
        warnings.warn(f"{package} is missing: slower plain-torch kernels run instead", RuntimeWarning, stacklevel=4)
        return None
