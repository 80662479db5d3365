"""Tables with targets, and how their molecules are divided."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from graphmae.data.molecules import given_split, random_split, read_assay, scaffold_groups, scaffold_split
from graphmae.data.molecules.splits import scaffold_of
from graphmae.runtime.errors import DataError, InputError

pytest.importorskip("rdkit", reason="RDKit is not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))


def table(folder: Path, *rows: str, name: str = "assay.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(rows) + "\n")
    return path


def test_classes_missing_cells_and_rows_that_are_no_molecules(tmp_path: Path) -> None:
    path = table(tmp_path, "id,smiles,toxic,active", "a,CCO,1,0", "b,C(C,0,1", "", "c,c1ccccc1,,1", "d,CCN,0,NA")
    assay = read_assay(path, targets=["toxic", "active"])
    assert assay.kind == "classification"
    assert assay.names == ("toxic", "active")
    assert assay.smiles == ("CCO", "c1ccccc1", "CCN")
    assert assay.rows == ((0,), (2,), (3,))
    assert assay.ids == ("a", "c", "d")
    assert [(r.row, r.reason) for r in assay.origin.refused] == [(1, "not a molecule")]
    assert assay.readable == ["CCO", "c1ccccc1", "CCN"]
    assert np.array_equal(assay.targets, [[1, 0], [np.nan, 1], [0, np.nan]], equal_nan=True)
    assay.check_labels()


def test_parquet_semicolons_and_truth_values_are_read_as_everywhere(tmp_path: Path) -> None:
    columns = {"smiles": ["C", "CC", "CCC", "CCO"], "active": [True, False, None, True], "level": [0.5, None, 2.0, 3.0]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "assay.parquet")
    table(tmp_path, "smiles;active;level", "C;true;0.5", "CC;False;#N/A", "CCC;;2", "CCO;1;3", name="assay.csv")
    for name in ("assay.parquet", "assay.csv"):
        classes = read_assay(tmp_path / name, targets=["active"])
        assert classes.kind == "classification"
        assert classes.targets.ravel().tolist() == [1, 0, 1]
        kept = read_assay(tmp_path / name, targets=["active"], unmeasured=True)
        assert np.array_equal(kept.targets.ravel(), [1, 0, np.nan, 1], equal_nan=True)
        numbers = read_assay(tmp_path / name, targets=["level"])
        assert numbers.targets.ravel().tolist() == [0.5, 2, 3]


def test_signs_are_classes_and_other_numbers_are_not(tmp_path: Path) -> None:
    signs = read_assay(table(tmp_path, "smiles,y", "C,-1", "CC,1", name="signs.csv"))
    assert (signs.kind, signs.targets.ravel().tolist()) == ("classification", [0, 1])
    numbers = table(tmp_path, "smiles\ty", "C\t0.5", "CC\t1", name="numbers.tsv")
    assert read_assay(numbers).kind == "regression"
    assert read_assay(table(tmp_path, "smiles,y", "C,0", "CC,1"), kind="regression").kind == "regression"
    with pytest.raises(DataError, match=r"classes must be 0 and 1, not 0\.5"):
        read_assay(numbers, kind="classification")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (["smiles,y"], {}, "no rows"),
        (["smiles,y,y", "C,1,0"], {}, "several columns are called 'y'"),
        (["smiles,y", "C,1", "CC,high"], {"targets": ["y"]}, r"row 2, column 'y': 'high' is not a number"),
        (["smiles,y", "C,inf"], {"targets": ["y"]}, "is not a number"),
        (["smiles,a,b", "C,1,2"], {}, r"say which columns are targets .* 'a', 'b'"),
        (["smiles,a", "C,text"], {}, "no column of numbers"),
        (["smiles,activity", "C,1"], {"targets": ["activty"]}, "did you mean 'activity'"),
        (["smiles,y", "C,1"], {"targets": ["smiles"]}, "holds the SMILES"),
        (["smiles,y", "C,", "CC,"], {"targets": ["y"]}, "no molecule has a value"),
        (["drug,y", "C,1"], {}, "which column holds SMILES"),
        (["smiles,y", "xx,1", "yy,0"], {}, "not one molecule"),
    ],
)
def test_one_message_for_what_is_wrong(
    tmp_path: Path, rows: list[str], options: dict[str, list[str]], message: str
) -> None:
    with pytest.raises((DataError, InputError), match=message):
        read_assay(table(tmp_path, *rows), **options)  # type: ignore[arg-type]


def test_a_target_of_one_class_is_refused_alone_and_named_among_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = read_assay(table(tmp_path, "smiles,y", "C,1", "CC,1"))
    with pytest.raises(DataError, match="'y' has only one class"):
        one.check_labels()
    both = read_assay(table(tmp_path, "smiles,y,z", "C,1,1", "CC,1,0", name="two.csv"), targets=["y", "z"])
    with caplog.at_level("WARNING", "graphmae"):
        both.check_labels()
    assert "1 of 2 targets have only one class: 'y'" in caplog.text


def test_scaffolds_stay_together_and_the_largest_are_trained_on() -> None:
    benzenes = [f"{'C' * n}c1ccccc1" for n in range(16)]
    others = ["C1CCCCC1", "CC1CCCCC1", "c1ccncc1", "CCO"]
    smiles = [*others, *benzenes]
    split = scaffold_split(scaffold_groups(smiles))
    assert sorted(np.concatenate(list(split.values())).tolist()) == list(range(20))
    assert split["train"].tolist() == list(range(4, 20))
    assert split["val"].tolist() == [0, 1]
    assert split["test"].tolist() == [3, 2]  # equal groups: the later one first, as published
    parts = [{scaffold_of(smiles[i]) for i in positions} for positions in split.values()]
    assert not parts[0] & parts[1] and not parts[1] & parts[2]
    assert all(np.array_equal(split[name], scaffold_split(scaffold_groups(smiles))[name]) for name in split)


def test_other_splits() -> None:
    split = random_split(50, seed=1)
    assert [len(split[name]) for name in ("train", "val", "test")] == [40, 5, 5]
    assert np.array_equal(split["test"], random_split(50, seed=1)["test"])
    assert not np.array_equal(split["test"], random_split(50, seed=2)["test"])
    given = given_split(["train", "Test", "valid", "train"])
    assert {name: positions.tolist() for name, positions in given.items()} == {"train": [0, 3], "val": [2], "test": [1]}
    with pytest.raises(InputError, match="not 'tset'"):
        given_split(["train", "tset"])
    with pytest.raises(DataError, match="the val part"):
        given_split(["train", "test"])


def test_a_split_that_leaves_a_part_without_both_classes_is_refused(tmp_path: Path) -> None:
    parts = ["train"] * 16 + ["val"] * 4 + ["test"] * 4
    rows = [f"{'C' * (i + 1)},{i % 2 if part != 'test' else 0},{part}" for i, part in enumerate(parts)]
    numbers = read_assay(table(tmp_path, "smiles,y,part", *rows), targets=["y"], split="part", kind="regression")
    numbers.check_split()  # an error can be computed of any value
    classes = read_assay(table(tmp_path, "smiles,y,part", *rows), targets=["y"], split="part")
    with pytest.raises(DataError, match=r"test part \(4 molecules\) no target has both classes"):
        classes.check_split()
    rows[16:20] = [f"{'C' * i}F,,val" for i in range(1, 5)]
    empty = read_assay(table(tmp_path, "smiles,y,part", *rows), targets=["y"], split="part", kind="regression")
    with pytest.raises(DataError, match="the val part of the split has no molecule"):
        empty.check_split()


def test_files_as_people_have_them(tmp_path: Path) -> None:
    marked = tmp_path / "excel.csv"
    marked.write_bytes("\ufeffsmiles,y\nC,0\nCC,1\n".encode())
    assert read_assay(marked).names == ("y",)
    for name, content, message in (
        ("fake.csv.gz", b"smiles,y\nC,1\n", "is damaged"),
        ("list.smi", b"CCO\n", "unknown column 'y'. Allowed: smiles"),
        ("open.csv", b'smiles,name,y\nC,"a,1\nCC,b,0\n', "cannot be read as a table with 3 columns"),
        ("huge.csv", b"smiles,y\nC,1e300\nCC,2\n", "too large"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises((DataError, InputError), match=message):
            read_assay(tmp_path / name, targets=["y"])
    with pytest.raises(InputError, match="named twice"):
        read_assay(marked, targets=["y", "y"])


def test_a_target_without_a_training_value_is_not_scored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    parts = ["train"] * 8 + ["val"] * 4 + ["test"] * 4
    rows = [f"{'C' * (i + 1)},{i % 2},{'' if part == 'train' else i % 2},{part}" for i, part in enumerate(parts)]
    assay = read_assay(table(tmp_path, "smiles,y,z,part", *rows), targets=["y", "z"], split="part")
    assay.check_split()
    assert "no value to train on for 'z'" in caplog.text
    assert np.isnan(assay.scored[:, 1]).all() and np.array_equal(assay.scored[:, 0], assay.targets[:, 0])
