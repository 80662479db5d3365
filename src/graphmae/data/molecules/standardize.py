"""One way to write a molecule: without salts and solvents, neutral where it can be, canonical. Needs RDKit."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from .smiles import MOST_CHARACTERS, rdkit

# Where none of this is in a SMILES string, standardising it changes nothing a model sees: several parts, charges,
# metals, and stereo marks, whose sign depends on the order in which the atoms are written.
MARKS = re.compile(r"[./\\@]|\[[^\]]*[-+]")
STEREO = re.compile(r"[/\\@]")
PLAIN = re.compile(r"\[\d*(?:[BCNOPSFIH]|[cnops]|Si|Cl|Br|Se|se|As|as)(?:H\d*)?\]")
# Sulfones and sulfonamides are left as they are written, sulfoxides are not.
SULFONE, SULFOXIDE = re.compile(r"S\d*\(=O\)\(=O\)|O=S\d*\(=O\)"), re.compile(r"S\d*\(?=O|O=S|S.*\)=O")
ALIKE = 0.6  # of the atoms of the part that is kept: a second organic part of that size makes a mixture


class Standardized(NamedTuple):
    """A molecule as it is used, and what was done to it.

    Attributes:
        smiles: canonical; None where the string is not a molecule.
        removed: the parts that were taken off: "salt", "mixture", or "" for nothing.
        neutralized: whether charges, metals or the way groups are written changed.
    """

    smiles: str | None
    removed: str = ""
    neutralized: bool = False


def standardized(text: str) -> str | None:
    """The SMILES string a model is given instead of `text`; None where that is not a molecule.

    A string that standardising would not change is returned as it is, not rewritten: that is most of them, and quick.
    One whose only marks are those of stereo is written canonically, for their sign depends on the order of the atoms;
    that is what all the steps would give, and five times faster.

    >>> standardized("CC(=O)[O-].[Na+]")
    'CC(=O)O'
    """
    if is_plain(text):
        return text
    if "[S" not in text and is_plain(STEREO.sub("", text)):  # a chiral sulfur is a sulfoxide, which is rewritten
        chem = rdkit()
        made = chem.MolFromSmiles(text)
        return None if made is None or not made.GetNumAtoms() else str(chem.MolToSmiles(made))
    return standardize(text).smiles


def is_plain(text: str) -> bool:
    """Whether there is nothing in a SMILES string to strip, to neutralise or to write in another way."""
    if MARKS.search(text) or not 0 < len(text) <= MOST_CHARACTERS or "[" in PLAIN.sub("", text):
        return False
    return "S" not in text or not SULFOXIDE.search(SULFONE.sub("", text))


def standardize(text: str) -> Standardized:
    """RDKit's standardiser: metals disconnected, groups normalised, the largest organic part, charges neutralised.

    Stereo is kept. Ions that cannot be neutralised, such as quaternary ammonium, keep their charge.

    >>> standardize("C[N+](C)(C)C.[Cl-]")
    Standardized(smiles='C[N+](C)(C)C', removed='salt', neutralized=False)
    """
    chem = rdkit()
    made = chem.MolFromSmiles(text) if 0 < len(text) <= MOST_CHARACTERS else None
    if made is None or not made.GetNumAtoms():
        return Standardized(None)
    if is_plain(text):
        return Standardized(chem.MolToSmiles(made))
    cleanup, largest, neutral = _steps()
    try:
        clean = cleanup(made)
        parent = largest.choose(clean)
        done = neutral.uncharge(parent)
        smiles = chem.MolToSmiles(done)
        if chem.MolFromSmiles(smiles) is None:
            return Standardized(None)
    except Exception:  # RDKit raises errors of its own C++ kinds; the molecule is then listed as refused
        return Standardized(None)
    before = chem.MolToSmiles(largest.choose(made))
    return Standardized(smiles, _removed(chem, clean, parent), before != smiles)


def _removed(chem: Any, clean: Any, parent: Any) -> str:
    parts = chem.GetMolFrags(clean, asMols=True, sanitizeFrags=False)
    if len(parts) < 2:
        return ""
    kept = chem.MolToSmiles(parent)
    others = [part for part in parts if chem.MolToSmiles(part) != kept]
    large = [part for part in others if part.GetNumHeavyAtoms() >= ALIKE * parent.GetNumHeavyAtoms()]
    organic = [part for part in large if any(atom.GetAtomicNum() == 6 for atom in part.GetAtoms())]
    return "mixture" if organic else "salt"


@cache
def _steps() -> tuple[Any, Any, Any]:
    """(clean up, choose the largest part, neutralise), made once for each process."""
    from rdkit.Chem.MolStandardize import rdMolStandardize

    return (
        rdMolStandardize.Cleanup,
        rdMolStandardize.LargestFragmentChooser(preferOrganic=True),
        rdMolStandardize.Uncharger(),
    )
