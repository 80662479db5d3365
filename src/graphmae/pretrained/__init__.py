"""A saved model is a folder a person can read: config.json, model.safetensors, README.md. Never a pickle.

Names are resolved when they are first used: finding a checkpoint imports no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .automatic import save_automatic as save_automatic
    from .checkpoint import describe as describe
    from .checkpoint import fresh_encoder as fresh_encoder
    from .checkpoint import load as load
    from .checkpoint import parts_of as parts_of
    from .checkpoint import save as save
    from .export import export_encoder as export_encoder
    from .locations import find_checkpoint as find_checkpoint
    from .locations import find_seeds as find_seeds
    from .locations import read_kind as read_kind
    from .locations import shipped as shipped
    from .locations import to_hub as to_hub
    from .predictor import load_committee as load_committee
    from .predictor import load_predictor as load_predictor
    from .predictor import save_predictor as save_predictor
    from .published import from_published as from_published

_NAMES = {
    "save_automatic": "automatic",
    **dict.fromkeys(("describe", "fresh_encoder", "load", "parts_of", "save"), "checkpoint"),
    "export_encoder": "export",
    **dict.fromkeys(("find_checkpoint", "find_seeds", "read_kind", "shipped", "to_hub"), "locations"),
    **dict.fromkeys(("load_committee", "load_predictor", "save_predictor"), "predictor"),
    "from_published": "published",
}
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'graphmae.pretrained' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
