"""What comes in: benchmark sets, graph files, PyG objects. Everything is checked once, here."""

from .base import REGISTRY, NodeDataset
from .checks import check_graph
from .files import read_graph
from .ogb import ogbn_arxiv
from .planetoid import citeseer, cora, pubmed
from .ppi import ppi
from .reddit import reddit
from .synthetic import synthetic
from .treatment import load, prepare

register, names, describe = REGISTRY.register, REGISTRY.names, REGISTRY.describe

__all__ = [
    "REGISTRY",
    "NodeDataset",
    "check_graph",
    "citeseer",
    "cora",
    "describe",
    "load",
    "names",
    "ogbn_arxiv",
    "ppi",
    "prepare",
    "pubmed",
    "read_graph",
    "reddit",
    "register",
    "synthetic",
]
