"""Step 4: decoders, which exist in pre-training only. Register your own with `@graphmae.decoders.register`."""

from .base import REGISTRY, Decoder
from .graph import GAT, GCN, GIN, MoleculeGIN
from .pointwise import MLP, Linear

register, build, names, describe = REGISTRY.register, REGISTRY.build, REGISTRY.names, REGISTRY.describe

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "MLP",
    "REGISTRY",
    "Decoder",
    "Linear",
    "MoleculeGIN",
    "build",
    "describe",
    "names",
    "register",
]
