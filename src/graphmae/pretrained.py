"""A saved model is a folder a person can read: config.json, model.safetensors, README.md. Never a pickle."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from . import decoders, encoders, losses, masking
from .model import GraphMAE
from .registry import Registry, arguments_of
from .results import read_json, write_json
from .runtime.environment import package_version
from .runtime.errors import ConfigError, InputError

FORMAT = 1
KINDS: dict[str, Registry[Any]] = {
    "encoder": encoders.REGISTRY,
    "decoder": decoders.REGISTRY,
    "mask": masking.REGISTRY,
    "loss": losses.REGISTRY,
}


def save(model: GraphMAE, folder: str | Path) -> Path:
    """Write the model to `folder`; parts must be registered, so that they can be rebuilt by name."""
    folder = Path(folder)
    config = describe(model)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "model.safetensors.partial"
    save_file({k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}, partial)
    partial.replace(folder / "model.safetensors")
    write_json(folder / "config.json", config)
    (folder / "README.md").write_text(card(model, config), encoding="utf-8")
    return folder


def describe(model: GraphMAE) -> dict[str, Any]:
    """Everything needed to build the same model again, as JSON values."""
    parts = {}
    for kind in KINDS:
        name, arguments = arguments_of(getattr(model, kind))
        parts[kind] = {"name": name, **arguments}
        try:
            json.dumps(arguments)
        except TypeError as error:
            raise ConfigError(
                f"the {kind} {name!r} was made with something a checkpoint cannot hold: {error}"
            ) from None
    return {
        "format": FORMAT,
        "graphmae": package_version(),
        **parts,
        "remask": model.remask.kind,
        "drop_edge": model.drop_edge,
        "inputs": dict(model.inputs),
    }


def load(folder: str | Path) -> GraphMAE:
    """The model `save` wrote, in evaluation mode. A run's folder gives its first seed's model."""
    folder = find_checkpoint(folder)
    config = read_json(folder / "config.json")
    if config.get("format") != FORMAT:
        raise InputError(f"{folder}: config.json has format {config.get('format')!r}; this version reads {FORMAT}")
    try:
        parts = {kind: _build(kind, config[kind]) for kind in KINDS}
        model = GraphMAE(**parts, remask=config["remask"], drop_edge=config["drop_edge"])
    except KeyError as error:
        raise InputError(f"{folder}: config.json lacks {error}") from None
    except ConfigError as error:
        raise ConfigError(
            [*error.problems, "if a part is your own, import the module that registers it before loading"],
            str(folder),
        ) from None
    model.inputs = dict(config.get("inputs", {}))
    try:
        model.load_state_dict(load_file(folder / "model.safetensors"))
    except (SafetensorError, OSError, RuntimeError) as error:
        raise InputError(f"{folder}: model.safetensors does not fit config.json or is damaged ({error})") from None
    return model.eval()


def find_checkpoint(folder: str | Path) -> Path:
    """The folder itself, or the first seed of a run."""
    folder = Path(folder)
    seeds = sorted(folder.glob("seed-*/config.json"), key=lambda p: int(re.sub(r"\D", "", p.parent.name) or 0))
    for candidate in (folder / "config.json", *seeds):
        if candidate.is_file():
            return candidate.parent
    raise InputError(f"{folder} is not a checkpoint: it holds no config.json (and no seed-N folder that does)")


def card(model: GraphMAE, config: dict[str, Any]) -> str:
    """The README of a checkpoint."""
    encoder = {key: value for key, value in config["encoder"].items() if key != "name"}
    rows = "\n".join(f"| {key} | {value} |" for key, value in encoder.items())
    count = sum(p.numel() for p in model.encoder.parameters())
    return (
        f"# GraphMAE encoder: {config['encoder']['name']}\n\n"
        f"A graph encoder of {count:,} parameters, pre-trained without labels by masked autoencoding with graphmae "
        f"{config['graphmae']}. It takes {model.encoder.in_channels} features a node and gives "
        f"{model.encoder.out_channels}.\n\n"
        '```python\nimport graphmae as gm\n\nmodel = gm.load("this-folder")\nz = gm.embed(model, data)\n```\n\n'
        f"| encoder option | value |\n|---|---|\n{rows}\n\n"
        f"Features were treated as: `{config['inputs'] or 'handed in'}`. "
        "How it was trained: `recipe.json` of the run; how it scores: its `result.json`, where it was evaluated.\n"
    )


def fresh_encoder(model: GraphMAE) -> nn.Module:
    """An untrained encoder of the same shape."""
    name, arguments = arguments_of(model.encoder)
    return encoders.build(name, **arguments)


def _build(kind: str, config: dict[str, Any]) -> Any:
    arguments = dict(config)
    name = arguments.pop("name")
    with torch.device("cpu"):
        return KINDS[kind].build(name, **arguments)
