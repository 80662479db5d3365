"""Step 4: decoders, which exist in pre-training only. Register your own with `@graphmae.decoders.register`."""

from .base import REGISTRY, Decoder, check_widths
from .graph import GAT, GCN, GIN, MoleculeGIN
from .pointwise import MLP, Linear

register, build, names = REGISTRY.register, REGISTRY.build, REGISTRY.names

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
    "check_widths",
    "names",
    "register",
]
