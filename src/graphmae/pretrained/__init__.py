"""A saved model is a folder a person can read: config.json, model.safetensors, README.md. Never a pickle."""

from .checkpoint import describe, find_checkpoint, fresh_encoder, load, read_kind, save
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
]
