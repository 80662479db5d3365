"""Step 2: encoders. Register your own with `@graphmae.encoders.register("my-name")`."""

from .base import REGISTRY, Encoder, StackedEncoder
from .gat import GAT
from .gcn import GCN
from .gin import GIN
from .molecule import MoleculeGIN

register, build, names, describe = REGISTRY.register, REGISTRY.build, REGISTRY.names, REGISTRY.describe

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "REGISTRY",
    "Encoder",
    "MoleculeGIN",
    "StackedEncoder",
    "build",
    "describe",
    "names",
    "register",
]
