"""What the config.json of a checkpoint may say, checked whole before a model is built of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from ..data.treatment import problems_of_treatment
from ..runtime.errors import ConfigError
from ..runtime.structure import problems

MOST_WHOLE = 10**7  # the largest whole number an argument of a part may be
PART = {str: Any}
SHARED = {"format": int, "kind?": str, "graphmae?": str, "encoder": PART, "inputs?": PART, "trained_on?": PART}
PRETRAINED = {
    **SHARED, "method": PART, "decoder?": PART, "mask?": PART, "loss?": PART,
    "views?": {"in_channels": int, "learned_channels": int, "names": [str], "width": int},
}  # fmt: skip
FORMAT_1 = {
    **{key: form for key, form in PRETRAINED.items() if key not in ("method", "views?")},
    "remask": str, "drop_edge": float, "mask_edges?": bool,
}  # fmt: skip
PREDICTOR = {
    **SHARED, "targets": [str], "task": Literal["classification", "regression"], "readout": str, "dropout": float,
    "metric?": str, "scores?": PART,
}  # fmt: skip
PARTS = ("method", "encoder", "decoder", "mask", "loss")


def check_config(config: dict[str, Any], kind: str, folder: Path) -> None:
    """Refuse a config.json that is not of the form of its kind and format, with all that is wrong."""
    form = PREDICTOR if kind == "predictor" else FORMAT_1 if config["format"] == 1 else PRETRAINED
    found = problems(config, form, "config.json")
    if not found:
        for part in PARTS:
            if part in config:
                found += _of_part(config[part], part)
        found += problems_of_treatment(config.get("inputs", {}))
        found += _of_sizes(config.get("views", {}), "views")
    if found:
        raise ConfigError(found, str(folder))


def _of_part(part: dict[str, Any], where: str) -> list[str]:
    if not isinstance(part.get("name"), str):
        return [f"{where} must have a name"]
    return _of_sizes(part, where)


def _of_sizes(arguments: dict[str, Any], where: str) -> list[str]:
    """Whole numbers no model has, in lists as well."""
    found = []
    for key, value in arguments.items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int) and abs(number) > MOST_WHOLE:
                found.append(f"{where}.{key} is beyond {MOST_WHOLE:,}, so it is no size of a model")
    return found
