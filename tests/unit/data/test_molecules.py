"""SMILES → codes → store → graphs, compared with plain loops over RDKit's objects."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from graphmae.data.molecules import MoleculeStore, build_store, parse, read_lines
from graphmae.data.molecules import building as module
from graphmae.runtime.errors import DataError, InputError

Chem = pytest.importorskip("rdkit.Chem", reason="RDKit is not installed")

SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[C@H](N)C(=O)O",
    "C/C=C/C#N",
    "[Na+].[Cl-]",
    "O",
    "c1ccc2[nH]ccc2c1",
    "F/C=C\\F",
    "*C[Si](C)(C)C",
    "[H]O[H]",
    "[2H]C([2H])([2H])Cl",
    "[#6]Br",
    "c1cc[se]c1",
    "[Fe]<-N(C)C",
    "[NH3]->[Pt](Cl)Cl",
    "OC[13C@@H](N)[C@@](F)(Cl)Br",
]


def by_loops(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int, int, int]]]:
    molecule = Chem.MolFromSmiles(text)
    types = {Chem.BondType.SINGLE: 0, Chem.BondType.DOUBLE: 1, Chem.BondType.TRIPLE: 2, Chem.BondType.AROMATIC: 3}
    ways = {Chem.BondDir.NONE: 0, Chem.BondDir.ENDUPRIGHT: 1, Chem.BondDir.ENDDOWNRIGHT: 2}
    atoms = [((a.GetAtomicNum() - 1) % 119, int(a.GetChiralTag())) for a in molecule.GetAtoms()]
    bonds = [
        (*sorted((b.GetBeginAtomIdx(), b.GetEndAtomIdx())), types.get(b.GetBondType(), 0), ways[b.GetBondDir()])
        for b in molecule.GetBonds()
    ]
    return atoms, sorted(bonds)


@pytest.mark.parametrize("text", SMILES)
def test_codes_are_those_of_rdkits_atoms_and_bonds(text: str) -> None:
    found = parse(text)
    assert found is not None
    atoms, bonds = by_loops(text)
    assert [tuple(row) for row in found.atoms.tolist()] == atoms
    pairs = zip(found.bonds.tolist(), found.kinds.tolist(), strict=True)
    assert sorted((*sorted(pair), kind % 4, kind // 4) for pair, kind in pairs) == bonds


@pytest.mark.parametrize("text", ["", "C(C", "xyz", "C1CC", "c1ccccc", "C(C)(C)(C)(C)C"])
def test_what_is_no_molecule(text: str) -> None:
    assert parse(text) is None


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_store_holds_what_was_parsed_and_lists_what_was_not(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.smi", ["# a comment", *SMILES[:3], "C(C bad", "", *SMILES[3:]])
    store = build_store([file], tmp_path / "store")
    assert len(store) == len(SMILES)
    assert store.num_lines == len(SMILES) + 1
    assert store.lines.tolist() == [0, 1, 2, *range(4, len(SMILES) + 1)]
    assert (tmp_path / "store/bad.tsv").read_text().splitlines()[1:] == ["mine.smi\t5\tC(C"]
    assert not (tmp_path / "store/parts").exists()
    graphs = MoleculeStore.open(tmp_path / "store").graphs(range(len(SMILES))).checked()
    for i, text in enumerate(SMILES):
        atoms, bonds = by_loops(text)
        graph, nodes = graphs.graph(i), slice(int(graphs.node_ptr[i]), int(graphs.node_ptr[i + 1]))
        assert graph.x[:, :119].argmax(1).tolist() == [z for z, _ in atoms]
        expected = [(a, b) for a, b, _, _ in bonds] + [(b, a) for a, b, _, _ in bonds]
        expected += [(k, k) for k in range(len(atoms))]
        assert sorted(map(tuple, graph.edge_index.t().tolist())) == sorted(expected)
        sums = torch.zeros(len(atoms), 12, dtype=torch.long)
        sums[:, [4, 6]] += 1  # the self-loop, which points nowhere
        for a, b, kind, way in bonds:
            for end in (a, b):
                sums[end, kind] += 1
                sums[end, 6 + way] += 1
        assert graphs.edge_sums is not None
        assert torch.equal(graphs.edge_sums[nodes].long(), sums)


def test_many_parts_and_processes_give_the_same_store_and_go_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [SMILES[i % len(SMILES)] if i % 11 else "nonsense" for i in range(100)]
    file = write(tmp_path / "mine.smi", lines)
    whole = build_store([file], tmp_path / "whole")
    monkeypatch.setattr(module, "PART", 30)
    monkeypatch.setattr(module, "FEW", 10)
    joined, stop = module._join, tmp_path / "stop"

    def interrupted(folder: Path, parts: list[Path]) -> None:
        if not stop.exists():
            stop.touch()
            raise KeyboardInterrupt
        joined(folder, parts)

    monkeypatch.setattr(module, "_join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build_store([file], tmp_path / "parts", jobs=1)
    with pytest.raises(DataError, match="not a complete store"):
        MoleculeStore.open(tmp_path / "parts")
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts/parts").glob("*.npz")}
    assert len(written) == 4
    seen: list[tuple[int, int]] = []
    store = build_store([file], tmp_path / "parts", jobs=1, progress=lambda done, bad: seen.append((done, bad)))
    assert seen[-1] == (100, 10)
    for name in module.ARRAYS:
        assert np.array_equal(getattr(store, name), getattr(whole, name)), name
    assert [len(part) for part in store.graph_sets(40)] == [40, 40, 10]
    assert json.loads((tmp_path / "parts/meta.json").read_text())["bad"] == 10


def test_tables_and_compressed_files(tmp_path: Path) -> None:
    table = write(tmp_path / "assay.csv", ["id,SMILES,y", "1,CCO,0.5", '2,"CC,N",1', "3,,"])
    assert [line.text for line in read_lines([table])] == ["CCO", "CC,N", ""]
    semicolons = write(tmp_path / "german.csv", ["id;SMILES;y", "1;CCO;0,5"])
    assert [line.text for line in read_lines([semicolons])] == ["CCO"]
    with pytest.raises(DataError, match="3 columns"):
        list(read_lines([write(tmp_path / "short.csv", ["id,SMILES,y", "1,CCO,0.5", "3"])]))
    tabs = write(tmp_path / "assay.tsv", ["drug\ty", "CCO\t1"])
    with pytest.raises(InputError, match="which column holds SMILES"):
        list(read_lines([tabs]))
    assert [line.text for line in read_lines([tabs], "drug")] == ["CCO"]
    with pytest.raises(InputError, match="no column 'mol'"):
        list(read_lines([tabs], "mol"))
    twice = write(tmp_path / "twice.csv", ["s,s", "C,C"])
    with pytest.raises(InputError, match="several columns"):
        list(read_lines([twice], "s"))
    packed = tmp_path / "mine.smi.gz"
    packed.write_bytes(gzip.compress(b"CCO ethanol\nC\n"))
    assert [line.text for line in read_lines([packed])] == ["CCO", "C"]


def test_nothing_to_read_and_folders_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to read"):
        build_store([write(tmp_path / "empty.smi", [""])], tmp_path / "a")
    with pytest.raises(DataError, match="2 lines and not one molecule"):
        build_store([write(tmp_path / "bad.smi", ["xx", "yy"])], tmp_path / "a")
    assert not (tmp_path / "a").exists()
    with pytest.raises(InputError, match="no file"):
        build_store([tmp_path / "missing.smi"], tmp_path / "a")
    good = write(tmp_path / "good.smi", SMILES)
    (tmp_path / "full").mkdir()
    write(tmp_path / "full/notes.txt", ["mine"])
    with pytest.raises(InputError, match="no store of molecules"):
        build_store([good], tmp_path / "full")
    build_store([good], tmp_path / "a")
    with pytest.raises(InputError, match="other files"):
        build_store([write(tmp_path / "other.smi", SMILES[:2])], tmp_path / "a")
