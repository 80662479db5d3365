"""What the config.json of a checkpoint may say, checked whole before a model is built of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from ..data.treatment import problems_of_treatment
from ..runtime.errors import ConfigError
from ..runtime.structure import problems

MOST_ENCODERS = 100
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
AUTOMATIC = {
    **SHARED, "targets": [str], "task": Literal["classification", "regression"], "readout": str, "tuned": int,
    "weights": {str: float}, "members": [{"name": str, "squashed": bool, "width": int}], "level": float,
    "domain": {"tanimoto?": float, "cosine?": float}, "metric?": str, "scores?": PART, "report?": PART,
}  # fmt: skip
PARTS = ("method", "encoder", "decoder", "mask", "loss")


def check_config(config: dict[str, Any], kind: str, folder: Path) -> None:
    """Refuse a config.json that is not of the form of its kind and format, with all that is wrong."""
    forms = {"predictor": PREDICTOR, "automatic": AUTOMATIC}
    form = forms.get(kind, FORMAT_1 if config["format"] == 1 else PRETRAINED)
    found = problems(config, form, "config.json")
    if not found:
        for part in PARTS:
            if part in config:
                found += _of_part(config[part], part)
        found += problems_of_treatment(config.get("inputs", {}))
        found += _of_sizes(config.get("views", {}), "views")
        found += _of_automatic(config) if kind == "automatic" else []
    if found:
        raise ConfigError(found, str(folder))


def _of_automatic(config: dict[str, Any]) -> list[str]:
    found = [] if 0 <= config["tuned"] <= MOST_ENCODERS else [f"tuned must be between 0 and {MOST_ENCODERS}"]
    widths = [entry["width"] for entry in config["members"]]
    found += [] if all(0 <= width <= MOST_WHOLE for width in widths) else ["a member has a width no features have"]
    names = [entry["name"] for entry in config["members"]]
    found += [] if len(set(names)) == len(names) else ["a member is there twice"]
    found += (
        [] if set(config["domain"]) in (set(), {"tanimoto", "cosine"}) else ["domain must have both limits or none"]
    )
    found += [] if config["targets"] else ["there must be at least one target"]
    return (
        found if all(0 <= weight <= 1 for weight in config["weights"].values()) else [*found, "a weight is not a share"]
    )


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
