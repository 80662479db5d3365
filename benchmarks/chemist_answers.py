"""How many molecules a second a predictor answers for, once they are read; and whether a GPU says what a CPU says.

    python -m benchmarks.chemist_answers pack .carry/library.npz --molecules 32768
    python -m benchmarks.chemist_answers run .carry/library.npz --model .carry/bace --device cuda

Reading SMILES needs RDKit and cores, not a GPU: `benchmarks.chemist speed` measures both together. `pack` keeps what
was read, so that `run` needs no RDKit.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from graphmae import pretrained
from graphmae.data.molecules.featurized import Featurized, featurize
from graphmae.data.molecules.smiles import from_rdkit, rdkit
from graphmae.data.molecules.store import as_graphs
from graphmae.runtime.environment import commit, hardware

from .chemist import library

PART = 16_384


def pack(path: Path, count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        texts = library(Path(folder) / "library.smi", count).read_text().split()
    found = featurize(texts, standardize=True)
    molecules = [from_rdkit(rdkit().MolFromSmiles(text), text) for text in found.smiles]
    atoms, bonds, kinds = (np.concatenate(part) for part in zip(*molecules, strict=True))
    sizes = np.array([(len(one.atoms), len(one.bonds)) for one in molecules], dtype=np.int64)
    np.savez_compressed(path, sizes=sizes, atoms=atoms, bonds=bonds, kinds=kinds, counts=found.counts,
                        descriptors=found.descriptors)  # fmt: skip


def unpack(path: Path) -> list[Featurized]:
    """The molecules, some thousand at a time."""
    with np.load(path) as file:
        found = dict(file.items())
    ends = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(found["sizes"], axis=0)])
    parts = []
    for first in range(0, len(found["sizes"]), PART):
        rows = slice(first, first + PART)
        (atom, bond), (last_atom, last_bond) = ends[first], ends[min(first + PART, len(ends) - 1)]
        graphs = as_graphs("library", found["sizes"][rows], found["atoms"][atom:last_atom],
                           found["bonds"][bond:last_bond], found["kinds"][bond:last_bond])  # fmt: skip
        count = len(found["sizes"][rows])
        parts.append(
            Featurized(np.arange(count), [""] * count, graphs, found["counts"][rows], found["descriptors"][rows])
        )
    return parts


def run(path: Path, model: str, device: str, repeats: int) -> dict[str, object]:
    parts, committee, used = unpack(path), pretrained.load_committee(model), torch.device(device)
    for part in parts:  # kernels are compiled, weights are copied
        committee.answer(part, used)
    best = 0.0
    for _ in range(repeats):
        began = time.monotonic()
        for part in parts:
            answers = committee.answer(part, used)
        best = max(best, sum(map(len, parts)) / (time.monotonic() - began))
    here = committee.answer(parts[-1], torch.device("cpu"))
    assert here.near is not None and answers.near is not None
    config = json.loads(next(Path(model).glob("**/config.json")).read_text())
    return {
        "molecules": sum(map(len, parts)), "per_second": round(best), "hardware": hardware(device),
        "difference_from_cpu": float(np.abs(here.values - answers.values).max()),
        "same_nearest_percent": float(100 * (here.near.tanimoto == answers.near.tanimoto).mean()),
        "weights": config["weights"], "tuned": config["tuned"], "commit": commit(),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["pack", "run"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--molecules", type=int, default=32_768)
    parser.add_argument("--model", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "pack":
        pack(given.path, given.molecules)
    else:
        found = run(given.path, given.model, given.device, given.repeats)
        print(json.dumps(found))
        if given.out:
            given.out.write_text(json.dumps(found, indent=1) + "\n")
