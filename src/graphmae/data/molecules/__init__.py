"""Molecules: SMILES in, compact stores and graphs out. Parsing needs RDKit (the extra `mol`).

Names are resolved when they are first used: reading a table of molecules imports no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assay import Assay as Assay
    from .bonds import EDGE_CHANNELS as EDGE_CHANNELS
    from .building import build_store as build_store
    from .cached import stored as stored
    from .cached import stored_texts as stored_texts
    from .lines import molecule_table as molecule_table
    from .lines import read_lines as read_lines
    from .measurements import read_measurements as read_measurements
    from .reading import read_assay as read_assay
    from .smiles import Molecule as Molecule
    from .smiles import parse as parse
    from .splits import given_split as given_split
    from .splits import random_split as random_split
    from .splits import scaffold_groups as scaffold_groups
    from .splits import scaffold_split as scaffold_split
    from .standardize import standardized as standardized
    from .store import MoleculeStore as MoleculeStore
    from .store import as_graphs as as_graphs
    from .store import from_smiles as from_smiles

_NAMES = {
    "Assay": "assay",
    "EDGE_CHANNELS": "bonds",
    "build_store": "building",
    **dict.fromkeys(("molecule_table", "read_lines"), "lines"),
    "read_assay": "reading",
    "read_measurements": "measurements",
    **dict.fromkeys(("Molecule", "parse"), "smiles"),
    **dict.fromkeys(("given_split", "random_split", "scaffold_groups", "scaffold_split"), "splits"),
    "standardized": "standardize",
    **dict.fromkeys(("MoleculeStore", "as_graphs", "from_smiles"), "store"),
    **dict.fromkeys(("stored", "stored_texts"), "cached"),
}
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'graphmae.data.molecules' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
