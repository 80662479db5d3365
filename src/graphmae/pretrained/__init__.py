"""A saved model is a folder a person can read: config.json, model.safetensors, README.md. Never a pickle."""

from .checkpoint import describe, fresh_encoder, load, read_kind, save
from .export import export_encoder
from .locations import find_checkpoint, shipped, to_hub
from .predictor import load_predictor, save_predictor
from .published import from_published

__all__ = [
    "describe",
    "export_encoder",
    "find_checkpoint",
    "fresh_encoder",
    "from_published",
    "load",
    "load_predictor",
    "read_kind",
    "save",
    "save_predictor",
    "shipped",
    "to_hub",
]
