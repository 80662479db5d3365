"""What comes in: benchmark sets, graph files, PyG objects. Everything is checked once, here."""

from . import benchmarks, facts, files, molecules  # each registers its sets
from .benchmarks.tu import load_tu, read_tu
from .checks import check_graph
from .dataset import REGISTRY, Dataset
from .files import from_data, read_graph
from .graphset import GraphSet
from .molecules import MoleculeStore
from .nodes import NodeDataset
from .objects import from_edges, from_networkx, from_scipy
from .open import open_dataset as open
from .scaling import load, prepare
from .tables import TableGraph, from_tables

register, names = REGISTRY.register, REGISTRY.names

__all__ = [
    "REGISTRY",
    "Dataset",
    "GraphSet",
    "MoleculeStore",
    "NodeDataset",
    "TableGraph",
    "benchmarks",
    "check_graph",
    "facts",
    "files",
    "from_data",
    "from_edges",
    "from_networkx",
    "from_scipy",
    "from_tables",
    "load",
    "load_tu",
    "molecules",
    "names",
    "open",
    "prepare",
    "read_graph",
    "read_tu",
    "register",
]
