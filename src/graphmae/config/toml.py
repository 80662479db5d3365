"""A recipe as a TOML file a person can edit and run again."""

from __future__ import annotations

import json
import re
from typing import Any

from .schema import Recipe


def to_toml(recipe: Recipe) -> str:
    """The recipe's sections and keys; what is not set is left out."""
    blocks = []
    for section, values in recipe.to_dict().items():
        lines = [f"{key} = {_value(value)}" for key, value in values.items() if value is not None and value != ""]
        blocks.append("\n".join([f"[{section}]", *lines]))
    return "\n\n".join(blocks) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
