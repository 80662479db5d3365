"""Structures of molecules for pages: as RDKit draws them, in few bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rdkit", reason="RDKit is not installed")

from graphmae.data.molecules import read_assay
from graphmae.data.molecules.sketches import from_codes, from_smiles, packed_drawings
from graphmae.data.molecules.smiles import parse


def unpacked(drawing: bytes) -> tuple[np.ndarray, np.ndarray]:
    """([atoms, 4], [bonds, 3]) as the script of the page reads them."""
    count = drawing[0] + 256 * drawing[1]
    atoms = np.frombuffer(drawing[2 : 2 + 4 * count], np.uint8).reshape(-1, 4)
    rest = np.frombuffer(drawing[2 + 4 * count :], np.uint8)
    if count <= 255:
        return atoms, rest.reshape(-1, 3).astype(int)
    wide = rest.reshape(-1, 5).astype(int)
    return atoms, np.stack([wide[:, 0] + 256 * wide[:, 1], wide[:, 2] + 256 * wide[:, 3], wide[:, 4]], axis=1)


def test_atoms_bonds_and_charges_are_all_there() -> None:
    (drawn,), symbols = packed_drawings([from_smiles("C#Cc1ccccc1[N+](=O)[O-]")])
    atoms, bonds = unpacked(drawn)
    assert [symbols[code] for code in atoms[:, 2]] == ["C"] * 8 + ["N", "O", "O"]
    assert atoms[:, 3].astype(int).tolist() == [8] * 8 + [9, 8, 7]
    assert sorted(bonds[:, 2]) == [1] * 6 + [2] * 4 + [3], "aromatic rings have alternating bonds"
    ends = atoms[bonds[:, :2], :2].astype(float)
    lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    assert lengths.max() < 1.3 * lengths.min(), "bonds are about equally long"


def test_codes_of_a_store_draw_the_same_molecule() -> None:
    text = "Cc1ccncc1Cl"
    made = parse(text)
    assert made is not None
    (one, other), _ = packed_drawings([from_smiles(text), from_codes(*made)])
    bonds = [sorted(map(tuple, np.sort(unpacked(each)[1][:, :2], axis=1).tolist())) for each in (one, other)]
    assert bonds[0] == bonds[1]
    assert (unpacked(one)[0][:, 2] == unpacked(other)[0][:, 2]).all()


def test_large_odd_and_unreadable_molecules() -> None:
    drawn, _ = packed_drawings(
        [from_smiles("C" * 300), from_smiles("C" * 500), from_smiles("C(C"), from_smiles("[Na+].[Cl-]")]
    )
    atoms, bonds = unpacked(drawn[0])
    assert len(atoms) == 300 and bonds.max() == 299 and len(bonds) == 299
    assert drawn[1] == b"" and drawn[2] == b""
    assert len(unpacked(drawn[3])[0]) == 2


def test_columns_of_an_assay_are_those_of_its_readable_rows(tmp_path: Path) -> None:
    table = tmp_path / "assay.csv"
    smiles = ["C" * (1 + i) + "ON"[i % 2] for i in range(20)]
    lines = [f"m{i},{text},{i % 2},{i / 2},{'x' if i % 3 else ''}" for i, text in enumerate(smiles)]
    lines[3] = "bad,C(C,1,9,y"
    table.write_text("code,smiles,active,weight,kind\n" + "\n".join(lines) + "\n")
    assay = read_assay(table, targets=["active"], split="random")
    found = assay.facets(table)
    assert list(found) == ["active", "split", "SMILES", "code", "weight", "kind"]
    assert len(assay.graph_ids()) == 19 and assay.graph_ids()[2:4] == ["3", "5"]
    assert list(found["code"])[2:4] == ["m2", "m4"] and list(found["active"])[2:4] == ["0", "0"]
    assert np.asarray(found["weight"])[2:4].tolist() == [1.0, 2.0] and found["kind"][0] is None
    assert set(found["split"]) == {"train", "val", "test"}
    drawn, symbols = assay.drawings([0, 2])
    assert all(drawn) and set(symbols) == {"C", "O"}
    assert "code" not in assay.facets()
