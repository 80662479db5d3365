"""Assay files as chemists have them: each is read right, or refused with a sentence."""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from graphmae.data.molecules import read_assay, read_lines, read_measurements
from graphmae.data.molecules.cells import read_cells
from graphmae.runtime.errors import DataError, InputError

pytest.importorskip("rdkit", reason="RDKit is not installed")

SMILES = [
    "CCO",
    "CCN",
    "c1ccccc1O",
    "CC(C)Cl",
    "CCOC(C)=O",
    "c1ccncc1",
    "CC(N)C(=O)O",
    "CCCCCC",
    "OCC(O)CO",
    "Cc1ccccc1",
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def column(path: Path, **options: Any) -> list[float]:
    return read_assay(path, **options).targets.ravel().round(4).tolist()


def noted(path: Path, **options: Any) -> str:
    return "\n".join(read_assay(path, **options).origin.notes)


def test_a_german_excel_csv(tmp_path: Path) -> None:
    """Semicolons, decimal commas, cp1252, a header with trailing blanks."""
    rows = [f"Prüfling {i};{text};{i},5;{i * 1000 + 1}" for i, text in enumerate(SMILES)]
    path = write(tmp_path / "assay.csv", "\r\n".join(["Name;SMILES ;pIC50;Bemerkung Nr", *rows]), "cp1252")
    assay = read_assay(path, targets=["pIC50"])
    assert assay.kind == "regression"
    assert assay.targets.ravel().tolist() == [i + 0.5 for i in range(10)]
    assert assay.ids[3] == "Prüfling 3"
    assert "decimal comma" in "\n".join(assay.origin.notes)


def test_an_excel_workbook_and_parquet_give_the_same_assay(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Compound", " Canonical SMILES ", "pIC50"])
    for i, text in enumerate(SMILES):
        book.active.append([f"X-{i}", text, 5.125 + i if i != 4 else None])
    book.save(tmp_path / "assay.xlsx")
    values = [5.125 + i if i != 4 else None for i in range(10)]
    table = {"Compound": [f"X-{i}" for i in range(10)], "canonical_smiles": SMILES, "pIC50": values}
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "assay.parquet")
    found = [read_assay(tmp_path / f"assay.{kind}") for kind in ("xlsx", "parquet")]
    assert found[0].targets.ravel().tolist() == [5.125 + i for i in range(10) if i != 4]
    assert np.array_equal(found[0].targets, found[1].targets)
    assert found[0].ids == found[1].ids and found[0].smiles == found[1].smiles
    assert [line.text for line in read_lines([tmp_path / "assay.xlsx"])] == SMILES


def test_bytes_are_never_read_as_smiles(tmp_path: Path) -> None:
    """A Parquet file given to predict as a list had 15 'molecules': S, I, C, …"""
    pyarrow.parquet.write_table(pa.table({"smiles": SMILES}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    for name in ("a.smi", "a.dat", "a.txt", "a.parquet.gz"):
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        with pytest.raises((DataError, InputError), match=r"no text but a Parquet file|unknown kind of table"):
            list(read_lines([tmp_path / name]))
    (tmp_path / "b.smi").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(DataError, match="not text"):
        list(read_lines([tmp_path / "b.smi"]))
    with pytest.raises(InputError, match=r"save it as \.xlsx or CSV"):
        list(read_lines([write(tmp_path / "old.xls", "C")]))


def test_structures_with_properties_keep_stereo(tmp_path: Path) -> None:
    from rdkit import Chem
    from rdkit.Chem import AllChem

    path, texts = tmp_path / "assay.sdf", ["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", r"C/C=C/Cl", r"C/C=C\Cl"]
    with Chem.SDWriter(str(path)) as writer:
        for i, text in enumerate(texts):
            made = Chem.MolFromSmiles(text)
            AllChem.Compute2DCoords(made)
            made.SetProp("_Name", f"lot {i}")
            made.SetProp("IC50 (nM)", f"{10**i}")
            writer.write(made)
    damaged = path.read_text() + "broken\n\n\nno counts here\nM  END\n> <IC50 (nM)>\n7\n\n$$$$\n"
    (tmp_path / "assay.sdf.gz").write_bytes(gzip.compress(damaged.encode()))
    for name in ("assay.sdf", "assay.sdf.gz"):
        assay = read_assay(tmp_path / name)
        assert assay.names == ("IC50 (nM)",)
        assert assay.targets.ravel().tolist() == [1, 10, 100, 1000]
        assert assay.ids == ("lot 0", "lot 1", "lot 2", "lot 3")
        assert [Chem.CanonSmiles(text) for text in texts] == list(assay.smiles)
    assert [(refused.row, refused.reason) for refused in assay.origin.refused] == [
        (4, "there is no structure, or none that can be read")
    ]
    assert [line.text for line in read_lines([path])] == list(assay.smiles)
    with pytest.raises(DataError, match="holds no structures"):
        read_cells(write(tmp_path / "empty.sdf", "nothing\n"))


def test_a_list_of_smiles_with_values(tmp_path: Path) -> None:
    plain = "\n".join(f"{text} mol-{i} {i}.25" for i, text in enumerate(SMILES))
    headed = "SMILES\tName\tactivity\n" + "\n".join(f"{text}\tmol-{i}\t{i}.25" for i, text in enumerate(SMILES))
    for name, text, target in (("a.smi", plain, "value"), ("b.smi", headed, "activity")):
        assay = read_assay(write(tmp_path / name, text))
        assert (assay.names, assay.ids[2]) == ((target,), "mol-2")
        assert assay.targets.ravel().tolist() == [i + 0.25 for i in range(10)]
    assert len(list(read_lines([tmp_path / "b.smi"]))) == 10  # a header is not a molecule


def test_qualifiers_and_words_for_nothing_measured(tmp_path: Path) -> None:
    cells = [">10000", "<5", "~ 7,5", "n.d.", "NA", "12", "≥ 100", "not tested", "3", "4"]
    path = tmp_path / "assay.tsv"
    write(path, "\n".join(["SMILES\tKi", *(f"{s}\t{c.replace(',', '.')}" for s, c in zip(SMILES, cells, strict=True))]))
    assay = read_assay(path)
    assert assay.targets.ravel().tolist() == [10000, 5, 7.5, 12, 100, 3, 4]
    assert assay.bounds is not None and assay.bounds.ravel().tolist() == [1, -1, 0, 0, 1, 0, 0]
    split = replace(assay, division="part", given=("train", "train", "val", "val", "test", "test", "train"))
    assert np.isnan(split.scored[[0, 1, 4]]).all() and not np.isnan(split.scored[[2, 3, 5, 6]]).any()
    assert "2 of them are lower bounds (>), 1 of them are upper bounds (<)" in "\n".join(assay.origin.notes)
    assert "2 cells say that nothing was measured: 'n.d.' (1), 'not tested' (1)" in "\n".join(assay.origin.notes)
    assert column(path, censored="drop") == [7.5, 12, 3, 4]
    write(
        path, "SMILES\tKi\n" + "\n".join(f"{s}\t{c}" for s, c in zip(SMILES, ["a", "b", "c", *"1234567"], strict=True))
    )
    with pytest.raises(DataError, match=r"row 1, column 'Ki': 'a' is not a number.* 3 of 10 cells: 'a' \(1\), 'b'"):
        read_assay(path, targets=["Ki"])


def test_salts_and_mixtures(tmp_path: Path) -> None:
    rows = ["CC(=O)[O-].[Na+],1", "CC(=O)O,1", "CCN.Cl,0", "CC[NH3+].[Cl-],0", "CCCCO.CCCCN,1", "c1ccccc1,0"]
    path = write(tmp_path / "assay.csv", "\n".join(["smiles,active", *rows]))
    assay = read_assay(path)
    assert assay.smiles == ("CC(=O)O", "CCN", "CCCCO", "c1ccccc1") or assay.smiles[2] == "CCCCN"
    assert assay.rows[:2] == ((0, 1), (2, 3))  # one acid, one amine
    assert assay.treatment["standardize"] is True
    notes = "\n".join(assay.origin.notes)
    assert "3 had a salt or solvent" in notes and "1 are mixtures" in notes
    raw = read_assay(path, standardize=False)
    assert len(raw) == 6 and raw.smiles[0] == "CC(=O)[O-].[Na+]" and "standardize" not in raw.treatment


def test_duplicates_are_merged_by_a_rule_and_never_straddle_a_split(tmp_path: Path) -> None:
    rows = [f"{text},{i % 2}" for i, text in enumerate(SMILES)]
    path = write(tmp_path / "assay.csv", "\n".join(["smiles,active", *rows, "OCC,0", "NCC,0", "C(C)O,0"]))
    assay = read_assay(path)
    assert len(assay) == 9 and "CCN" not in assay.smiles  # it is active in row 2 and inactive in row 12
    assert assay.rows[0] == (0, 10, 12)
    clash = [(refused.row, refused.column) for refused in assay.origin.refused]
    assert clash == [(1, "active"), (11, "active")]
    assert "both classes were measured of this molecule (rows 2, 12)" in assay.origin.refused[0].reason
    with pytest.raises(DataError, match="2 molecules are in several rows, the first in rows 1, 11, 13"):
        read_assay(path, duplicates="refuse")
    assert len(read_assay(path, duplicates="keep")) == 13
    numbers = write(tmp_path / "n.csv", "smiles,y\nCCO,1\nOCC,2\nC(C)O,9\nCCN,>5\nNCC,>7\nCCC,3.5")
    assert column(numbers) == [2, 7, 3.5]
    marked = "smiles,active,part\n" + "\n".join(
        f"{r},{'train' if i < 9 else 'test'}" for i, r in enumerate([*rows, "OCC,0"])
    )
    given = read_assay(write(tmp_path / "given.csv", marked), split="part", targets=["active"])
    assert given.origin.refused[-1].reason == "the same molecule is in the train part"


def test_classes_coded_1_and_2_and_words(tmp_path: Path) -> None:
    codes = write(
        tmp_path / "codes.csv", "smiles,outcome\n" + "\n".join(f"{s},{1 + i % 2}" for i, s in enumerate(SMILES))
    )
    assay = read_assay(codes)
    assert (assay.kind, assay.targets.ravel().tolist()) == ("classification", [0, 1] * 5)
    assert "1 → 0 (5), 2 → 1 (5)" in "\n".join(assay.origin.notes)
    assert read_assay(codes, kind="regression").targets.ravel().tolist() == [1, 2] * 5
    assert column(codes, positive="1") == [1, 0] * 5
    words = ["Active", "inactive", "ACTIVE", "Inconclusive", "Inactive", *["active"] * 5]
    path = write(tmp_path / "words.csv", "smiles,Outcome\n" + "\n".join(map(",".join, zip(SMILES, words, strict=True))))
    assert column(path) == [1, 0, 1, 0, 1, 1, 1, 1, 1]
    assert "inactive → 0 (2), active → 1 (7)" in noted(path)
    odd = write(
        tmp_path / "odd.csv",
        "smiles,y\n" + "\n".join(f"{s},{'red' if i % 2 else 'blue'}" for i, s in enumerate(SMILES)),
    )
    with pytest.raises(DataError, match=r"two words, 'blue' and 'red': say which is class 1"):
        read_assay(odd, targets=["y"])
    with pytest.raises(InputError, match=r"'y' holds two words, 'blue' and 'red'.*--targets y --set data.positive=red"):
        read_assay(odd)
    assert column(odd, targets=["y"], positive="blue") == [1, 0] * 5


def test_classes_and_numbers_together_are_refused(tmp_path: Path) -> None:
    text = "smiles,active,pIC50\n" + "\n".join(f"{s},{i % 2},{i}.5" for i, s in enumerate(SMILES))
    path = write(tmp_path / "both.csv", text)
    with pytest.raises(InputError, match=r"classes \('active'\) and numbers \('pIC50'\) cannot be learned together"):
        read_assay(path, targets=["active", "pIC50"])
    assert read_assay(path, targets=["active", "pIC50"], kind="regression").targets.shape == (10, 2)


def test_units_are_suggested_converted_on_request_and_never_in_silence(tmp_path: Path) -> None:
    named = write(
        tmp_path / "a.csv", "smiles,IC50 (nM)\n" + "\n".join(f"{s},{10 ** (i % 6)}" for i, s in enumerate(SMILES))
    )
    assert column(named)[:3] == [1, 10, 100] and "--set data.transform=pIC50 learns" in noted(named)
    assert column(named, transform="pIC50")[:3] == [9, 8, 7]
    assert read_assay(named, transform="pIC50").names == ("pIC50(IC50 (nM))",)
    bare = write(
        tmp_path / "b.csv", "smiles,potency\n" + "\n".join(f"{s},{10 ** (i % 6)}" for i, s in enumerate(SMILES))
    )
    with pytest.raises(InputError, match="needs the unit of 'potency'"):
        read_assay(bare, transform="pIC50")
    assert column(bare, transform="pIC50", unit="uM")[:2] == [6, 5]
    # As ChEMBL writes it: value, relation and unit each in a column of its own.
    units = ["nM", "uM", "nM", "ug.mL-1", *["nM"] * 6]
    rows = [f"CHEMBL{i};{s};'{'>' if i == 2 else '='}';{i + 1}.0;{units[i]}" for i, s in enumerate(SMILES)]
    header = "Molecule ChEMBL ID;Smiles;Standard Relation;Standard Value;Standard Units"
    chembl = read_assay(write(tmp_path / "c.csv", "\n".join([header, *rows])))
    assert chembl.names == ("Standard Value",) and chembl.ids[0] == "CHEMBL0"
    assert chembl.targets.ravel().tolist() == [1, 2000, 3, 5, 6, 7, 8, 9, 10]
    assert chembl.bounds is not None and chembl.bounds.ravel().tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert "its unit is 'ug.mL-1', that of most is 'nM'" in [refused.reason for refused in chembl.origin.refused]
    cells = write(
        tmp_path / "d.csv", "smiles,Ki\n" + "\n".join(f"{s},{'0.5 µM' if i else '20 nM'}" for i, s in enumerate(SMILES))
    )
    assert column(cells, transform="pIC50")[:2] == pytest.approx([7.699, 6.301], abs=1e-4)


def test_columns_are_found_by_content_and_reported(tmp_path: Path) -> None:
    rows = [f"{i},{s},{300 + i}.2,{i % 2}" for i, s in enumerate(["CC(=O)Oc1ccccc1", *SMILES[1:]])]
    path = write(tmp_path / "a.csv", "\n".join(["CID,drug,MW,active", *rows]))
    notes = noted(path)
    assert "SMILES are in the column 'drug', by what is in it" in notes
    assert "the target is the column 'active'" in notes
    rows = [f"{text},{i}5,{i % 2}" for i, text in enumerate(SMILES)]
    two = write(tmp_path / "two.csv", "\n".join(["smiles,IC50 [nM],Outcome", *rows]))
    with pytest.raises(InputError, match=r"say which columns are targets .* 'IC50 \[nM\]', 'Outcome'"):
        read_assay(two)
    several = write(
        tmp_path / "b.csv",
        "smiles,Canonical SMILES,mol,y\n" + "\n".join(f"{s},C,x,{i}.5" for i, s in enumerate(SMILES)),
    )
    assert read_assay(several).smiles[0] == "CCO"


def test_every_refused_row_is_in_a_file_and_so_is_the_split(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [f"m{i},{'C' * (i + 1)}O,{i % 2}" for i in range(30)]
    rows[4:4] = ["bad,C1CC,1", "none,,0", "empty,CCCl,", "twin,OC,0"]
    assay = read_assay(write(tmp_path / "assay.csv", "\n".join(["name,smiles,y", *rows])), split="random")
    assert "3 rows left out: 1: not a molecule (first row 5)" in caplog.text
    assay.write_records(tmp_path)
    refused = list(csv.DictReader((tmp_path / "refused.csv").open()))
    assert [(row["row"], row["id"], row["reason"]) for row in refused] == [
        ("5", "bad", "not a molecule"),
        ("6", "none", "there is no structure, or none that can be read"),
        ("7", "empty", "nothing was measured"),
    ]
    split = list(csv.DictReader((tmp_path / "split.csv").open()))
    assert len(split) == 31 and {row["part"] for row in split} == {"train", "val", "test"}
    parts = {row["id"]: row["part"] for row in split}
    assert parts["twin"] == parts["m0"]
    assert sum(row["part"] == "test" for row in split if row["id"] != "twin") == len(assay.split["test"])


def test_seven_molecules_are_refused_and_sixty_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def assay_of(count: int) -> Any:
        rows = [f"{'C' * (i + 1)}O,{i}.5" for i in range(count)]
        return read_assay(write(tmp_path / f"{count}.csv", "\n".join(["smiles,y", *rows])), split="random")

    with pytest.raises(DataError, match="7 molecules are too few: 5 to train on"):
        assay_of(7).check_split()
    assay_of(60).check_split()
    assert "few molecules, 48 in the train part, 6 in the val part, 6 in the test part" in caplog.text


def test_reading_imports_no_torch(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "smiles,y\nCCO,1.5\nCCN,2.5\n")
    code = (
        "import sys; from graphmae.data.molecules import read_measurements; "
        f"print(read_measurements({str(path)!r}).values.ravel().tolist(), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1.5, 2.5] False"
    assert read_measurements(path).names == ("y",)


def test_few_cells_with_a_unit_do_not_speak_for_the_others(tmp_path: Path) -> None:
    """One "12 µM" among numbers in nM made all of them a thousand times larger."""
    rows = [*(f"{text},{40 + 10 * at}" for at, text in enumerate(SMILES[:-1])), f"{SMILES[-1]},12 µM"]
    path = write(tmp_path / "odd.csv", "smiles,IC50\n" + "\n".join(rows))
    with pytest.raises(InputError, match="pIC50 needs the unit of 'IC50'"):
        read_assay(path, transform="pIC50")
    assay = read_assay(path)
    assert len(assay) == len(SMILES) - 1 and "which are left out" in noted(path)
    assert [one.reason for one in assay.origin.refused if one.column] == ["its unit is 'uM', that of most is not given"]
    converted = column(path, transform="pIC50", unit="nM")
    assert converted[-1] == pytest.approx(-np.log10(12e-6), abs=1e-4) and converted[0] == pytest.approx(7.398, abs=1e-3)
    most = write(
        tmp_path / "most.csv",
        "smiles,IC50\n" + "\n".join(f"{s},{i} nM" for i, s in enumerate(SMILES[1:], 1)) + f"\n{SMILES[0]},7",
    )
    assert column(most)[-1] == 7 and "taken to be in nM" in noted(most)


def test_a_bound_that_says_nothing_is_left_out(tmp_path: Path) -> None:
    """ "> 10,000" in a column with decimal commas is 10: trained on, the weakest would be the most potent."""
    exact = [f"{'C' * length}O;{100 * length},5" for length in range(1, 21)]
    path = write(tmp_path / "de.csv", "smiles;IC50 (nM)\n" + "\n".join([*exact, "c1ccccc1;> 10,000", "CCN;>3000,0"]))
    assay = read_assay(path)
    assert [one.reason for one in assay.origin.refused if one.column] == [
        "'> 10,000' is a bound that nearly all exact values are beyond (it is read as 10): it says nothing, or is "
        "written in another way"
    ]  # fmt: skip
    assert assay.targets.ravel().tolist()[-1] == 3000 and assay.bounds.ravel().tolist()[-1] == 1


def test_a_log_scale_is_suggested_though_a_value_is_zero(tmp_path: Path) -> None:
    numbers = [0, *(10**k for k in range(5)), *range(20, 40)]
    texts = [f"{'C' * length}O" for length in range(1, len(numbers) + 1)]
    rows = "\n".join(f"{text},{value}" for text, value in zip(texts, numbers, strict=True))
    path = write(tmp_path / "zero.csv", "smiles,IC50 (nM)\n" + rows)
    assert "1 of 26 are not above 0 and have no logarithm): --set data.transform=pIC50" in noted(path)


def test_measurements_of_a_molecule_that_are_far_apart_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "apart.csv", "smiles,IC50 (nM)\nCCO,59\nOCC,59000\nCCN,20\nNCC,30\nCCC,5\n")
    assert "measurements of 1 molecule are tenfold apart or more, the first in rows 1, 2 (59, 5.9e+04)" in noted(path)
    logs = write(tmp_path / "logs.csv", "smiles,pIC50\nCCO,5.5\nOCC,7.5\nCCN,6.5\nNCC,6.6\nCCC,5\n")
    assert "measurements of 1 molecule are tenfold apart or more, the first in rows 1, 2 (5.5, 7.5)" in noted(logs)


def test_a_smiles_that_a_cell_wrapped_is_one(tmp_path: Path) -> None:
    path = write(tmp_path / "wrapped.csv", 'smiles,y\n"c1ccccc1\nCCO",1.5\nCCO,2.5\n')
    assert read_assay(path).smiles[0] == "OCCc1ccccc1"


def test_a_title_above_a_table_in_excel_is_passed_over(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["BACE-1 FRET assay"], [], ["measured in May"], ["Compound", "Structure (SMILES)", "IC50 (nM)"]]:
        book.active.append(row)
    for number, text in enumerate(SMILES):
        book.active.append([f"CMP-{number}", text, 10 * number + 5])
    book.save(path := tmp_path / "title.xlsx")
    assay = read_assay(path)
    assert assay.names == ("IC50 (nM)",) and len(assay) == len(SMILES) and assay.ids[0] == "CMP-0"
    assert "'BACE-1 FRET assay' was taken for a title" in noted(path) and "called as in 'Compound'" in noted(path)


def test_one_column_of_words_above_another_table_is_no_title(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["SMILES"])
    for text in SMILES:
        book.active.append([text, "1.5"])
    book.save(path := tmp_path / "narrow.xlsx")
    assert read_assay(path, targets=["column 2"]).smiles[0]
