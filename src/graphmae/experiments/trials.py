"""Settings a method may try before it is compared: as many for each."""

from __future__ import annotations

import itertools
import random
from typing import Any

from .. import methods
from ..config import Recipe
from ..config.schema import MASK_KEYS
from ..registry import find_registry
from .tune import parse_choice

# Tried for every method, beside what its class names in `tries`: factors of the recipe's own.
LENGTHS = (1.0, 0.3, 3.0)
RATES = (1.0, 0.3, 3.0)


def trial_settings(name: str, base: Recipe, budget: int) -> list[list[str]]:
    """At most `budget` different settings of a method, as `base` has it first; the others drawn, always the same.

    What its class names in `tries` is left out where its own part does not have the option.
    """
    named: tuple[str, ...] = methods.REGISTRY.get(name).tries  # type: ignore[attr-defined]
    tries = [choice for choice in map(parse_choice, named) if _has(base, choice.key)]
    space: dict[str, list[Any]] = {
        "train.epochs": [max(1, round(base.train.epochs * factor)) for factor in LENGTHS],
        "train.lr": [base.train.lr * factor for factor in RATES],
        **{choice.key: list(choice.values) for choice in tries},
    }
    usual = {key: _current(base, name, key, values[0]) for key, values in space.items()}
    every = itertools.product(*space.values())
    settings = {
        tuple(f"{key}={_text(value)}" for key, value in zip(space, values, strict=True) if value != usual[key])
        for values in every
    }
    others = sorted(settings - {()})
    return [[]] + [list(one) for one in random.Random(name).sample(others, min(budget - 1, len(others)))]


def _has(recipe: Recipe, key: str) -> bool:
    """Whether a recipe has a part that takes this option."""
    section, _, option = key.partition(".")
    if section not in ("mask", "decoder", "loss"):
        return True
    part = getattr(recipe, section)
    return part is not None and option in {*MASK_KEYS, *find_registry(section).options(part.name)}


def _current(base: Recipe, name: str, key: str, otherwise: Any) -> Any:
    """What a recipe has for a key if its method is `name`."""
    section, _, option = key.partition(".")
    if section == "method":
        parameter = methods.REGISTRY.options(name).get(option)
        otherwise = otherwise if parameter is None else parameter.default
        return base.method.options.get(option, otherwise) if base.method.name == name else otherwise
    return base.to_dict().get(section, {}).get(option, otherwise)


def _text(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value:g}"
