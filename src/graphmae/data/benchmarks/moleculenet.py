"""The eight MoleculeNet sets of the paper (Wu et al. 2018), with the published scaffold split."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ..dataset import REGISTRY
from ..molecules.assay import Assay
from ..molecules.reading import read_assay
from ..sources import RawFiles, data_root
from ..tables import read_table

ORIGIN = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"
# The file, and which columns are targets: all but the molecule's own where none is named.
SETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bbbp": ("BBBP.csv", ("p_np",)),
    "tox21": ("tox21.csv.gz", ()),
    "toxcast": ("toxcast_data.csv.gz", ()),
    "sider": ("sider.csv.gz", ()),
    "clintox": ("clintox.csv.gz", ()),
    "muv": ("muv.csv.gz", ()),
    "hiv": ("HIV.csv", ("HIV_active",)),
    "bace": ("bace.csv", ("Class",)),
}
Division = Literal["scaffold", "random"]
OF_THE_MOLECULE = ("smiles", "mol", "mol_id")


def raw_files(name: str, root: str | Path | None = None) -> Path:
    """The table of a set; packed or not, whichever is there."""
    file = SETS[name][0]
    for candidate in (file.removesuffix(".gz"), file):
        found = RawFiles(name, (f"MoleculeNet/{name}/raw", f"MoleculeNet/{name}"), {candidate: ""}, url=ORIGIN)
        if candidate == file or found.is_complete(data_root(root)):
            break
    return found.locate(root)[candidate]


def load(name: str, root: str | Path | None = None, split: str = "scaffold", split_seed: int = 0) -> Assay:
    """A set by name; `split` is scaffold, as published, or random. Its molecules are used as they are written."""
    path = raw_files(name, root)
    targets = SETS[name][1] or [column for column in read_table(path).column_names if column not in OF_THE_MOLECULE]
    return read_assay(
        path, targets=targets, kind="classification", split=split, split_seed=split_seed, name=name, standardize=False,
        duplicates="keep", unmeasured=True, quiet=True,
    )  # fmt: skip


def _register(name: str) -> None:
    def build(root: str | Path | None = None, split: Division = "scaffold", split_seed: int = 0) -> Assay:
        return load(name, root, split, split_seed)

    build.__doc__ = f"{name}: molecules with measured targets, from MoleculeNet."
    REGISTRY.register(name)(build)


for _name in SETS:
    _register(_name)
