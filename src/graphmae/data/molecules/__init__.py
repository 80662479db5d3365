"""Molecules: SMILES in, compact stores and graphs out. Parsing needs RDKit (the extra `mol`)."""

from .lines import read_lines
from .sets import stored
from .smiles import Molecule, parse
from .store import EDGE_CHANNELS, MoleculeStore, as_graphs, build_store

__all__ = [
    "EDGE_CHANNELS",
    "Molecule",
    "MoleculeStore",
    "as_graphs",
    "build_store",
    "parse",
    "read_lines",
    "stored",
]
