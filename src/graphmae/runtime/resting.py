"""A module to compute with that leaves the user's own module as it is.

`module.eval()` and `module.to(device)` change flags and weights that other threads, and the caller afterwards, see.
Whatever only reads a model works on a copy of its structure instead: the copy has flags of its own and shares the
weights, so making it costs no memory and any number of threads may each have one.
"""

from __future__ import annotations

from types import MethodType
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

M = TypeVar("M", bound=nn.Module)


def resting_copy(module: M, device: torch.device | str | None = None) -> M:
    """`module` in evaluation mode on `device` (None: where it is). Nothing of `module` itself changes.

    Weights are shared where they are on that device already.

    >>> layer = nn.Dropout(0.5)
    >>> resting_copy(layer).training, layer.training
    (False, True)
    """
    copy = _copy_structure(getattr(module, "_orig_mod", module), {}, {})  # of a compiled module, what was compiled
    if device is not None:
        copy.to(device)
    return copy


def _copy_structure(module: M, modules: dict[int, nn.Module], weights: dict[int, nn.Parameter]) -> M:
    """`modules` and `weights` hold the copies made so far: what is used twice stays one thing."""
    if id(module) in modules:
        return modules[id(module)]  # type: ignore[return-value]
    copy = modules[id(module)] = object.__new__(type(module))
    copy.__dict__.update(module.__dict__)
    for name, value in module.__dict__.items():
        if isinstance(value, MethodType) and value.__self__ is module:
            copy.__dict__[name] = MethodType(value.__func__, copy)
    copy.__dict__["training"] = False
    copy._buffers = dict(module._buffers)
    copy._parameters = {name: _share(weight, weights) for name, weight in module._parameters.items()}
    copy._modules = {
        name: None if child is None else _copy_structure(getattr(child, "_orig_mod", child), modules, weights)
        for name, child in module._modules.items()
    }
    return copy


def _share(weight: Tensor | None, weights: dict[int, nn.Parameter]) -> nn.Parameter | None:
    """A parameter of its own over the same numbers: `Module.to` would move the original in place."""
    if weight is None or is_lazy(weight):
        return weight  # type: ignore[return-value]
    if id(weight) not in weights:
        learns = weight.requires_grad and not weight.is_inference()
        weights[id(weight)] = nn.Parameter(weight.detach(), requires_grad=learns)
    return weights[id(weight)]
