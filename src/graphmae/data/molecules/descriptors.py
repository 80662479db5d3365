"""Numbers that RDKit computes from a structure and chemists know: weight, logP, polar surface, counts of groups.

`descriptors_of` asks RDKit for all of them, of one molecule. `describe` gives the same for many, several times faster:
what an atom adds to logP, to refractivity and to the surface follows from its kind and its neighbours'. RDKit is asked
once for every kind of atom, and counts are made for all molecules together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from .smiles import rdkit
from .structure import AROMATIC, DOUBLE, SINGLE, TRIPLE, Structure

# Those of RDKit's properties that take microseconds; the others (more of chi and kappa) take most of a millisecond.
PROPERTIES = (
    "exactmw", "lipinskiHBA", "lipinskiHBD", "NumHBD", "NumHeavyAtoms", "NumAtoms", "NumHeteroatoms",
    "NumAmideBonds", "FractionCSP3", "NumRings", "NumAromaticRings", "NumAliphaticRings", "NumSaturatedRings",
    "NumHeterocycles", "NumAromaticHeterocycles", "NumSaturatedHeterocycles", "NumAliphaticHeterocycles",
    "NumSpiroAtoms", "NumBridgeheadAtoms", "NumAtomStereoCenters", "labuteASA", "tpsa",
    "chi0v", "chi1v", "chi0n", "chi1n", "hallKierAlpha", "kappa1",
)  # fmt: skip
# Crippen's logP and refractivity of the heavy atoms alone: with hydrogens they take 0.4 milliseconds more, and how
# many of those there are is among the properties.
CRIPPEN = ("HeavyCrippenClogP", "HeavyCrippenMR")
# Sums of atomic surface over bins of logP, refractivity and partial charge; counts of atoms, bonds, charges and rings.
BLOCKS = {"SlogP_VSA": 12, "SMR_VSA": 10, "PEOE_VSA": 14, "MQNs": 42}
NAMES = (
    *PROPERTIES,
    *CRIPPEN,
    *(f"{block}{number}" for block, size in BLOCKS.items() for number in range(1, size + 1)),
)
WIDTH = len(NAMES)
STORED = f"descriptors-heavy-{WIDTH}"  # what they are called beside the molecules they are of
# Where the bins of the first two begin (Labute 2000).
BINS = (
    np.array([-0.4, -0.2, 0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6]),
    np.array([1.29, 1.82, 2.24, 2.45, 2.75, 3.05, 3.63, 3.8, 4.0]),
)
MOST_KNOWN = 1_000_000  # kinds of atoms that are remembered, 32 bytes each
LOGP, REFRACTIVITY, SURFACE = range(3)


@cache
def _calculators() -> tuple[Callable[[Any], Any], ...]:
    rdkit()
    from rdkit.Chem import rdMolDescriptors

    def crippen(molecule: Any) -> Any:
        return map(sum, zip(*rdMolDescriptors._CalcCrippenContribs(molecule), strict=True))

    compute, all_of_them = rdMolDescriptors.Properties(list(PROPERTIES)).ComputeProperties, range(len(PROPERTIES))

    def properties(molecule: Any) -> Any:
        return map(compute(molecule).__getitem__, all_of_them)  # RDKit's own way to go through them is slow

    # What the atoms contribute to logP is kept with the molecule, so the sums over bins that follow are quick.
    return properties, crippen, *(getattr(rdMolDescriptors, f"{name}_") for name in BLOCKS)


def descriptors_of(molecule: Any) -> np.ndarray:
    """[WIDTH] float32 of an RDKit molecule; NaN for what cannot be computed, such as the charges of a metal.

    >>> from rdkit import Chem  # doctest: +SKIP
    >>> descriptors_of(Chem.MolFromSmiles("CCO")).shape  # doctest: +SKIP
    (108,)
    """
    found = np.fromiter(chain.from_iterable(calculate(molecule) for calculate in _calculators()), np.float64, WIDTH)
    return _clean(found)


def _clean(found: np.ndarray) -> np.ndarray:
    # Beyond float32, or not a number: treated alike, as missing.
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(found) < 1e30, found, np.nan).astype(np.float32)


def describe(molecules: Sequence[Any], structure: Structure, rows: np.ndarray) -> np.ndarray:
    """[n, WIDTH] float32: `descriptors_of` every RDKit molecule, up to rounding, whatever the others are.

    `structure` and `rows` are what `structure_of` gives for them.
    """
    out = np.zeros((len(molecules), WIDTH), dtype=np.float32)
    usual = set(rows.tolist())
    for place in [place for place in range(len(molecules)) if place not in usual]:
        out[place] = descriptors_of(molecules[place])
    if not len(rows):
        return out
    chosen = [molecules[row] for row in rows]
    properties, by_charge = (
        np.fromiter(chain.from_iterable(map(calculate, chosen)), np.float64).reshape(len(chosen), -1)
        for calculate in (_calculators()[0], _calculators()[4])
    )
    atoms = _known().look_up(structure, chosen)

    def summed(values: np.ndarray) -> np.ndarray:
        return np.bincount(structure.molecule, values, structure.size)

    def binned(values: np.ndarray, bins: np.ndarray) -> np.ndarray:
        place = structure.molecule * (len(bins) + 1) + np.searchsorted(bins, values, side="right")
        return np.bincount(place, atoms[:, SURFACE], structure.size * (len(bins) + 1)).reshape(structure.size, -1)

    sums = np.stack([summed(atoms[:, column]) for column in (LOGP, REFRACTIVITY)], axis=1)
    surfaces = [binned(atoms[:, column], bins) for column, bins in zip((LOGP, REFRACTIVITY), BINS, strict=True)]
    table = [properties, sums, *surfaces, by_charge, _mqns(structure)]
    out[rows] = _clean(np.concatenate(table, axis=1))
    return out


def _rotating(structure: Structure) -> np.ndarray:
    """[M] bonds that rotate, as RDKit counts them where it is strict."""
    z, degree, aliphatic = structure.number, structure.degree, ~structure.is_aromatic
    a, b, order = structure.receiver, structure.sender, structure.order
    plain, outside = np.isin(order, (SINGLE, AROMATIC)), structure.bond_rings == 0
    carbon = (z == 6) & aliphatic
    stiff = (structure.with_bonds(order == TRIPLE) > 0) | (degree == 1)
    methyl = carbon & (structure.hydrogens == 3)
    for three in (z == 9, z == 17, z == 35, methyl):  # CF3, C(CH3)3: turning them changes nothing
        stiff |= carbon & (structure.with_bonds(plain & three[b]) >= 3)
    # Amides, esters and the like: at neither end does any bond rotate, unless its other end is of none.
    double = aliphatic & np.isin(z, (7, 8, 16))
    carbonyl = carbon & (degree == 3) & (structure.with_bonds((order == DOUBLE) & double[b]) > 0)
    hetero = (z == 7) | (aliphatic & ((z == 8) | ((z == 16) & (degree != 1))))
    single = outside & (order == SINGLE)
    amide = (carbonyl & (structure.with_bonds(single & hetero[b]) > 0)) | (
        hetero & (structure.with_bonds(single & carbonyl[b]) > 0)
    )
    ends = ~stiff[a] & ~stiff[b] & ~(amide[a] & amide[b])
    return np.bincount(structure.molecule[a[(a < b) & outside & plain & ends]], minlength=structure.size)


def _mqns(structure: Structure) -> np.ndarray:
    """[M, 42] molecular quantum numbers (Nguyen et al. 2009), as RDKit counts them."""
    z, hydrogens, charge, degree = structure.number, structure.hydrogens, structure.charge, structure.degree
    ring, several = structure.atom_rings > 0, structure.atom_rings > 1
    nitrogen, oxygen, heavy = z == 7, z == 8, z != 1
    polar = (nitrogen | oxygen) & (hydrogens > 0)
    accepts = nitrogen & (degree != 4)
    sites = accepts + oxygen * np.where(charge == -1, 3, 2)

    def of_atoms(values: np.ndarray) -> np.ndarray:
        return np.bincount(structure.molecule, values, structure.size)

    once = structure.receiver < structure.sender
    owner, order, rings = (
        structure.molecule[structure.receiver[once]],
        structure.order[once],
        structure.bond_rings[once],
    )

    def of_bonds(chosen: np.ndarray) -> np.ndarray:
        return np.bincount(owner[chosen], minlength=structure.size)

    aromatic = of_bonds(order == AROMATIC)
    cyclic = [of_bonds((order == kind) & (rings > 0)) for kind in (SINGLE, DOUBLE, TRIPLE)]
    # Half of the aromatic bonds count as single, half as double.
    cyclic[0], cyclic[1] = cyclic[0] + (aromatic + 1) // 2, cyclic[1] + aromatic // 2
    sizes = np.minimum(structure.ring_size, 10)
    columns = [
        *(of_atoms(z == number) for number in (6, 9, 17, 35, 53, 16, 15)),
        *(of_atoms(chosen) for element in (nitrogen, oxygen) for chosen in (element & ~ring, element & ring)),
        of_atoms(z > 1),
        *(of_bonds((order == kind) & (rings == 0)) for kind in (SINGLE, DOUBLE, TRIPLE)), *cyclic, _rotating(structure),
        of_atoms(sites), of_atoms(accepts | oxygen), of_atoms(polar * hydrogens), of_atoms(polar),
        of_atoms(charge < 0), of_atoms(charge > 0),
        of_atoms(heavy & (degree == 1)),
        *(of_atoms(heavy & (degree == count) & ~ring) for count in (2, 3, 4)),
        *(of_atoms(heavy & (degree == count) & ring) for count in (2, 3, 4)),
        *(np.bincount(structure.ring_molecule[sizes == size], minlength=structure.size) for size in range(3, 11)),
        of_atoms(heavy & several), of_bonds(rings > 1),
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float64)


class _Kinds:
    """What RDKit said of atoms, by their kind."""

    def __init__(self) -> None:
        self.keys, self.values = np.zeros(0, np.uint64), np.zeros((0, 3))

    def look_up(self, structure: Structure, molecules: Sequence[Any]) -> np.ndarray:
        """[N, 3] logP, refractivity and surface of atoms; RDKit is asked about molecules with atoms of new kinds."""
        keys = structure.kinds()
        unknown = structure.molecule[~np.isin(keys, self.keys)]
        ends = np.searchsorted(structure.molecule, np.arange(structure.size + 1))
        found: dict[int, np.ndarray] = {}
        for molecule in np.unique(unknown).tolist():
            own = keys[ends[molecule] : ends[molecule + 1]].tolist()
            if any(key not in found for key in own):
                found.update(zip(own, _asked(molecules[molecule]), strict=True))
        merged, values = self.keys, self.values
        if found:
            merged, first = np.unique(np.concatenate([np.array(list(found), np.uint64), merged]), return_index=True)
            values = np.concatenate([np.array(list(found.values())), values])[first]
        if len(merged) <= MOST_KNOWN:
            self.keys, self.values = merged, values
        return values[np.searchsorted(merged, keys)]


@cache
def _known() -> _Kinds:
    return _Kinds()


def _asked(molecule: Any) -> np.ndarray:
    """[atoms, 3] of one molecule, by RDKit."""
    from rdkit.Chem import rdMolDescriptors

    surface = rdMolDescriptors._CalcLabuteASAContribs(molecule)[0]
    return np.column_stack([np.array(rdMolDescriptors._CalcCrippenContribs(molecule)), list(surface)])
