"""Which column of a table holds SMILES, which the names of molecules, which what was measured; by name and content."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from ...runtime.errors import DataError, InputError, unknown
from .cells import Cells, read_cells
from .lines import NAMES, folded, form_of, named_column, read_lines, smiles_name
from .smiles import rdkit, silenced
from .units import POTENCY, unit_in_name
from .values import read_column

IDS = (
    "id", "molecule chembl id", "chembl id", "compound id", "compound", "cid", "mol id", "molecule id",
    "cmpd id", "cmpd", "zinc id", "title", "name", "compound name", "molecule name", "substance id", "sid",
    "sample id", "sample", "cas", "cas number", "inchikey", "inchi key", "batch", "entry", "index", "no", "nr",
    "#", "row", "number",
)  # fmt: skip
# Numbers that stand beside what was measured more often than they are what was measured.
BESIDE = (
    "mw", "molecular weight", "mol weight", "molweight", "logp", "alogp", "clogp", "xlogp", "logd", "tpsa",
    "psa", "hba", "hbd", "rtb", "rotatable bonds", "#rotatable bonds", "#ro5 violations", "heavy atoms",
    "ring count", "rings", "year", "date", "plate", "well", "replicate", "n", "count", "sd", "std", "stdev",
    "sem", "error", "qed", "document year", "aromatic rings", "formal charge",
)  # fmt: skip
MEASURED = (
    "activity", "active", "class", "label", "y", "target", "outcome", "value", "standard value",
    "pchembl value", "pic50", "pec50", "pki", "ic50", "ec50", "ki", "kd", "ac50", "activity outcome",
    "pubchem activity outcome", "toxic", "measured", "act",
)  # fmt: skip
UNITS = ("standard units", "units", "unit", "standard unit")
RELATIONS = ("standard relation", "relation", "qualifier", "operator", "modifier", "prefix")
LOOKED_AT, MOLECULES = 50, 0.9  # cells, and the share of them that must be molecules


def find_smiles(file: Path, cells: Cells, wanted: str | None) -> tuple[str, str]:
    """(the column of SMILES, how it was found where nobody said); by its name, else by what is in it."""
    if wanted is None and cells.smiles:
        return cells.smiles, ""
    if wanted is not None or any(folded(name) in NAMES for name in cells.names):
        found = smiles_name(file, cells.names, wanted)
        return found, "" if wanted == found else f"SMILES are in the column {found!r}"
    likely = [name for name in cells.names if _holds_molecules(cells.texts(name)[: 4 * LOOKED_AT])]
    if len(likely) != 1:
        guessed = "".join(f". {note}" for note in cells.notes)
        raise InputError(f"{file}: say which column holds SMILES (--smiles); it has {', '.join(cells.names)}{guessed}")
    return likely[0], f"SMILES are in the column {likely[0]!r}, by what is in it"


def _holds_molecules(texts: Sequence[str]) -> bool:
    """Whether nearly all of some cells are molecules, not words that happen to be one (C, I, CO)."""
    there = [text.strip() for text in texts if text.strip()][:LOOKED_AT]
    if not there or sum(map(len, there)) < 3 * len(there) or all(text.isdigit() for text in there):
        return False
    chem, silence = rdkit(), silenced()
    read = sum(len(text) < 2000 and chem.MolFromSmiles(text) is not None for text in there)
    del silence
    return read >= MOLECULES * len(there)


def find_ids(cells: Cells, taken: set[str], wanted: str = "") -> str:
    """The column with what the molecules are called; "" where there is none."""
    if wanted:
        return wanted
    likely = [name for name in cells.names if folded(name) in IDS and name not in taken]
    return min(likely, key=lambda name: IDS.index(folded(name)), default="")


def labels(files: Sequence[Path], column: str | None = None) -> tuple[list[str], list[str]]:
    """(what the molecules of some files are called, "" where they have no name; their SMILES), in order."""
    names: list[str] = []
    texts: list[str] = []
    for file in files:
        if form_of(file) == "table":
            cells = read_cells(file)
            of_smiles = smiles_name(file, cells.names, column)
            of_ids = find_ids(cells, {of_smiles})
            texts += [text.strip() for text in cells.texts(of_smiles)]
            names += cells.texts(of_ids) if of_ids else [""] * len(cells)
            continue
        is_list = form_of(file) == "list"
        for line in read_lines([file]):
            texts.append(line.text)
            names.append(next(iter(line.rest.split()), "") if is_list else line.rest)
    return names, texts


def find_targets(file: Path, cells: Cells, taken: set[str], wanted: Sequence[str]) -> tuple[list[str], str]:
    """(the columns with what was measured, how they were found where nobody said)."""
    if wanted:
        names = []
        for asked in wanted:
            try:
                names.append(named_column(file, cells.names, asked))
            except InputError:
                raise InputError(f"{file}: {unknown('column', asked, cells.names)}") from None
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"{file}: the target {twice[0]!r} is named twice")
        if used := [name for name in names if name in taken]:
            raise InputError(f"{file}: {used[0]!r} holds the SMILES or the split, so it cannot be a target")
        return names, ""
    likely = [
        name for name in cells.names if name not in taken and folded(name) not in IDS and _is_measured(cells, name)
    ]
    for fewer in (likely, [n for n in likely if folded(n) not in BESIDE], [n for n in likely if _is_activity(n)]):
        if len(fewer) == 1:
            return fewer, f"the target is the column {fewer[0]!r}"
    shown = ", ".join(repr(name) for name in likely[:5]) + (f" and {len(likely) - 5} more" if len(likely) > 5 else "")
    words = "" if likely else next((found for name in cells.names if (found := _two_words(cells, name, taken))), "")
    raise InputError(
        f"{file}: say which columns are targets (--targets A,B); there is {shown or 'no column of numbers'}{words}"
    )


def _two_words(cells: Cells, name: str, taken: set[str]) -> str:
    """What to say of a column that may be a target, for it holds two words."""
    found = sorted({text.strip() for text in cells.texts(name)} - {""})
    if name in taken or folded(name) in IDS or len(found) != 2:
        return ""
    options = f"--targets {shlex.quote(name)} --set {shlex.quote(f'data.positive={found[1]}')}"
    return f". {name!r} holds two words, {found[0]!r} and {found[1]!r}; to learn it say which is class 1: {options}"


def _is_activity(name: str) -> bool:
    """Whether a column is called as what was measured is: activity, IC50 (nM), …"""
    return folded(name) in MEASURED or bool(POTENCY.search(name.lower())) or bool(unit_in_name(name))


def _is_measured(cells: Cells, name: str) -> bool:
    different, codes = cells.encoded(name)
    try:
        read_column(name, different, codes, habits=cells.habits, typed=name in cells.typed)
    except DataError as error:
        return "may be" in str(error) or "two ways" in str(error)  # numbers, and it has to be said how they are written
    return True


def beside(cells: Cells, target: str, alone: bool, names: Sequence[str]) -> str:
    """The column of units or relations that belongs to a target: by the target's name, or where it is the only one."""
    for name in cells.names:
        if any(folded(name) == f"{folded(target)} {word}" for word in names):
            return name
    return next((name for name in cells.names if folded(name) in names), "") if alone else ""
