"""Step 2: encoders. Register your own with `@graphmae.encoders.register("my-name")`."""

from .base import REGISTRY, Encoder, StackedEncoder, build_for, checkpointed
from .diffused import GCNDiffusion
from .gat import GAT
from .gcn import GCN
from .gin import GIN
from .molecule import MoleculeGIN
from .views import VIEWS, Composed, Views, neighbours_say

register, build, names = REGISTRY.register, REGISTRY.build, REGISTRY.names

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "REGISTRY",
    "VIEWS",
    "Composed",
    "Encoder",
    "GCNDiffusion",
    "MoleculeGIN",
    "StackedEncoder",
    "Views",
    "build",
    "build_for",
    "checkpointed",
    "names",
    "neighbours_say",
    "register",
]
