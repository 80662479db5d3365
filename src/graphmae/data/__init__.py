"""What comes in: benchmark sets, graph files, PyG objects. Everything is checked once, here."""

from . import files, ogb, planetoid, ppi, reddit, synthetic  # each registers its sets
from .base import REGISTRY, NodeDataset
from .checks import check_graph
from .files import from_data, read_graph
from .treatment import load, prepare

register, names, describe = REGISTRY.register, REGISTRY.names, REGISTRY.describe

__all__ = [
    "REGISTRY",
    "NodeDataset",
    "check_graph",
    "describe",
    "files",
    "from_data",
    "load",
    "names",
    "ogb",
    "planetoid",
    "ppi",
    "prepare",
    "read_graph",
    "reddit",
    "register",
    "synthetic",
]
