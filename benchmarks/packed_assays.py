"""Assays as files with everything a predictor reads of them, for machines without RDKit.

    python -m benchmarks.packed_assays .carry/assays bbbp bace clintox sider tox21 --seeds 0
    python -m benchmarks.chemist_members runs/chemist bbbp bace --packed .carry/assays --device cuda

One compressed file for each set, split and seed of the split (one for scaffold splits, which draw nothing).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from graphmae.data.molecules import Assay
from graphmae.data.molecules.descriptors import STORED
from graphmae.data.molecules.store import ARRAYS, FORMAT, MoleculeStore
from graphmae.finetuning.parts import features_of


def path_of(folder: Path, name: str, split: str, seed: int) -> Path:
    return folder / f"{name}-{split}{f'-{seed}' if split == 'random' else ''}.npz"


def pack(assay: Assay, path: Path) -> None:
    counts, descriptors = features_of(assay)
    parts = {f"split.{part}": positions for part, positions in assay.split.items()}
    texts = {key: np.array("\n".join(getattr(assay, key))) for key in ("smiles", "names", "ids")}
    arrays = {f"store.{key}": np.asarray(getattr(assay.store, key)) for key in ARRAYS}
    about = np.array([assay.name, assay.kind, assay.division])
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path, counts=counts, descriptors=descriptors.astype(np.float32), groups=assay.groups, targets=assay.targets,
        about=about, **parts, **texts, **arrays,
    )  # fmt: skip


def unpack(path: Path) -> Assay:
    """The assay `pack` wrote; what follows from its molecules is there already."""
    with np.load(path) as file:
        found = dict(file.items())
    name, kind, division = found["about"].tolist()
    folder = Path(tempfile.mkdtemp(prefix="graphmae-packed-"))
    for key, array in (("ecfp-counts", "counts"), (STORED, "descriptors"), ("scaffolds", "groups")):
        np.save(folder / f"{key}.npy", found[array])
    meta = {"format": FORMAT, "name": name, "molecules": len(found["targets"]), "bad": 0}
    store = MoleculeStore(folder, meta, *(found[f"store.{key}"] for key in ARRAYS))
    smiles, names, ids = (tuple(str(found[key]).split("\n")) for key in ("smiles", "names", "ids"))
    assay = Assay(name, store, smiles, found["targets"], names, kind, division, ids=ids)
    parts = {key.removeprefix("split."): value for key, value in found.items() if key.startswith("split.")}
    assay.__dict__["split"] = parts
    return assay


if __name__ == "__main__":
    from graphmae.cli.options import parse_seeds

    from .chemist import load

    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--split", default="scaffold")
    parser.add_argument("--seeds", default="0")
    given = parser.parse_args()
    for name in given.sets:
        for seed in parse_seeds(given.seeds):
            path = path_of(given.folder, name, given.split, seed)
            if not path.is_file():
                pack(load(name, given.split, seed), path)
                print(path, path.stat().st_size, flush=True)
