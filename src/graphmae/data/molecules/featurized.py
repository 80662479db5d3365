"""SMILES strings to everything a predictor reads: graphs, fingerprints and descriptors, each string parsed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..graphset import GraphSet
from .descriptors import WIDTH, descriptors_of
from .fingerprints import BITS, RADIUS
from .smiles import MOST_CHARACTERS, from_rdkit, rdkit, silenced
from .standardize import standardized
from .store import as_graphs

MOST_ATOMS = 65_535


@dataclass(frozen=True)
class Featurized:
    """M molecules.

    Attributes:
        rows: [M] which of the strings they are.
        smiles: [M] how they are written, standardised where that was asked for.
        graphs: the molecules as graphs; None where there are none.
        counts: [M, 2048] uint8 how often each group of atoms (ECFP4) is in a molecule, at most 255.
        descriptors: [M, 109] float32, NaN where RDKit gives none; of width 0 where they were not asked for.
    """

    rows: np.ndarray
    smiles: list[str]
    graphs: GraphSet | None
    counts: np.ndarray
    descriptors: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def bits(self) -> np.ndarray:
        """[M, 32] uint64: the 2,048 bits of ECFP4."""
        return packed(self.counts)


def packed(counts: np.ndarray) -> np.ndarray:
    """[n, 2048] → [n, 32] uint64: which are not zero."""
    return np.packbits(counts > 0, axis=1).view(np.uint64)


@cache
def _generator() -> Any:
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)


def counts_without_atoms(molecule: Any) -> np.ndarray:
    """[atoms, 2048] uint8: the fingerprint of an RDKit molecule without the groups that hold atom a, for every a."""
    from rdkit.Chem import GetDistanceMatrix, rdFingerprintGenerator

    output = rdFingerprintGenerator.AdditionalOutput()
    output.AllocateBitInfoMap()
    _generator().GetCountFingerprint(molecule, additionalOutput=output)
    apart, out = GetDistanceMatrix(molecule), np.zeros((molecule.GetNumAtoms(), BITS), dtype=np.int64)
    for bit, groups in output.GetBitInfoMap().items():
        for centre, radius in groups:
            out[apart[centre] > radius, bit] += 1
    return np.minimum(out, 255).astype(np.uint8)


def featurize(texts: Sequence[str], *, standardize: bool = False, with_descriptors: bool = True) -> Featurized:
    """Parse `texts`; strings that are not molecules are left out.

    >>> featurize(["CCO", "no molecule", "c1ccccc1"]).rows.tolist()  # doctest: +SKIP
    [0, 2]
    """
    chem, silence = rdkit(), silenced()
    rows, smiles, molecules, ends, bits, described = [], [], [], [0], [], []
    for row, text in enumerate(texts):
        written = (standardized(text) or "") if standardize else text
        made = chem.MolFromSmiles(written) if len(written) <= MOST_CHARACTERS else None
        if made is None or not 0 < made.GetNumAtoms() <= MOST_ATOMS:
            continue
        rows.append(row)
        smiles.append(written)
        molecules.append(from_rdkit(made, written))
        bits.append(_generator().GetCountFingerprint(made).GetNonzeroElements())
        ends.append(ends[-1] + len(bits[-1]))
        if with_descriptors:
            described.append(descriptors_of(made))
    del silence
    counts = np.zeros((len(rows), BITS), dtype=np.uint8)
    place = np.repeat(np.arange(len(rows)), np.diff(ends))
    which = np.fromiter((bit for found in bits for bit in found), np.int64, ends[-1])
    times = np.fromiter((count for found in bits for count in found.values()), np.int64, ends[-1])
    counts[place, which] = np.minimum(times, 255)
    graphs = None
    if molecules:
        sizes = np.array([(len(m.atoms), len(m.bonds)) for m in molecules], dtype=np.int64)
        graphs = as_graphs("molecules", sizes, *(np.concatenate(part) for part in zip(*molecules, strict=True)))
    table = np.stack(described) if described else np.zeros((len(rows), WIDTH * with_descriptors), np.float32)
    return Featurized(np.array(rows, dtype=np.int64), smiles, graphs, counts, table)
