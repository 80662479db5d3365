"""Values a person typed: parsed from `key=value`, checked against a type annotation."""

from __future__ import annotations

import math
import tomllib
import types
import typing
from typing import Any

_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    list: "a list",
    type(None): "none",
}


def parse_value(text: str) -> Any:
    """TOML where it is TOML, plain text else.

    >>> parse_value("0.75"), parse_value("true"), parse_value("gat"), parse_value("[1, 2]")
    (0.75, True, 'gat', [1, 2])
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
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
    known = hint in _WORDS or typing.get_origin(hint) in (list, tuple, typing.Literal)
    return [hint] if known else None


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return value in typing.get_args(hint) and not isinstance(value, bool)
    if origin in (list, tuple):
        items = [a for a in typing.get_args(hint) if a is not Ellipsis]
        return isinstance(value, list | tuple) and all(not items or mismatch(v, items[0]) is None for v in value)
    if origin is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if origin is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin)
