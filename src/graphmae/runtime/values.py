"""Values a person typed: parsed from `key=value`, checked against a type annotation."""

from __future__ import annotations

import math
import re
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from itertools import islice
from numbers import Integral
from typing import Any

from .errors import InputError

MAX_SEEDS = 10_000
MAX_CUDA_INDEX = 127

_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    list: "a list",
    dict: "a table of names and values, { name = value }",
    type(None): "none",
}


def parse_value(text: str) -> Any:
    """TOML where it is TOML, plain text else.

    >>> parse_value("0.75"), parse_value("true"), parse_value("gat"), parse_value("[1, 2]")
    (0.75, True, 'gat', [1, 2])
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def mismatch(value: Any, hint: Any) -> str | None:
    """What is wrong with `value` for the annotation `hint`, or None when it fits.

    >>> mismatch("fast", float)
    "must be a number, not 'fast'"
    >>> mismatch("a", tuple[typing.Literal["a", "b"], ...])
    "must be a list of 'a', 'b', not 'a'"
    """
    options = _alternatives(hint)
    if options is None or any(_fits(value, option) for option in options):
        if isinstance(value, float) and not math.isfinite(value):
            return f"must be finite, not {value}"
        return None
    choices = [
        repr(c) for option in options if typing.get_origin(option) is typing.Literal for c in typing.get_args(option)
    ]
    plain = [_word(option) for option in options if typing.get_origin(option) is not typing.Literal]
    words = ([f"one of {', '.join(choices)}"] if choices else []) + plain
    return f"must be {' or '.join(words)}, not {value!r}"


def _word(hint: Any) -> str:
    origin = typing.get_origin(hint) or hint
    inner = [choice for item in typing.get_args(hint) for choice in typing.get_args(item)]
    if origin in (list, tuple) and inner:
        return f"a list of {', '.join(map(repr, inner))}"
    return _WORDS.get(origin, "a list" if origin is tuple else str(hint))


def _alternatives(hint: Any) -> list[Any] | None:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [_alternatives(option) for option in typing.get_args(hint)]
        return None if any(p is None for p in parts) else [o for p in parts for o in (p or [])]
    known = hint in _WORDS or typing.get_origin(hint) in (list, tuple, dict, typing.Literal)
    return [hint] if known else None


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return value in typing.get_args(hint) and not isinstance(value, bool)
    if origin in (list, tuple):
        items = [a for a in typing.get_args(hint) if a is not Ellipsis]
        return isinstance(value, list | tuple) and all(not items or mismatch(v, items[0]) is None for v in value)
    if origin is dict:
        inner = typing.get_args(hint)
        if not isinstance(value, Mapping):
            return False
        return not inner or not any(mismatch(k, inner[0]) or mismatch(v, inner[1]) for k, v in value.items())
    if origin is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if origin is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin)


def check_seeds(seeds: Iterable[int]) -> list[int]:
    """The seeds as a list, or an error where one is missing, given twice or out of range."""
    if not isinstance(seeds, Iterable) or isinstance(seeds, str):
        raise InputError(f"seeds must be a list of whole numbers, [0] or range(20), not {seeds!r}")
    given = list(islice(seeds, MAX_SEEDS + 1))
    if len(given) > MAX_SEEDS:
        raise InputError(f"at most {MAX_SEEDS:,} seeds can be given at a time; give fewer")
    if wrong := [seed for seed in given if not isinstance(seed, Integral) or isinstance(seed, bool)]:
        raise InputError(f"seeds must be whole numbers, not {wrong[0]!r}")
    found = [int(seed) for seed in given]
    if not found or len(set(found)) != len(found):
        raise InputError(f"seeds must be given, each once; got {found}")
    if outside := [seed for seed in found if not 0 <= seed < 2**32]:
        raise InputError(f"seeds must be between 0 and {2**32 - 1}, not {outside[0]}")
    return found


def check_device(name: str) -> None:
    """Refuse what is not the name of a device; whether it is there is another question."""
    number = re.fullmatch(r"auto|cpu|cuda(?::(\d+))?", name)
    if not number or len(number[1] or "") > 3 or int(number[1] or 0) > MAX_CUDA_INDEX:  # torch counts on from −128
        raise InputError(f"unknown device {name!r}. Allowed: auto, cpu, cuda, cuda:N, N at most {MAX_CUDA_INDEX}")
