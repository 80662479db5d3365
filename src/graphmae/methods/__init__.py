"""Self-supervised methods: what is learned, and how a recipe becomes a model."""

from .base import Method
from .build import build, check, rehearse
from .graphmae import GraphMAE

__all__ = ["GraphMAE", "Method", "build", "check", "rehearse"]
