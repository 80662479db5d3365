"""Molecules that come with RDKit itself, for a first run without any download."""

from __future__ import annotations

import csv
from pathlib import Path

from ...runtime.errors import DataError
from ...runtime.files import write_text
from ..dataset import REGISTRY
from ..molecules.assay import Assay
from ..molecules.cached import stored
from ..molecules.reading import read_assay
from ..molecules.smiles import rdkit
from ..molecules.store import MoleculeStore
from ..sources import cache_root
from .moleculenet import Division


@REGISTRY.register("nci")
def nci(root: str | Path | None = None) -> MoleculeStore:
    """5,000 molecules of the National Cancer Institute, to pre-train on; they come with RDKit."""
    rdkit()
    from rdkit import RDConfig

    return stored([_present(Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi")], "nci")


@REGISTRY.register("chembl-series")
def chembl_series(root: str | Path | None = None, split: Division = "random", split_seed: int = 0) -> Assay:
    """A series of inhibitors with measured activities (CHEMBL2321810), to fine-tune on; it comes with RDKit."""
    rdkit()
    from rdkit import RDConfig

    folder = Path(RDConfig.RDContribDir) / "FreeWilson" / "data"
    with _present(folder / "CHEMBL2321810_act.csv").open() as lines:
        activity = {row["Name"]: row["Act"] for row in csv.DictReader(lines)}
    pairs = [line.split() for line in _present(folder / "CHEMBL2321810.smi").read_text().splitlines() if line.strip()]
    text = "smiles,activity\n" + "".join(f"{smiles},{activity.get(name, '')}\n" for smiles, name in pairs)
    table = cache_root() / "raw" / "chembl-series.csv"
    if not table.is_file() or table.read_text() != text:
        write_text(table, text)
    return read_assay(
        table, targets=["activity"], split=split, split_seed=split_seed, standardize=False, duplicates="keep",
        unmeasured=True, quiet=True,
    )  # fmt: skip


def _present(path: Path) -> Path:
    if not path.is_file():
        raise DataError(f"this RDKit does not bring {path.name}; the one from PyPI does")
    return path
