"""Cells that are not what they look like are read right, or told: codes for missing, absurd numbers, doubtful dates."""

from __future__ import annotations

import csv
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from commands import graphmae
from graphmae.runtime.errors import DataError

SMALL = ("encoder.hidden_channels=8", "encoder.heads=1", "embedding.views=[]")
QUICK = [word for text in SMALL for word in ("--set", text)]
ROWS = 300


@pytest.fixture(scope="module")
def friends() -> pandas.DataFrame:
    ends = np.random.default_rng(0).integers(0, ROWS, (3 * ROWS, 2))
    return pandas.DataFrame({"source": [f"n{i}" for i in ends[:, 0]], "target": [f"n{i}" for i in ends[:, 1]]})


def people(**columns: Any) -> pandas.DataFrame:
    return pandas.DataFrame({"id": [f"n{i}" for i in range(ROWS)], **columns})


def feature(graph: Any, name: str) -> np.ndarray:
    return graph.graphs[0].x[:, graph.feature_names.index(name)].numpy()


def told(graph: Any, column: str) -> str:
    """What the report says of a column."""
    lines = [line for line in graph.report.lines() if column in line]
    return "\n".join(lines)


def ages(code: float | None = None, every: int = 7, empty: int = 8) -> np.ndarray:
    values = np.random.default_rng(1).integers(1, 65, ROWS).astype(float)
    if code is not None:
        values[::every] = code
    values[1 : 1 + empty] = np.nan
    return values


@pytest.mark.parametrize("code", [-1e30, -9999, -999, -99, -9, 999, 9999, 99999])
def test_a_code_for_missing_is_not_a_number(code: float, friends: pandas.DataFrame) -> None:
    """-999 among ages counted as an age: the real ages were all at 0.54 to 0.58, and the mean was -113."""
    values = ages(code) if code != -9 else np.where(np.arange(ROWS) % 7, np.arange(ROWS) % 5 + 1.0, -9)
    values[3] = np.nan
    real = np.isfinite(values) & (values != code)
    graph = gm.data.from_tables(people(age=values), friends, quiet=True)
    plain = (values - values[real].mean()) / values[real].std()
    assert np.allclose(feature(graph, "age")[real], plain[real], atol=1e-5)
    assert np.array_equal(feature(graph, "age is missing"), ~real) and (feature(graph, "age")[~real] == 0).all()
    text = told(graph, "'age'")
    assert f"{int((values == code).sum())} cells are {code:g}" in text and "counted as missing" in text
    assert 'data.kinds = { age = "number" } keeps them' in text
    kept = gm.data.from_tables(people(age=values), friends, kinds={"age": "number"}, quiet=True)
    assert np.array_equal(feature(kept, "age is missing"), np.isnan(values))
    assert (np.abs(feature(kept, "age")[values == code]) > 1).all()


@pytest.mark.parametrize(
    "values",
    [
        np.arange(ROWS) % 3 - 1.0,  # -1, 0, 1
        np.arange(ROWS) % 100.0,  # up to 99
        np.arange(ROWS) * 10.0 - 999,  # through -999
        np.r_[np.full(5, 999.0), np.arange(ROWS - 5) * 5.0],  # prices
        np.random.default_rng(0).zipf(1.6, ROWS).astype(float),  # heavy tails
        np.random.default_rng(0).standard_cauchy(ROWS),
        np.where(np.arange(ROWS) % 9, -3.5, 99.0),  # two levels
        np.arange(ROWS) % 31 - 9.0,  # degrees of a winter
    ],
)
def test_ordinary_numbers_stay_numbers(values: np.ndarray, friends: pandas.DataFrame) -> None:
    """A guard that takes the -1 of (-1, 0, 1) for missing would be the next silent wrong answer."""
    graph = gm.data.from_tables(people(a=values), friends, quiet=True)
    assert graph.feature_names == ["a"] and "missing" not in told(graph, "a")
    assert len(np.unique(feature(graph, "a"))) == len(np.unique(values))


@pytest.mark.parametrize("seed", range(20))
def test_planted_codes_are_found_and_planted_decoys_are_not(seed: int, friends: pandas.DataFrame) -> None:
    """Random columns with and without a code: what is not a code keeps its value, what is one never shifts the mean."""
    draw = np.random.default_rng(seed)
    low, width = float(draw.choice([0, 1, 18, 1950])), float(draw.choice([6, 40, 80]))
    values = np.round(low + width * draw.random(ROWS), int(draw.integers(0, 3)))
    plain = gm.data.from_tables(people(a=values), friends, quiet=True)
    assert plain.feature_names == ["a"]
    code = float(draw.choice([-999, -9999, 99999, 999999]))
    planted = np.where(draw.random(ROWS) < draw.uniform(0.02, 0.4), code, values)
    found = gm.data.from_tables(people(a=planted), friends, quiet=True)
    real = planted != code
    scaled = (values - values[real].mean()) / values[real].std()
    assert np.allclose(feature(found, "a")[real], scaled[real], atol=1e-5)


