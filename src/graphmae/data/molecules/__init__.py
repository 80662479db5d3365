"""Molecules: SMILES in, compact stores and graphs out. Parsing needs RDKit (the extra `mol`)."""

from .assay import Assay, molecule_table, read_assay
from .bonds import EDGE_CHANNELS
from .lines import read_lines
from .smiles import Molecule, parse
from .splits import given_split, random_split, scaffold_groups, scaffold_split
from .store import MoleculeStore, as_graphs, build_store, from_smiles
from .stored import stored

__all__ = [
    "EDGE_CHANNELS",
    "Assay",
    "Molecule",
    "MoleculeStore",
    "as_graphs",
    "build_store",
    "from_smiles",
    "given_split",
    "molecule_table",
    "parse",
    "random_split",
    "read_assay",
    "read_lines",
    "scaffold_groups",
    "scaffold_split",
    "stored",
]
