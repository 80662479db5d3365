"""Dates in the forms people use, and whether a column has the day or the month first."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from graphmae.data.tables.dates import DAY, MONTH, decide, seconds


def cells(*values: str) -> pa.ChunkedArray:
    return pa.chunked_array([list(values)])


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2021-03-12", "2021-03-12T00:00:00"),
        ("2021/3/12 04:05", "2021-03-12T04:05:00"),
        ("2021-03-12T04:05:06.789Z", "2021-03-12T04:05:06"),
        ("2021-03-12T04:05:06+02:00", "2021-03-12T02:05:06"),
        ("12/03/2021", "2021-03-12T00:00:00"),
        ("12.3.21", "2021-03-12T00:00:00"),
        ("12-03-1970 12:05 AM", "1970-03-12T00:05:00"),
        ("12 Mar 2021", "2021-03-12T00:00:00"),
        ("12. März 2021", "2021-03-12T00:00:00"),
        ("12-Mar-2021 23:59:59", "2021-03-12T23:59:59"),
        ("March 12th, 2021 4:05 pm", "2021-03-12T16:05:00"),
        ("Fri, 12 Mar 2021 04:05:06 GMT", "2021-03-12T04:05:06"),
        ("29 Feb 2020", "2020-02-29T00:00:00"),
    ],
)
def test_forms(written: str, moment: str) -> None:
    expected = datetime.datetime.fromisoformat(moment).replace(tzinfo=datetime.UTC).timestamp()
    assert seconds(cells(written)).tolist() == [expected]


@pytest.mark.parametrize(
    "word", ["", "31/04/2021", "29 Feb 2021", "2021-13-01", "12 Foo 2021", "1.2.3", "12.03", "0/1/2020"]
)
def test_what_is_not_a_date(word: str) -> None:
    assert np.isnan(seconds(cells(word))).all()


@pytest.mark.parametrize(
    ("written", "order", "is_doubtful"),
    [
        (["03/12/2021", "25/12/2021"], DAY, False),
        (["03/12/2021", "12/25/2021"], MONTH, False),
        (["03.12.2021", "04/05/2021"], DAY, False),
        (["01/02/2020", "02/03/2020"], DAY, True),
        (["02/01/2020", "03/01/2020"], MONTH, True),  # firsts of months
        (["2020-01-02", "5 Mar 2021"], DAY, False),
    ],
)
def test_the_order_is_that_of_the_column(written: list[str], order: str, is_doubtful: bool) -> None:
    found = decide(cells(*written))
    assert (found.notation, bool(found.doubt), found.share) == (order, is_doubtful, 1.0)
