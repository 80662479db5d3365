"""Descriptors of many molecules at once: what RDKit gives for each alone."""

from __future__ import annotations

import numpy as np
import pytest

from graphmae.data.molecules import descriptors
from graphmae.data.molecules.descriptors import NAMES, describe, descriptors_of
from graphmae.data.molecules.featurized import featurize
from graphmae.data.molecules.smiles import from_rdkit
from graphmae.data.molecules.structure import structure_of

Chem = pytest.importorskip("rdkit.Chem", reason="RDKit is not installed")
SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[C@H](N)C(=O)[O-]",
    "C/C=C/C#N",
    "C1=CC=CN1",
    "N1=CC=CC=C1",
    "c1ccc2[nH]ccc2c1",
    "C",
    "O",
    "CCN(CC)CC",
    "[Na+].[Cl-]",
    "C[N+](C)(C)C",
    "FC(F)(F)c1ccc(Cl)c(Br)c1I",
    "CC(C)(C)OC(=O)NCCSC",
    "O=S(=O)(N)c1ccccc1",
    "C1CC2CCC1C2",
    "C1CCC2(CC1)OCCO2",
    "c1ccc2c(c1)ccc1ccccc12",
    "C1CC1C1CCCCCCCCCCC1",
    "CP(=O)(O)O",
    "[2H]C([2H])Cl",
    "[H]/N=C(\\N)c1ccccc1",
    "[NH3]->[Pt](Cl)Cl",
    "[Fe]",
    "B(O)O",
    "*CC",
    "N#CC=C=O",
    "O=C1NC(=O)c2ccccc21",
    "CC(=S)N",
    "CCCCCCCCCCCCCCCCCC(=O)OCC(COP(=O)([O-])OCC[N+](C)(C)C)OC(=O)CCCCCCCCCCCCCCC",
    "C" * 160,
    "OO",
    "[O-][n+]1ccccc1",
]


def test_they_are_those_of_rdkit() -> None:
    wanted = np.stack([descriptors_of(Chem.MolFromSmiles(text)) for text in SMILES])
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    structure, rows = structure_of(molecules)
    found = describe(molecules, structure, rows)
    different = ~np.isclose(found, wanted, rtol=1e-5, atol=1e-4, equal_nan=True)
    assert not different.any(), [(SMILES[row], NAMES[column]) for row, column in np.argwhere(different)]
    asked = sorted(set(range(len(SMILES))) - set(rows.tolist()))
    assert [SMILES[row] for row in asked] == [
        "[2H]C([2H])Cl",
        "[H]/N=C(\\N)c1ccccc1",
        "[NH3]->[Pt](Cl)Cl",
        "*CC",
        "C" * 160,
    ]


def test_they_do_not_depend_on_the_molecules_before(monkeypatch: pytest.MonkeyPatch) -> None:
    there = featurize(SMILES).descriptors
    back = featurize(SMILES[::-1]).descriptors[::-1]
    assert np.array_equal(there, back, equal_nan=True)
    monkeypatch.setattr(descriptors, "_known", descriptors._Kinds)  # nothing is remembered
    alone = np.concatenate([featurize([text]).descriptors for text in SMILES])
    assert np.array_equal(there, alone, equal_nan=True)
    monkeypatch.setattr(descriptors, "MOST_KNOWN", 3)
    assert np.array_equal(there, featurize(SMILES).descriptors, equal_nan=True)


def test_nothing_to_describe() -> None:
    structure, rows = structure_of([])
    assert describe([], structure, rows).shape == (0, len(NAMES))
    lonely = [Chem.MolFromSmiles("[H][H]")]
    assert describe(lonely, *structure_of(lonely)).shape == (1, len(NAMES))


def test_graphs_made_together_are_those_made_alone() -> None:
    graphs = featurize(SMILES).graphs
    assert graphs is not None
    for number, text in enumerate(SMILES):
        alone = from_rdkit(Chem.MolFromSmiles(text), text)
        atoms = graphs.x[graphs.node_ptr[number] : graphs.node_ptr[number + 1]].numpy()
        assert np.array_equal(atoms.reshape(len(atoms), -1)[:, : alone.atoms.shape[1]], alone.atoms), text
    one = featurize(["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"]).graphs
    assert one is not None and not np.array_equal(one.x[:6].numpy(), one.x[6:].numpy())
