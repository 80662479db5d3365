"""A saved model is a folder a person can read: config.json, model.safetensors, README.md. Never a pickle."""

from .checkpoint import describe, fresh_encoder, load, read_kind, save
from .places import find_checkpoint, shipped
from .predictor import load_predictor, save_predictor

__all__ = [
    "describe",
    "find_checkpoint",
    "fresh_encoder",
    "load",
    "load_predictor",
    "read_kind",
    "save",
    "save_predictor",
    "shipped",
]
