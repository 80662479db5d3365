"""Columns: what kind they are, what they become, and that new data is treated the same."""

from __future__ import annotations

import datetime
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphmae.data.tables.cells import as_text
from graphmae.data.tables.columns import Column, fit_column
from graphmae.runtime.errors import DataError


def column(values: list[Any], kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 5, 7], "number"),
        ([1.5, None, 2.0, 3.0], "number"),
        ([0, 1, 1, 0], "boolean"),
        ([True, False, None, True], "boolean"),
        (["yes", "no", "no", "yes"], "boolean"),
        (["red", "blue", "red", "green"], "category"),
        (["1", "2", "x", *map(str, range(40))], "number"),
        ([f"word{i % 7} of row {i} here" for i in range(60)], "text"),
        ([f"name-{i}" for i in range(60)], "ignore"),
        ([3, 3, 3, 3], "ignore"),
        (["", "NA", None, "nan"], "ignore"),
        ([datetime.date(2020, 1, d) for d in (1, 2, 3, 9)], "number"),
        ([[1.0, 2.0], [0.0, 1.0], [2.0, 2.0], None], "vector"),
    ],
)
def test_kinds_are_inferred(values: list[Any], kind: str) -> None:
    assert fit_column("c", column(values)).kind == kind


def test_numbers_are_standardised_and_missing_ones_said() -> None:
    found = fit_column("c", column([1.0, 3.0, None, float("inf")]))
    block, missing = found.encode(column([1.0, 3.0, None, float("inf")]))
    assert found.width == 2 and missing.tolist() == [False, False, True, True]
    assert block.tolist() == [[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert "1 cell is not a finite number" in found.repaired and "missing" in found.note


def test_amounts_over_orders_of_magnitude_are_on_a_logarithmic_scale() -> None:
    values = column([1, 2, 3, 2, 1, 10_000])
    found = fit_column("c", values)
    assert found.learned["logarithmic"] and found.encode(values)[0].max() < 3


def test_categories_beyond_the_most_frequent_are_one_and_unknown_ones_are_none() -> None:
    many = [f"level {i % 300}" for i in range(2000)]
    found = fit_column("c", column(many), "category")
    block, _ = found.encode(column(["level 0", "level 299", "never seen", None]))
    assert found.width == 257 and block.sum(1).tolist() == [1, 1, 1, 0]
    few = fit_column("c", column(["a", "b", "a"]))
    assert few.encode(column(["b", "new", "a"]))[0].tolist() == [[0, 1], [0, 0], [1, 0]]


def test_a_column_survives_json_and_encodes_alike() -> None:
    texts = [f"graph{i % 3} mining paper{i % 7} number {i} about trees{i % 4}" for i in range(60)]
    for values, kind in ((texts, "text"), ([1, 2, None], None), (["a", "b", "a"], None), ([[1.0, 2], [3, 4]], None)):
        one = fit_column("c", column(values), kind)
        other = Column.from_dict(json.loads(json.dumps(one.to_dict())))
        assert np.array_equal(one.encode(column(values))[0], other.encode(column(values))[0])
        assert one.encode(column(values))[0].shape == (len(values), other.width)


def test_the_same_value_of_another_type_is_the_same_text() -> None:
    assert as_text(column([1, 20])).to_pylist() == ["1", "20"]
    assert as_text(column([1.0, None, 20.0])).to_pylist() == ["1", "", "20"]
    assert as_text(column([" 1", "20 "])).to_pylist() == ["1", "20"]
    assert as_text(column([1.5, 2.0])).to_pylist() == ["1.5", "2"]
    assert as_text(pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()])).to_pylist() == ["a", "b"]


def test_a_kind_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="unknown kind 'numbr'; did you mean 'number'"):
        fit_column("c", column([1, 2]), "numbr")
    with pytest.raises(DataError, match="cannot be read as number"):
        fit_column("c", column(["a", "b"]), "number")
    with pytest.raises(DataError, match="cannot be read as vector"):
        fit_column("c", column([[1.0], [1.0, 2.0]]), "vector")
