from __future__ import annotations

from typing import Literal

import pytest

from graphmae.runtime.values import mismatch, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1e-3", 1e-3), ("true", True), ("gat", "gat"), ('"gat"', "gat"), ("[1, 2]", [1, 2]), ("", "")],
)
def test_parse_value(text: str, value: object) -> None:
    assert parse_value(text) == value


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1, int),
        (1, float),
        ("a", str),
        (None, int | None),
        (2, int | None),
        ([1], tuple[int, ...]),
        ("a", Literal["a"]),
    ],
)
def test_fitting_values(value: object, hint: object) -> None:
    assert mismatch(value, hint) is None


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1.5, int),
        (True, int),
        (True, float),
        ("1", float),
        ("b", Literal["a"]),
        (["x"], tuple[int, ...]),
        (float("nan"), float),
    ],
)
def test_values_that_do_not_fit(value: object, hint: object) -> None:
    assert mismatch(value, hint)
