"""Self-supervised methods: what is learned, and how a recipe becomes a model.

Register your own with `@graphmae.methods.register("my-method")`.
"""

from .base import REGISTRY, Method
from .build import build, check, rehearse
from .dgi import DGI
from .graphmae import GraphMAE

register, names = REGISTRY.register, REGISTRY.names

__all__ = ["DGI", "REGISTRY", "GraphMAE", "Method", "build", "check", "names", "register", "rehearse"]