def test_impute_fills_codes_for_missing_and_never_averages_them(tmp_path: Path, friends: pandas.DataFrame) -> None:
    """`impute` filled ages with -113.1, the mean of ages and -999."""
    frame = people(age=ages(-999), size=np.random.default_rng(2).normal(size=ROWS).round(3))
    frame.to_csv(tmp_path / "n.csv", index=False)
    friends.to_csv(tmp_path / "e.csv", index=False)
    files = (tmp_path / "n.csv", tmp_path / "e.csv")
    done = graphmae("pretrain", *files, "--out", tmp_path / "m", "--epochs", 1, *QUICK)
    assert "42 cells are -999" in done.stderr, done.stderr
    done = graphmae("impute", tmp_path / "m", *files, "-o", tmp_path / "filled.csv")
    assert done.returncode == 0 and "-999 counts as missing, as in training" in done.stderr, done.stderr
    with (tmp_path / "filled.csv").open() as file:
        filled = [float(row["age"]) for row in csv.DictReader(file)]
    before = frame["age"].to_numpy()
    was_there = np.isfinite(before) & (before != -999)
    assert np.array_equal(np.array(filled)[was_there], before[was_there])
    assert min(filled) >= 1 and max(filled) <= 64


@pytest.mark.parametrize("absurd", [1e30, -1e30, 1e308, -1e308])
def test_one_absurd_cell_is_named_and_the_others_keep_their_resolution(absurd: float, friends: Any) -> None:
    """One cell of 1e30 made -0.13 of every other cell: the column was lost without a word."""
    values = np.random.default_rng(0).normal(size=ROWS)
    values[17] = absurd
    graph = gm.data.from_tables(people(a=values), friends, quiet=True)
    others = np.arange(ROWS) != 17
    assert abs(feature(graph, "a")[others].std() - 1) < 0.01
    assert f"1 cell is {absurd:g}" in told(graph, "'a'") and "counted as missing" in told(graph, "'a'")


def test_a_misspelt_split_is_refused(tmp_path: Path, friends: pandas.DataFrame) -> None:
    """A quarter of the rows said "tset": they were left out of the test without a word."""
    words = ["train", "val", "test", "tset"]
    topic = np.random.default_rng(0).choice(["a", "b"], ROWS)
    frame = people(size=np.arange(ROWS), topic=topic, split=[words[i % 4] for i in range(ROWS)])
    frame.to_csv(tmp_path / "n.csv", index=False)
    friends.to_csv(tmp_path / "e.csv", index=False)
    files = (tmp_path / "n.csv", tmp_path / "e.csv")
    done = graphmae("pretrain", *files, "--out", tmp_path / "m", "--epochs", 1, *QUICK, "--label", "topic",
                    "--set", 'data.kinds={split="ignore"}')  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = graphmae("evaluate", tmp_path / "m", *files, "--split", "split")
    assert done.returncode == 2 and "75 rows say 'tset'" in done.stderr and "did you mean 'test'?" in done.stderr
    empty = frame.assign(split=frame["split"].replace("tset", ""))
    graph = gm.data.from_tables(empty, friends, label="topic", split="split", quiet=True)
    assert [int(graph.graphs[0][f"{part}_mask"].sum()) for part in ("train", "val", "test")] == [75, 75, 75]


def test_two_digit_years_say_which_century_they_are_of(friends: pandas.DataFrame) -> None:
    """1960 to 1968 became 2060 to 2068, printed as "dates, standardised"."""
    graph = gm.data.from_tables(people(born=[f"01/12/{60 + i % 20}" for i in range(ROWS)]), friends, quiet=True)
    text = told(graph, "'born'")
    assert "300 years have two digits" in text and "'01/12/68' is read as 2068" in text and "is read as 1979" in text
    four = gm.data.from_tables(people(born=[f"01/12/{1960 + i % 20}" for i in range(ROWS)]), friends, quiet=True)
    assert "digits" not in told(four, "'born'")


def test_days_written_as_one_number_are_told(friends: pandas.DataFrame) -> None:
    """20200131 was a plain number: a month's end is then 70 days from the next day."""
    days = pandas.date_range("2020-01-01", periods=ROWS).strftime("%Y%m%d").astype(int)
    graph = gm.data.from_tables(people(day=days, size=np.arange(ROWS) * 7 + 19_990_000), friends, quiet=True)
    assert "numbers such as 20200101 look like days" in told(graph, "'day'") and told(graph, "'size'") == ""


