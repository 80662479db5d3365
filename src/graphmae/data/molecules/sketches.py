"""Structures of molecules in few bytes, for pages that draw them: places of atoms by RDKit, bonds with their orders.

A drawing is: the number of atoms (2 bytes, low first); of every atom x, y, symbol, charge + 8; of every bond its two
atoms and order (1, 2, 3), the atoms in 2 bytes each where there are more than 255. All molecules are drawn to one
scale, so that bonds are about equally long, unless one is too wide for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .smiles import ATOMS, rdkit, silenced

UNITS = 14.0  # of a drawing, to an ångström
SIDE = 255
LARGEST = 400  # atoms
ORDERS = {0: 1, 1: 2, 2: 3, 3: 12}  # code of a bond → RDKit's number of its type; 12 is aromatic


def from_smiles(text: str) -> Any:
    """RDKit's molecule; None where it cannot be read."""
    return rdkit().MolFromSmiles(text)


def from_codes(atoms: np.ndarray, bonds: np.ndarray, kinds: np.ndarray) -> Any:
    """RDKit's molecule of the codes a store has; charges are not among them."""
    chem = rdkit()
    made = chem.RWMol()
    for code in atoms[:, 0].tolist():
        made.AddAtom(chem.Atom(int(code) + 1 if code < ATOMS - 1 else 0))
    for (one, other), kind in zip(bonds.tolist(), kinds.tolist(), strict=True):
        made.AddBond(int(one), int(other), chem.BondType.values[ORDERS.get(kind % 4, 1)])
        if kind % 4 == 3:
            made.GetBondBetweenAtoms(int(one), int(other)).SetIsAromatic(True)
            for end in (one, other):
                made.GetAtomWithIdx(int(end)).SetIsAromatic(True)
    return made.GetMol()


def from_store(
    rows: Sequence[int], first_atom: np.ndarray, first_bond: np.ndarray, atoms: np.ndarray, bonds: np.ndarray,
    kinds: np.ndarray,
) -> Iterator[Any]:  # fmt: skip
    """RDKit's molecules of these rows of a store's arrays."""
    for i in rows:
        own = slice(int(first_bond[i]), int(first_bond[i + 1]))
        yield from_codes(atoms[int(first_atom[i]) : int(first_atom[i + 1])], bonds[own], kinds[own])


def packed_drawings(molecules: Iterable[Any]) -> tuple[list[bytes], list[str]]:
    """(every drawing, b"" where there is none; the symbols they point at).

    >>> drawn, symbols = packed_drawings([from_smiles("CO"), None])
    >>> len(drawn[0]), drawn[1], symbols
    (13, b'', ['C', 'O'])
    """
    quiet, symbols, out = silenced(), dict[str, int](), []
    for molecule in molecules:
        out.append(b"" if molecule is None else _packed(molecule, symbols))
    del quiet
    return out, list(symbols)


def _packed(molecule: Any, symbols: dict[str, int]) -> bytes:
    chem = rdkit()
    from rdkit.Chem import rdDepictor

    if not 0 < molecule.GetNumAtoms() <= LARGEST:
        return b""
    molecule = chem.RWMol(molecule)
    try:
        chem.FastFindRings(molecule)
        chem.Kekulize(molecule, clearAromaticFlags=True)
    except (chem.KekulizeException, RuntimeError, ValueError):
        pass  # aromatic bonds that have no alternating form are drawn as single ones
    rdDepictor.Compute2DCoords(molecule)
    places = molecule.GetConformer().GetPositions()[:, :2]
    places = places - places.min(axis=0)
    places = np.rint(places * min(UNITS, SIDE / max(float(places.max()), 1e-6))).astype(int)
    count = molecule.GetNumAtoms()
    out = bytearray(count.to_bytes(2, "little"))
    for atom, (x, y) in zip(molecule.GetAtoms(), places.tolist(), strict=True):
        symbol = symbols.setdefault(atom.GetSymbol(), len(symbols))
        out += bytes((x, y, min(symbol, 255), min(max(atom.GetFormalCharge(), -8), 8) + 8))
    size = 1 if count <= 255 else 2
    for bond in molecule.GetBonds():
        ends = bond.GetBeginAtomIdx().to_bytes(size, "little") + bond.GetEndAtomIdx().to_bytes(size, "little")
        order = min(3, max(1, int(bond.GetBondTypeAsDouble())))
        out += ends + bytes((order,))
    return bytes(out)
