"""Saving and loading a pre-trained model: parts by name, weights as safetensors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from .. import decoders, encoders, losses, masking
from ..config import Part
from ..methods import REGISTRY as METHODS
from ..methods import Method
from ..registry import Registry, arguments_of
from ..runtime.environment import package_version
from ..runtime.errors import ConfigError, InputError
from ..runtime.files import write_json, write_text
from ..runtime.resting import resting_copy
from ..runtime.tensors import write_tensors
from .card import card
from .locations import read_kind
from .weights import build_to_fit, fill, is_training_only

FORMAT = 2
KINDS: dict[str, Registry[Any]] = {
    "encoder": encoders.REGISTRY,
    "decoder": decoders.REGISTRY,
    "mask": masking.REGISTRY,
    "loss": losses.REGISTRY,
}


def save(model: Method, folder: str | Path) -> Path:
    """Write the model to `folder`; parts must be registered, so that they can be rebuilt by name."""
    config = describe(model)
    return write(Path(folder), model, config, card(model, config))


def write(folder: Path, module: nn.Module, config: dict[str, Any], readme: str) -> Path:
    """config.json last of what a reader needs: a folder that has it is complete."""
    weights = {key: value for key, value in module.state_dict().items() if not is_training_only(module, key)}
    write_tensors(folder / "model.safetensors", weights)
    write_text(folder / "README.md", readme)
    write_json(folder / "config.json", config)
    return folder


def describe(model: Method) -> dict[str, Any]:
    """Everything needed to build the same model again, as JSON values."""
    own = described("method", model, METHODS.supplied)
    if missing := METHODS.takes(own["name"]) - model.parts.keys():
        names = ", ".join(sorted(missing))
        raise ConfigError(
            f"{type(model).__name__} is made with {names} and keeps no attribute of that name (for loss: criterion), "
            "so a checkpoint could not rebuild it"
        )
    return {
        "format": FORMAT,
        "kind": "pretrained",
        "graphmae": package_version(),
        "method": own,
        **{kind: described(kind, part) for kind, part in model.parts.items()},
        **({} if model.views is None else {"views": _views(model.views)}),
        "inputs": dict(model.inputs),
        "trained_on": dict(model.trained_on),
    }


def parts_of(model: Method) -> dict[str, Part]:
    """What a model is made of, as the sections of a recipe."""
    stored, widths = describe(model), ("name", "in_channels", "out_channels")
    return {
        kind: Part(stored[kind]["name"], {key: value for key, value in stored[kind].items() if key not in widths})
        for kind in ("method", *model.parts)
    }


def described(kind: str, part: object, without: Iterable[str] = ()) -> dict[str, Any]:
    """A registered part as JSON values: its name and what it was made with, parts of its own left out."""
    name, arguments = arguments_of(part)
    arguments = {key: value for key, value in arguments.items() if key not in without}
    try:
        json.dumps(arguments)
    except TypeError as error:
        raise ConfigError(f"the {kind} {name!r} was made with something a checkpoint cannot hold: {error}") from None
    return {"name": name, **arguments}


def load(folder: str | Path) -> Method:
    """The model `save` wrote, in evaluation mode. A run's folder gives its first seed's model."""
    folder, config = read_kind(folder, "pretrained")
    with explained(folder):
        model = build_to_fit(folder, lambda: _build(config))
    model.inputs, model.trained_on = dict(config.get("inputs", {})), dict(config.get("trained_on", {}))
    fill(model, folder)
    return model.eval()


def _build(config: dict[str, Any]) -> Method:
    own = dict(config["method"] if config["format"] > 1 else _method_of_format_1(config))
    name = own.pop("name")
    parts = {kind: build_part(kind, config[kind]) for kind in METHODS.takes(name)}
    model = METHODS.build(name, **parts, **own)
    if "views" in config:
        model.views = encoders.Views(**config["views"])
    return model


def _method_of_format_1(config: dict[str, Any]) -> dict[str, Any]:
    own = {"name": "graphmae", "remask": config["remask"], "drop_edge": config["drop_edge"]}
    return {**own, "mask_edges": config.get("mask_edges", False)}


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """What can be wrong with a config.json, in words."""
    try:
        yield
    except KeyError as error:
        raise InputError(f"{folder}: config.json lacks {error}") from None
    except ConfigError as error:
        hint = "if a part is your own, import the module that registers it before loading"
        raise ConfigError([*error.problems, hint], str(folder)) from None
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError, AssertionError) as error:
        text = " ".join(str(error).split())[:200]
        raise InputError(
            f"{folder}: no model can be made of what config.json says ({type(error).__name__}: {text})"
        ) from None


def fresh_encoder(model: Method) -> nn.Module:
    """An untrained encoder of the same shape, which sees the same features."""
    name, arguments = arguments_of(model.encoder)
    made = encoders.build(name, **arguments)
    return made if model.views is None else encoders.Composed(made, resting_copy(model.views), alone=True)


def _views(views: encoders.Views) -> dict[str, Any]:
    return {
        "in_channels": views.in_channels,
        "learned_channels": views.learned_channels,
        "names": list(views.names),
        "width": views.width,
    }


def build_part(kind: str, config: dict[str, Any]) -> Any:
    arguments = dict(config)
    name = arguments.pop("name")
    if wrong := KINDS[kind].wrong_types(name, arguments):
        raise ConfigError(wrong)
    return KINDS[kind].build(name, **arguments)
