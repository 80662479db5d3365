"""One way to write a molecule: without salts and solvents, neutral where it can be, canonical. Needs RDKit."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from .smiles import MOST_CHARACTERS, rdkit, written_atoms

# Where none of this is in a SMILES string, standardising it changes nothing a model sees: several parts, charges,
# metals, and stereo marks, whose sign depends on the order in which the atoms are written.
MARKS = re.compile(r"[./\\@]|\[[^\]]*[-+]")
STEREO = re.compile(r"[/\\@]")
PLAIN = re.compile(r"\[\d*(?:[BCNOPSFIH]|[cnops]|Si|Cl|Br|Se|se|As|as)(?:H\d*)?\]")
# Sulfones and sulfonamides are left as they are written, sulfoxides are not.
NITRO = re.compile(r"\[N\+\]\(=O\)\[O-\]|O=\[N\+\]\(\[O-\]\)")  # written as the standardiser writes it
NITRO_OR_NOT = re.compile(rf"{NITRO.pattern}|(?:(?!{NITRO.pattern}).)+", re.DOTALL)
BRANCH = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
SULFONE = re.compile(rf"S\d*\(=O\)\(?=O\)?|O=S\d*\(=O\)|S\d*({BRANCH})\(=O\)=O")
SULFIDE = re.compile(r"(?<!O=)(?<!\[)S\d*(?=[A-Za-z\[)]|$)")  # no branch follows, so no oxygen
# Ions that are neutralised by writing them without their charge, and how many hydrogens are then left on the atom.
IONS = {
    "[NH+]": ("N", 0), "[NH2+]": ("N", 1), "[NH3+]": ("N", 2), "[nH+]": ("n", 0),
    "[O-]": ("O", 1), "[S-]": ("S", 1), "[N-]": ("N", 1), "[n-]": ("[nH]", 1),
}  # fmt: skip
ION = re.compile("|".join(map(re.escape, IONS)))
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
    One whose only marks are those of stereo is written canonically, for their sign depends on the order of the atoms,
    and one whose only charges are of protonated amines, carboxylates and the like is written without them; both are
    what all the steps would give, and several times faster.

    >>> standardized("CC(=O)[O-].[Na+]")
    'CC(=O)O'
    """
    if is_plain(text):
        return text
    bare = "".join(_without_charges(part) for part in NITRO_OR_NOT.findall(text))
    if "[S" in bare or not is_plain(STEREO.sub("", bare)):  # a chiral sulfur is a sulfoxide, which is rewritten
        return _by_all_steps(text)
    chem = rdkit()
    made = chem.MolFromSmiles(bare)
    if made is None or not made.GetNumAtoms() or (bare != text and not _is_neutral_form(made, text, bare)):
        return _by_all_steps(text)
    return str(chem.MolToSmiles(made)) if STEREO.search(bare) else bare


def _by_all_steps(text: str) -> str | None:
    made = rdkit().MolFromSmiles(text) if 0 < len(text) <= MOST_CHARACTERS else None
    done = _processed(made) if made is not None and made.GetNumAtoms() else None
    return None if done is None else done[2]


def _without_charges(text: str) -> str:
    return text if NITRO.fullmatch(text) else ION.sub(lambda found: IONS[found[0]][0], text)


def _is_neutral_form(made: Any, text: str, bare: str) -> bool:
    """Whether the molecule of `bare` is what `text` is without its charges.

    Every ion must have as many hydrogens as are left to it. Where there are cations and anions, those that share
    electrons would become neutral in another way: cations must then be saturated.
    """
    before, after = written_atoms(text), written_atoms(bare)
    ions = [place for place, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    if len(after) != made.GetNumAtoms():
        return False
    atoms = {place: made.GetAtomWithIdx(place) for place in ions}
    cations = [place for place in ions if "+" in before[place]]
    if 0 < len(cations) < len(ions) and any(str(atoms[place].GetHybridization()) != "SP3" for place in cations):
        return False
    return all(atoms[place].GetTotalNumHs() == IONS[before[place]][1] for place in ions)


def is_plain(text: str) -> bool:
    """Whether there is nothing in a SMILES string to strip, to neutralise or to write in another way."""
    text = NITRO.sub("N", text)
    if MARKS.search(text) or not 0 < len(text) <= MOST_CHARACTERS or "[" in PLAIN.sub("", text):
        return False
    return "S" not in text or "S" not in SULFIDE.sub("", SULFONE.sub(r"\1", text))


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
    done = _processed(made)
    if done is None:
        return Standardized(None)
    clean, parent, smiles = done
    before = chem.MolToSmiles(_steps()[1].choose(made))
    return Standardized(smiles, _removed(chem, clean, parent), before != smiles)


def _processed(made: Any) -> tuple[Any, Any, str] | None:
    """(the molecule cleaned up, its largest part, how that is written when neutral); None where RDKit cannot."""
    cleanup, largest, neutral = _steps()
    chem = rdkit()
    try:
        clean = cleanup(made)
        parent = largest.choose(clean)
        smiles = chem.MolToSmiles(neutral.uncharge(parent))
        return None if chem.MolFromSmiles(smiles) is None else (clean, parent, str(smiles))
    except Exception:  # RDKit raises errors of its own C++ kinds; the molecule is then listed as refused
        return None


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
