"""The atoms, bonds and rings of many RDKit molecules as arrays, so that what follows is computed for all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from .environments import mixed
from .smiles import rdkit

MOST_ATOMS = 150  # of a molecule: matrices of all pairs of atoms are made
SINGLE, DOUBLE, TRIPLE, AROMATIC = range(4)
_ORDERS = np.array([1.0, 2.0, 3.0, 1.5])


@dataclass(frozen=True)
class Structure:
    """M molecules, N atoms, B directed bonds, R rings (the smallest set of them).

    Attributes:
        molecule: [N] which molecule an atom is of.
        number, hydrogens, charge: [N].
        receiver, sender: [B] the atoms of the bonds, every bond in both directions, by receiver.
        order: [B] single, double, triple or aromatic.
        bond_rings, atom_rings: [B], [N] in how many rings.
        ring_molecule, ring_size: [R].
        size: M.
    """

    molecule: np.ndarray
    number: np.ndarray
    hydrogens: np.ndarray
    charge: np.ndarray
    receiver: np.ndarray
    sender: np.ndarray
    order: np.ndarray
    bond_rings: np.ndarray
    atom_rings: np.ndarray
    ring_molecule: np.ndarray
    ring_size: np.ndarray
    size: int

    @property
    def degree(self) -> np.ndarray:
        """[N] neighbours that are atoms."""
        return np.bincount(self.receiver, minlength=len(self.molecule))

    @property
    def is_aromatic(self) -> np.ndarray:
        """[N] whether an atom has aromatic bonds."""
        return np.bincount(self.receiver, self.order == AROMATIC, len(self.molecule)) > 0

    def with_bonds(self, chosen: np.ndarray) -> np.ndarray:
        """[N] how many of the chosen bonds [B] an atom receives."""
        return np.bincount(self.receiver[chosen], minlength=len(self.molecule))

    def kinds(self) -> np.ndarray:
        """[N] uint64, the same for atoms alike in all that Crippen's and Labute's tables ask for.

        That is an atom's element, charge, hydrogens and neighbours, whether it is aromatic, and its bonds to which
        elements, charged and aromatic or not; of an oxygen, all this of its neighbours too. Two of a million different
        ones are the same by chance with a probability of 3e-8.
        """
        degree, aromatic = self.degree, self.is_aromatic
        ends, bond = np.cumsum(degree), mixed(self.order.astype(np.uint64))

        def added(labels: np.ndarray) -> np.ndarray:
            # The sum does not depend on the order of the neighbours; numbers wrap around.
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed(labels[self.sender] ^ bond))])
            return np.asarray(sums[ends] - sums[ends - degree])

        near = mixed(((self.number * 64 + self.charge + 32) * 2 + aromatic).astype(np.uint64))
        own = mixed(near ^ mixed((self.hydrogens * 64 + degree).astype(np.uint64)))
        alike = mixed(own ^ added(near))
        return np.where(self.number == 8, mixed(own ^ added(alike)), alike)


def structure_of(molecules: Sequence[Any]) -> tuple[Structure, np.ndarray]:
    """(arrays of the molecules whose bonds are single, double, triple or aromatic, without hydrogens that are atoms of
    their own; [m] which molecules these are)."""
    chem = rdkit()
    rows = np.flatnonzero([one.GetNumHeavyAtoms() == one.GetNumAtoms() <= MOST_ATOMS for one in molecules])
    small = [molecules[row] for row in rows.tolist()]
    matrices = [chem.GetAdjacencyMatrix(one, useBO=True).ravel() for one in small]
    bonds = np.array([one.GetNumBonds() for one in small], dtype=np.int64)
    flat = np.concatenate([np.zeros(0), *matrices])
    places = np.flatnonzero(flat)
    ends = np.searchsorted(places, np.cumsum([0, *map(len, matrices)]))
    # Dative bonds are seen from one side alone, others have orders of their own.
    strange = np.concatenate([[0], np.cumsum(~np.isin(flat[places], _ORDERS))])[ends]
    usual = (np.diff(ends) == 2 * bonds) & (np.diff(strange) == 0)
    if not usual.all():
        kept = np.flatnonzero(usual).tolist()
        rows, flat = rows[usual], np.concatenate([np.zeros(0), *(matrices[place] for place in kept)])
        small = [small[place] for place in kept]
    return _structure(small, flat), rows


def _structure(molecules: Sequence[Any], matrices: np.ndarray) -> Structure:
    from rdkit.Chem.rdMolDescriptors import GetConnectivityInvariants

    sizes = np.array([molecule.GetNumAtoms() for molecule in molecules], dtype=np.int64)
    first, begin = np.cumsum(sizes) - sizes, np.cumsum(sizes**2) - sizes**2
    places = np.flatnonzero(matrices)
    of = np.searchsorted(begin, places, side="right") - 1
    receiver, sender = np.divmod(places - begin[of], sizes[of])
    receiver, sender = receiver + first[of], sender + first[of]
    order = np.searchsorted(_ORDERS[[0, 3, 1, 2]], matrices[places])
    order = np.array([SINGLE, AROMATIC, DOUBLE, TRIPLE])[order]

    invariants = [GetConnectivityInvariants(molecule) for molecule in molecules]
    invariant = np.fromiter(chain.from_iterable(invariants), np.uint64, int(sizes.sum()))
    kinds, places, which = np.unique(invariant, return_index=True, return_inverse=True)
    molecule = np.repeat(np.arange(len(sizes)), sizes)
    for kind, place in zip(kinds.tolist(), places.tolist(), strict=True):
        if kind not in _kinds():
            atom = molecules[molecule[place]].GetAtomWithIdx(int(place - first[molecule[place]]))
            _kinds()[kind] = (atom.GetAtomicNum(), atom.GetTotalNumHs(), atom.GetFormalCharge())
    facts = np.array([_kinds()[kind] for kind in kinds.tolist()], dtype=np.int64).reshape(-1, 3)[which]
    number, hydrogens, charge = facts.T

    rings = [molecule.GetRingInfo().AtomRings() for molecule in molecules]
    ring_molecule = np.repeat(np.arange(len(sizes)), np.array([len(some) for some in rings], dtype=np.int64))
    ring_size = np.array([len(ring) for some in rings for ring in some], dtype=np.int64)
    members = np.fromiter(chain.from_iterable(chain.from_iterable(rings)), np.int64, int(ring_size.sum()))
    members = members + np.repeat(first[ring_molecule], ring_size)
    following = np.roll(members, -1)
    ends = np.cumsum(ring_size)
    following[ends - 1] = members[ends - ring_size]  # the last atom of a ring is bound to the first
    total = int(sizes.sum())
    bonds = receiver * total + sender
    bond_rings = np.zeros(len(bonds), dtype=np.int64)
    for a, b in ((members, following), (following, members)):
        np.add.at(bond_rings, np.searchsorted(bonds, a * total + b), 1)
    return Structure(
        molecule, number, hydrogens, charge, receiver, sender, order, bond_rings,
        np.bincount(members, minlength=total), ring_molecule, ring_size, len(sizes),
    )  # fmt: skip


@cache
def _kinds() -> dict[int, tuple[int, int, int]]:
    """Invariant → atomic number, hydrogens, charge; filled as atoms are seen."""
    return {}
