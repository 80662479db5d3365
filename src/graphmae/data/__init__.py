"""What comes in: benchmark sets, graph files, PyG objects. Everything is checked once, here."""

from . import facts, files, graphs, molecules, ogb, planetoid, ppi, reddit, synthetic  # each registers its sets
from .base import REGISTRY, NodeDataset
from .checks import check_graph
from .files import from_data, read_graph
from .graphset import GraphSet
from .molecules import MoleculeStore
from .objects import from_edges, from_networkx, from_scipy
from .tables import TableGraph, from_tables
from .treatment import load, prepare
from .tu import load_tu, read_tu

register, names, describe = REGISTRY.register, REGISTRY.names, REGISTRY.describe

__all__ = [
    "REGISTRY",
    "GraphSet",
    "MoleculeStore",
    "NodeDataset",
    "TableGraph",
    "check_graph",
    "describe",
    "facts",
    "files",
    "from_data",
    "from_edges",
    "from_networkx",
    "from_scipy",
    "from_tables",
    "graphs",
    "load",
    "load_tu",
    "molecules",
    "names",
    "ogb",
    "planetoid",
    "ppi",
    "prepare",
    "read_graph",
    "read_tu",
    "reddit",
    "register",
    "synthetic",
]