def test_times_with_and_without_a_zone_are_told(friends: pandas.DataFrame) -> None:
    """Naive times among zoned ones were taken as UTC without a word."""
    times = [f"2024-05-{1 + i % 28:02d} 10:00" for i in range(ROWS)]
    mixed = [time + ("+02:00" if i % 3 else "") for i, time in enumerate(times)]
    zoned = [time + ("+02:00" if i % 3 else "Z") for i, time in enumerate(times)]
    graph = gm.data.from_tables(people(mixed=mixed, zoned=zoned, naive=times), friends, quiet=True)
    assert "100 times have no zone" in told(graph, "'mixed'") and "is read as UTC" in told(graph, "'mixed'")
    assert "zone" not in told(graph, "'zoned'") + told(graph, "'naive'")


KEYS = {
    "nanoseconds": 1_700_000_000_000_000_000 + np.arange(ROWS),
    "unsigned": np.uint64(2**63) + np.arange(ROWS, dtype=np.uint64),
    "largest": 2**63 - 1 - np.arange(ROWS),
}


@pytest.mark.parametrize("kind", KEYS)
def test_large_whole_numbers_that_are_close_together_are_told(kind: str, friends: pandas.DataFrame) -> None:
    """Keys near 2^60 were all 0, and the log said "standardised"."""
    graph = gm.data.from_tables(people(moment=KEYS[kind], size=np.arange(ROWS)), friends, quiet=True)
    assert graph.feature_names == ["size"]
    assert "ignored: numbers" in told(graph, "  moment ") and "tell apart" in told(graph, "  moment ")
    apart = KEYS[kind] // 10**14 * 10**14 - np.arange(ROWS, dtype=KEYS[kind].dtype) * 10**14
    found = gm.data.from_tables(people(moment=apart), friends, quiet=True)
    assert np.allclose(np.diff(feature(found, "moment")), -np.sqrt(12) / ROWS, rtol=0.01)


def test_tiny_numbers_are_standardised(friends: pandas.DataFrame) -> None:
    """1e-300 · i was -0 in every row: the squares of the deviation are 0."""
    graph = gm.data.from_tables(people(a=1e-300 * np.arange(ROWS)), friends, quiet=True)
    plain = np.arange(ROWS)
    assert np.allclose(feature(graph, "a"), (plain - plain.mean()) / plain.std(), atol=1e-5)


def test_numbers_with_units_are_told(friends: pandas.DataFrame) -> None:
    """`5 kg` and `5000 g` were a "bag of 1 words"."""
    weights = [f"{i} kg" if i % 2 else f"{1000 * i} g" for i in range(ROWS)]
    levels = [f"{i % 3 + 1}{('st', 'nd', 'rd')[i % 3]}" for i in range(ROWS)]
    graph = gm.data.from_tables(people(weight=weights, place=levels), friends, quiet=True)
    assert "numbers with units (g, kg) are not read: write them in one unit" in told(graph, "'weight'")
    assert told(graph, "'place'") == ""


def test_features_too_small_to_compute_with_are_refused_with_the_reason() -> None:
    """Features of 1e-42: "column 0 of the features reaches nan". It reaches 1e-40."""
    torch.manual_seed(0)
    graph = Data(x=torch.rand(50, 3) * torch.tensor([1.0, 1e-40, 1.0]), edge_index=torch.randint(0, 50, (2, 200)))
    with pytest.raises(DataError, match=r"column 1 of the features holds nothing larger than 9\.\d+e-41"):
        gm.pretrain("auto", graph, epochs=1, progress=False)


def test_the_log_of_a_training_has_these_notes(caplog: pytest.LogCaptureFixture, friends: pandas.DataFrame) -> None:
    """A note that only an object holds is not a note."""
    with caplog.at_level(logging.INFO):
        gm.data.from_tables(people(age=ages(-999)), friends)
    assert any("42 cells are -999" in record.getMessage() for record in caplog.records)


def test_a_code_that_is_new_is_asked_about(caplog: pytest.LogCaptureFixture, friends: pandas.DataFrame) -> None:
    """Tonight's table has -999 where the table of training had ages: they were ages 56 deviations away."""
    first = gm.data.from_tables(people(age=ages()), friends, quiet=True)
    gm.data.from_tables(people(age=ages(-999, every=50)), friends, treatment=first.treatment)
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert any("'age': 6 cells are -999" in text and "Does that mean missing?" in text for text in said), said
