"""The parts a method has where a recipe names none: its constructor's own, read from an instance of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .. import decoders, encoders, losses, masking
from ..registry import Registry, arguments_of
from ..runtime.errors import ConfigError
from ..runtime.seed import preserved_randomness

WIDTHS = (8, 12)  # what is not the same with both depends on the encoder, and no recipe could say it


class MethodRegistry(Registry[Any]):
    """Methods by name, and what their constructors do where they are not told."""

    def has_default(self, name: str, parameter: str) -> bool:
        """Whether the constructor of a method can do without this parameter."""
        found = inspect.signature(self.get(name)).parameters.get(parameter)
        return found is not None and found.default is not found.empty

    def own_parts(self, name: str) -> dict[str, dict[str, Any]]:
        """Section of a recipe → the part a method makes itself, as that section has it.

        Parts without a registered name, and parts that depend on the encoder, are not among them.
        """
        return {section: dict(part) for section, part in _own_parts(self.get(name)).items()}


@functools.cache
def _own_parts(method: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    first, second = (_parts_made(method, width) for width in WIDTHS)
    return {section: part for section, part in first.items() if second.get(section) == part}


def _parts_made(method: Callable[..., Any], width: int) -> dict[str, dict[str, Any]]:
    with preserved_randomness():
        try:
            model = method(**_required_parts(method, width))
        except Exception:  # a constructor that needs more than this: what it makes is not known
            return {}
    made = {}
    for section, registry in (("mask", masking.REGISTRY), ("loss", losses.REGISTRY)):
        parameter = inspect.signature(method).parameters.get(section)
        if parameter is not None and parameter.default is not parameter.empty and section in model.parts:
            try:
                name, arguments = arguments_of(model.parts[section])
            except ConfigError:  # not registered
                continue
            usual = {key: option.default for key, option in registry.options(name).items()}
            made[section] = {"name": name, **{k: v for k, v in arguments.items() if usual.get(k) != v}}
    return made


def _required_parts(method: Callable[..., Any], width: int) -> dict[str, Any]:
    encoder = encoders.build(getattr(method, "needs_encoder", "") or "gcn", in_channels=width, hidden_channels=width)
    decoded = getattr(method, "decoded_channels", lambda encoder, features: features)(encoder, width)
    make: dict[str, Callable[[], Any]] = {
        "encoder": lambda: encoder,
        "decoder": lambda: decoders.build("mlp", in_channels=width, out_channels=decoded),
        "mask": lambda: masking.build("random"),
        "loss": lambda: losses.build("scaled-cosine"),
    }
    parameters = inspect.signature(method).parameters
    return {
        key: make[key]() for key in make if key in parameters and parameters[key].default is inspect.Parameter.empty
    }
