"""The stand-in for the ZINC15 sample of the paper."""

from __future__ import annotations

from pathlib import Path

from ...runtime.errors import DataError
from ..dataset import REGISTRY
from ..molecules import MoleculeStore, stored
from ..sources import data_root

STAND_IN = ("zinc250k", "moses_train", "moses_test", "moses_test_scaffolds")


@REGISTRY.register("zinc-moses")
def zinc_moses(root: str | Path | None = None) -> MoleculeStore:
    """2.19 million molecules of ZINC (zinc250k and MOSES), a stand-in for the 2 million of ZINC15 in the paper."""
    folder = data_root(root)
    if folder is None:
        raise DataError("zinc-moses needs a data folder (--data or GRAPHMAE_DATA) with zinc/zinc250k.smi.gz and MOSES")
    return stored([folder / "zinc" / f"{name}.smi.gz" for name in STAND_IN], "zinc-moses")
