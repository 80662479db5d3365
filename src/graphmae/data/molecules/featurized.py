"""SMILES strings to everything a predictor reads: graphs, fingerprints and descriptors, each string parsed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from ..graphset import GraphSet
from .descriptors import WIDTH, describe
from .fingerprints import BITS, RADIUS
from .smiles import ATOMS, MOST_CHARACTERS, Molecule, from_rdkit, rdkit, silenced, written_atoms
from .standardize import standardized
from .store import as_graphs
from .structure import Structure, structure_of

MOST_ATOMS = 65_535
AT_ONCE = 512  # molecules that are held as RDKit's objects


@dataclass(frozen=True)
class Featurized:
    """M molecules.

    Attributes:
        rows: [M] which of the strings they are.
        smiles: [M] how they are written, standardised where that was asked for.
        graphs: the molecules as graphs; None where there are none.
        counts: [M, 2048] uint8 how often each group of atoms (ECFP4) is in a molecule, at most 255.
        descriptors: [M, 108] float32, NaN where RDKit gives none; of width 0 where they were not asked for.
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


def counts_without(molecule: Any, masked: np.ndarray) -> np.ndarray:
    """[copies, 2048] uint8: the fingerprint of an RDKit molecule without the groups that hold a masked atom, for every
    row of `masked` [copies, atoms]."""
    from rdkit.Chem import GetDistanceMatrix, rdFingerprintGenerator

    output = rdFingerprintGenerator.AdditionalOutput()
    output.AllocateBitInfoMap()
    _generator().GetCountFingerprint(molecule, additionalOutput=output)
    apart, out = GetDistanceMatrix(molecule), np.zeros((len(masked), BITS), dtype=np.int64)
    for bit, groups in output.GetBitInfoMap().items():
        for centre, radius in groups:
            out[~masked[:, apart[centre] <= radius].any(axis=1), bit] += 1
    return np.minimum(out, 255).astype(np.uint8)


def featurize(texts: Sequence[str], *, standardize: bool = False, with_descriptors: bool = True) -> Featurized:
    """Parse `texts`; strings that are not molecules are left out.

    >>> featurize(["CCO", "no molecule", "c1ccccc1"]).rows.tolist()  # doctest: +SKIP
    [0, 2]
    """
    chem, silence = rdkit(), silenced()
    rows: list[int] = []
    smiles: list[str] = []
    molecules, ends, bits, described = [], [0], [], []
    for first in range(0, len(texts), AT_ONCE):
        made, before = [], len(smiles)
        for row, text in enumerate(texts[first : first + AT_ONCE], first):
            written = (standardized(text) or "") if standardize else text
            one = chem.MolFromSmiles(written) if len(written) <= MOST_CHARACTERS else None
            if one is not None and 0 < one.GetNumAtoms() <= MOST_ATOMS:
                rows.append(row)
                smiles.append(written)
                made.append(one)
        structure, usual = structure_of(made)
        molecules += _codes(made, smiles[before:], structure, usual)
        for one in made:
            bits.append(_generator().GetCountFingerprint(one).GetNonzeroElements())
            ends.append(ends[-1] + len(bits[-1]))
        if with_descriptors:
            described.append(describe(made, structure, usual))
    del silence
    counts = np.zeros((len(rows), BITS), dtype=np.uint8)
    place = np.repeat(np.arange(len(rows)), np.diff(ends))
    which = np.fromiter(chain.from_iterable(bits), np.int64, ends[-1])
    times = np.fromiter(chain.from_iterable(found.values() for found in bits), np.int64, ends[-1])
    counts[place, which] = np.minimum(times, 255)
    graphs = None
    if molecules:
        sizes = np.array([(len(m.atoms), len(m.bonds)) for m in molecules], dtype=np.int64)
        graphs = as_graphs("molecules", sizes, *(np.concatenate(part) for part in zip(*molecules, strict=True)))
    table = np.concatenate([np.zeros((0, WIDTH * with_descriptors), np.float32), *described])
    table = table if with_descriptors else np.zeros((len(rows), 0), np.float32)
    return Featurized(np.array(rows, dtype=np.int64), smiles, graphs, counts, table)


def _codes(made: Sequence[Any], texts: Sequence[str], structure: Structure, usual: np.ndarray) -> list[Molecule]:
    """Codes of RDKit molecules, of the usual ones from arrays that are there; bonds with a direction are asked for."""
    atoms = np.zeros((len(structure.number), 2), dtype=np.uint8)
    atoms[:, 0] = (structure.number - 1) % ATOMS
    sizes = np.bincount(structure.molecule, minlength=structure.size)
    starts = np.cumsum(sizes) - sizes
    once = structure.receiver < structure.sender
    a, b = structure.receiver[once], structure.sender[once]
    owner = structure.molecule[a]
    bonds = (np.stack([a, b], axis=1) - starts[owner, None]).astype(np.uint16)
    kinds, ends = structure.order[once].astype(np.uint8), np.searchsorted(owner, np.arange(structure.size + 1))
    place, out = dict(zip(usual.tolist(), range(structure.size), strict=True)), []
    for row, (one, text) in enumerate(zip(made, texts, strict=True)):
        number = place.get(row)
        written = written_atoms(text) if "@" in text else []
        # Hydrogens that are written are not atoms of the molecule, and the others are then numbered differently.
        if number is None or "/" in text or "\\" in text or (written and len(written) != sizes[number]):
            out.append(from_rdkit(one, text))
            continue
        own, some = slice(starts[number], starts[number] + sizes[number]), slice(ends[number], ends[number + 1])
        for atom in [atom for atom, symbol in enumerate(written) if "@" in symbol]:
            atoms[starts[number] + atom, 1] = min(int(one.GetAtomWithIdx(atom).GetChiralTag()), 3)
        out.append(Molecule(atoms[own], bonds[some], kinds[some]))
    return out
