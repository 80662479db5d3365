"""One molecule: from a SMILES string to atom and bond codes, as published (Hu et al. 2020). Needs RDKit."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import InputError

ATOMS = 119  # atomic numbers 1 to 118, and one for everything else
CHIRALITIES = 5  # none, clockwise, counter-clockwise, other; one more, so that 124 features are a multiple of four
BOND_TYPES = 6  # single, double, triple, aromatic, self-loop, masked
DIRECTIONS = 3  # none, up, down
SELF_LOOP, MASKED = 4, 5
MOST_CHARACTERS = 10_000  # of a SMILES string; insulin's has 2,000
MATRIX_UP_TO = 1_000  # atoms; beyond, a matrix of all pairs is slower than bond by bond
_ORDERS = {1.0: 0, 2.0: 1, 3.0: 2, 1.5: 3}  # others (dative, …) count as single
_KINDS = np.array([0, 0, 0, 3, 1, 0, 2], dtype=np.uint8)  # the same, by twice the order
_ATOM = re.compile(r"\[[^\]]*\]|Br|Cl|[BCNOPSFIbcnops*]")
_ELEMENT = re.compile(r"\[\d*(?:#(\d+)|([A-Z][a-z]?|[a-z]{1,2}|\*))")


class Molecule(NamedTuple):
    """Codes of n atoms and b bonds.

    Attributes:
        atoms: [n, 2] uint8: atomic number − 1 (118: other), chirality.
        bonds: [b, 2] uint16: the two atoms.
        kinds: [b] uint8: type + 4 · direction.
    """

    atoms: np.ndarray
    bonds: np.ndarray
    kinds: np.ndarray


def rdkit() -> Any:
    """The module rdkit.Chem, or a sentence that says how to get it."""
    try:
        from rdkit import Chem
    except ImportError:
        raise InputError("molecules need RDKit: pip install 'graphmae[mol]'") from None
    return Chem


def silenced() -> Any:
    """While this is alive, RDKit does not print what is wrong with a molecule; we count and list them."""
    rdkit()
    from rdkit import rdBase

    return rdBase.BlockLogs()


def parse(text: str, standardize: bool = False) -> Molecule | None:
    """The molecule of a SMILES string; None where RDKit cannot read it, it has no atoms, or is longer than any drug's.

    With `standardize` it is what `standardized` makes of the string.

    >>> parse("C=O").kinds.tolist() if parse("C=O") else None
    [1]
    """
    chem = rdkit()
    if standardize:
        from .standardize import standardized

        text = standardized(text) or ""
    made = chem.MolFromSmiles(text) if len(text) <= MOST_CHARACTERS else None
    return None if made is None or not made.GetNumAtoms() else from_rdkit(made, text)


def from_rdkit(made: Any, text: str) -> Molecule:
    """Codes of an RDKit molecule; `text`, its SMILES, tells what need not be asked atom by atom."""
    atoms = _atoms(made, text)
    if "/" not in text and "\\" not in text and len(atoms) <= MATRIX_UP_TO:
        # One matrix is several times faster than a Python object for every bond.
        orders = rdkit().GetAdjacencyMatrix(made, useBO=True).ravel()
        places = np.flatnonzero(orders)
        pairs = np.stack(np.divmod(places, max(len(atoms), 1)), axis=1)
        once = pairs[:, 0] < pairs[:, 1]
        if np.count_nonzero(once) == made.GetNumBonds():  # dative bonds may be seen from one side alone
            kinds = _KINDS[np.minimum(2 * orders[places[once]], 6).astype(np.int64)]
            return Molecule(atoms, pairs[once].astype(np.uint16), kinds)
    found = [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondTypeAsDouble(), int(bond.GetBondDir()))
        for bond in made.GetBonds()
    ]
    bonds = np.array([pair[:2] for pair in found], dtype=np.uint16).reshape(-1, 2)
    codes = [_ORDERS.get(order, 0) + 4 * {4: 1, 3: 2}.get(way, 0) for _, _, order, way in found]
    return Molecule(atoms, bonds, np.array(codes, dtype=np.uint8))


def _atoms(made: Any, text: str) -> np.ndarray:
    """[n, 2]: RDKit numbers atoms as they are written, so their kinds can be read from the text, many at once."""
    atoms = np.zeros((made.GetNumAtoms(), 2), dtype=np.uint8)
    written = written_atoms(text)
    if len(written) != len(atoms):  # hydrogens that are written are no atoms of the molecule
        found = [(atom.GetAtomicNum(), min(int(atom.GetChiralTag()), 3)) for atom in made.GetAtoms()]
        atoms[:, 0], atoms[:, 1] = (np.array(found) - (1, 0)).T % ATOMS
        return atoms
    atoms[:, 0] = [_code(symbol) for symbol in written]
    if "@" in text:
        for place, symbol in enumerate(written):
            if "@" in symbol:
                atoms[place, 1] = min(int(made.GetAtomWithIdx(place).GetChiralTag()), 3)
    return atoms


def written_atoms(text: str) -> list[str]:
    """The atoms of a SMILES string as they are written, in their order, in brackets or not.

    >>> written_atoms("C[NH3+]")
    ['C', '[NH3+]']
    """
    return _ATOM.findall(text)


@cache
def _code(symbol: str) -> int:
    """Atomic number − 1 of an atom as it is written, in brackets or not."""
    if symbol[0] == "[":
        number, symbol = _ELEMENT.match(symbol).groups()  # type: ignore[union-attr]
    else:
        number = None
    if number is None:
        number = 0 if symbol == "*" else rdkit().GetPeriodicTable().GetAtomicNumber(symbol.capitalize())
    return (int(number) - 1) % ATOMS
