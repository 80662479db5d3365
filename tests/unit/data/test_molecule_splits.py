"""Splits by time, by group and by scaffolds drawn at random; molecules written in one way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphmae.data.molecules import read_assay
from graphmae.data.molecules.splits import balanced_split, given_split, part_of, time_split
from graphmae.data.molecules.standardize import is_plain, standardize, standardized
from graphmae.runtime.errors import DataError, InputError

pytest.importorskip("rdkit", reason="RDKit is not installed")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), count=st.integers(40, 200), kinds=st.integers(12, 60))
@example(seed=349, count=40, kinds=12)  # twelve groups, none small: all fitted into two parts
def test_balanced_splits_keep_groups_together_and_have_the_sizes_asked_for(seed: int, count: int, kinds: int) -> None:
    groups = np.random.default_rng(seed).integers(0, kinds, count)
    split = balanced_split(groups, seed)
    assert sorted(np.concatenate(list(split.values())).tolist()) == list(range(count))
    of = [set(groups[positions].tolist()) for positions in split.values()]
    assert not of[0] & of[1] and not of[1] & of[2] and not of[0] & of[2]
    assert all(np.array_equal(split[part], balanced_split(groups, seed)[part]) for part in split)
    largest = np.bincount(groups).max()
    assert abs(len(split["train"]) - 0.8 * count) <= 2 * largest + 1


def test_different_seeds_give_different_splits() -> None:
    groups = np.arange(100) // 2
    tests = {tuple(balanced_split(groups, seed)["test"].tolist()) for seed in range(5)}
    assert len(tests) == 5
    with pytest.raises(DataError, match="90 of 91 molecules share one scaffold"):
        balanced_split([0] * 90 + [1], 0)


def test_the_oldest_are_trained_on_and_a_moment_stays_together() -> None:
    years = np.array([2020, 2018, 2019, 2018, 2021, 2018, 2018, 2018, 2018, 2018, 2020])
    split = time_split(years)
    assert (
        years[split["train"]].max()
        < years[split["val"]].min()
        <= years[split["val"]].max()
        < years[split["test"]].min()
    )
    assert sorted(np.concatenate(list(split.values())).tolist()) == list(range(11))
    with pytest.raises(DataError, match="three different times"):
        time_split([1, 2, 2, 1])


def test_words_for_parts() -> None:
    words = ("Train", "training set", "VALID", "dev", "Test_Set", "hold-out", "fold 3")
    assert [part_of(word) for word in words] == ["train", "train", "val", "val", "test", "test", ""]
    with pytest.raises(InputError, match="take time:COLUMN, for series group:COLUMN"):
        given_split(["2019", "2020"])


def test_splits_by_columns_of_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    rows = [f"{'C' * (i + 1)}O,{i}.5,{1 + i % 28:02d}.{1 + i // 28:02d}.2020,s{i // 4}" for i in range(40)]
    rows.append("CCl,1.5,,s0")
    path = tmp_path / "assay.csv"
    path.write_text("\n".join(["smiles,y,measured on,series", *rows]))
    by_time = read_assay(path, targets=["y"], split="time:measured on")
    assert by_time.split["train"].tolist() == list(range(32)) and by_time.split["test"].tolist() == list(range(36, 40))
    assert [refused.reason for refused in by_time.origin.refused] == [
        "'' in 'measured on' is neither a date nor a number"
    ]
    by_series = read_assay(path, targets=["y"], split="group:series")
    series = np.array([row.split(",")[3] for row in rows])
    parts = [set(series[positions].tolist()) for positions in by_series.split.values()]
    assert not parts[0] & parts[1] and not parts[1] & parts[2] and not parts[0] & parts[2]
    assert not [note for note in by_time.origin.notes if "two ways" in note]  # points: the day comes first
    path.write_text(path.read_text().replace(".2020", "/2020").replace(".0", "/0"))
    assert not [n for n in read_assay(path, targets=["y"], split="time:measured on").origin.notes if "two ways" in n]
    early = [f"{'C' * (i + 1)}O,{i}.5,{1 + i % 12:02d}/{1 + i // 12:02d}/2020" for i in range(40)]
    path.write_text("\n".join(["smiles,y,measured on", *early]))
    (note,) = (n for n in read_assay(path, targets=["y"], split="time:measured on").origin.notes if "two ways" in n)
    assert note.startswith(
        "'02/01/2020' in 'measured on' can be read in two ways, and no other date tells: read day-fi"
    )
    path.write_text("\n".join(["smiles,y,measured on,series", *rows]))
    with pytest.raises(InputError, match="neither dates nor numbers"):
        read_assay(path, targets=["y"], split="time:series")
    with pytest.raises(InputError, match="unknown split 'sereis'; did you mean 'series'"):
        read_assay(path, targets=["y"], split="sereis")


PLAIN = [
    "CCO",
    "c1ccc(-c2ccccc2)cc1",
    "c1cc[nH]c1",
    "CS(=O)(=O)Nc1ccccc1",
    "FC(F)(F)c1ccccc1Br",
    "N#Cc1ccncc1",
    "[13CH3]O",
]
MARKED = ["CC.O", "C[N+](C)(C)C", "C[C@H](N)O", "F/C=C/F", "[Na]OC", "CS(C)=O", "O=S(C)C", "CS(=O)C", "CC(=O)[O-]"]


def test_what_needs_no_standardising_is_what_rdkit_leaves_as_it_is() -> None:
    from rdkit import Chem
    from rdkit.Chem.MolStandardize import rdMolStandardize

    assert all(map(is_plain, PLAIN)) and not any(map(is_plain, MARKED))
    for text in PLAIN:
        made = Chem.MolFromSmiles(text)
        whole = rdMolStandardize.ChargeParent(made)
        assert Chem.MolToSmiles(whole) == Chem.MolToSmiles(made)
        assert standardized(text) == text and standardize(text).smiles == Chem.MolToSmiles(made)


def test_a_molecule_is_written_in_one_way() -> None:
    alike = [
        ["CC(=O)O", "CC(=O)[O-].[Na+]", "CC(=O)O[Na]", "OC(C)=O.O"],
        ["NCC(=O)O", "[NH3+]CC(=O)[O-]", "NCC(=O)O.Cl"],
        ["C[C@H](N)C(=O)O", "N[C@@H](C)C(=O)O", "C[C@H]([NH3+])C([O-])=O"],
    ]
    assert all(len({standardize(text).smiles for text in texts}) == 1 for texts in alike)
    assert standardize("C[C@H](N)C(=O)O").smiles != standardize("C[C@@H](N)C(=O)O").smiles  # stereo is kept
    assert standardize("CCCCO.CCCCN").removed == "mixture" and standardize("CCN.Cl").removed == "salt"
    assert [standardize(text).smiles for text in ("", "C(C", "not one", "C" * 20_000)] == [None] * 4
