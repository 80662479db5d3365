"""Numbers in the notations people use, and which one a column is written in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from graphmae.data.tables.notation import COMMA, POINT, decide, numbers


def cells(*values: str) -> pa.ChunkedArray:
    return pa.chunked_array([list(values)])


@pytest.mark.parametrize(
    ("written", "notation", "meant"),
    [
        (["1.234,56", "7"], COMMA, [1234.56, 7]),
        (["1,234.56", "7"], POINT, [1234.56, 7]),
        (["1.234.567", "8"], COMMA, [1234567, 8]),
        (["0,123", "1,234"], COMMA, [0.123, 1.234]),
        (["0.123", "1,234"], POINT, [0.123, 1234]),
        (["1 234,5", "12\u202f000"], COMMA, [1234.5, 12000]),
        (["1'234.50", "CHF 5.–"], POINT, [1234.5, 5]),
        (["12,34,567.5", "1"], POINT, [1234567.5, 1]),
        (["(3.50)", "−4", "5-", "-$6"], POINT, [-3.5, -4, -5, -6]),
        (["1e5", ".5", "2.", "+3"], POINT, [1e5, 0.5, 2, 3]),
        (["1,5E+03", "2"], COMMA, [1500, 2]),
        (["5 %", "12,5%"], COMMA, [0.05, 0.125]),
        (["R$ 1.000,00", "EUR 2", "3 zł"], COMMA, [1000, 2, 3]),
    ],
)
def test_a_column_is_read_in_the_notation_it_has(written: list[str], notation: str, meant: list[float]) -> None:
    found = decide(cells(*written))
    assert (found.notation, found.share, found.doubt, found.clash) == (notation, 1.0, "", ())
    assert np.allclose(numbers(cells(*written), notation), meant)
    # Cells that are clear are read right whatever the notation was in training.
    other = COMMA if notation == POINT else POINT
    if found.clear:
        assert np.allclose(numbers(cells(*written), other), meant)


def test_what_no_cell_decides_is_doubtful_and_what_two_contradict_a_clash() -> None:
    assert decide(cells("1,234", "5")).doubt == "1,234" and decide(cells("1.234", "5")).doubt == "1.234"
    assert numbers(cells("1,234", "5"), COMMA).tolist() == [1.234, 5]
    assert numbers(cells("1,234", "5"), POINT).tolist() == [1234, 5]
    assert decide(cells("1,5", "1.5")).clash == ("1.5", "1,5")


@pytest.mark.parametrize(
    "word", ["", "red", "1,2,3", "192.168.0.1", "12.03.2021", "1,23.4", "$", "5 kg", "1_000", "v1.2"]
)
def test_what_is_not_a_number(word: str) -> None:
    assert np.isnan(numbers(cells(word))).all() and not decide(cells(word)).notation
