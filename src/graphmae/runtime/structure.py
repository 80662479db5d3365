"""Does a value read from JSON have the form it must have? All that is wrong, in words, before anything is made of it.

A form is a type annotation; `[form]` for a list; `{"key": form, "other?": form}` for an object with these keys alone,
the marked ones optional; `{str: form}` for one with any keys; `Any` for whatever JSON can hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from .values import mismatch

MOST_DEPTH = 20  # of what may be anything
MOST_SHOWN = 60


def problems(value: Any, form: Any, where: str) -> list[str]:
    """What is wrong with the value, at most five things.

    >>> problems({"rate": "a", "size": 1}, {"rate": float, "names?": [str]}, "mask")
    ["mask: unknown key 'size'", "mask.rate must be a number, not 'a'"]
    """
    found: list[str] = []
    for problem in _problems(value, form, where):
        found.append(problem)
        if len(found) == 5:
            break
    return found


def _problems(value: Any, form: Any, where: str) -> Iterator[str]:
    if form is Any:
        yield from _anything(value, where, 0)
    elif isinstance(form, list):
        if not isinstance(value, list | tuple):
            yield f"{where} must be a list, not {shown(value)}"
            return
        for number, item in enumerate(value):
            yield from _problems(item, form[0], f"{where}[{number}]")
    elif isinstance(form, dict):
        if not isinstance(value, Mapping):
            yield f"{where} must be an object, not {shown(value)}"
        elif str in form:
            for key, item in value.items():
                yield from _problems(item, form[str], f"{where}.{shown(key)}")
        else:
            yield from _keys(value, form, where)
    elif wrong := mismatch(value, form):
        yield f"{where} {wrong if len(wrong) < 300 else 'is of another type than it must be'}"


def _keys(value: Mapping[str, Any], form: dict[str, Any], where: str) -> Iterator[str]:
    known = {key.removesuffix("?"): inner for key, inner in form.items()}
    yield from (f"{where}: unknown key {shown(key)}" for key in value if key not in known)
    yield from (f"{where} lacks {key!r}" for key in form if not key.endswith("?") and key not in value)
    for key, inner in known.items():
        if key in value:
            yield from _problems(value[key], inner, f"{where}.{key}")


def _anything(value: Any, where: str, depth: int) -> Iterator[str]:
    if depth > MOST_DEPTH:
        yield f"{where} is nested more than {MOST_DEPTH} deep"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _anything(item, f"{where}.{shown(key)}", depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _anything(item, where, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{where} must be finite, not {value}"


def shown(value: Any) -> str:
    """A value in a sentence, cut short."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value[:MOST_SHOWN]) if isinstance(value, str) else repr(value)
    return text if len(text) <= MOST_SHOWN + 2 else f"{text[:MOST_SHOWN]}…"
