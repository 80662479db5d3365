"""What moved between tables is reported, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas
import pytest

from graphmae.data import from_tables
from graphmae.data.tables import Drift
from graphmae.runtime.errors import DataError

WORDS = np.array([f"word{i}" for i in range(120)])


def products(count: int, seed: int) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Rows and edges of one distribution: skewed numbers, rare levels and words, empty cells, a few hubs."""
    generator = np.random.default_rng(seed)
    often = 1 / np.arange(1, 121)
    texts = [" ".join(generator.choice(WORDS, 6, p=often / often.sum())) for _ in range(count)]
    frame = pandas.DataFrame({
        "sku": [f"s{i}" for i in range(count)],
        "price": generator.lognormal(3.4, 0.4, count).round(2),
        "views": generator.zipf(1.7, count).clip(1, 10**7),
        "stars": np.where(generator.random(count) < 0.2, np.nan, generator.integers(1, 6, count)),
        "brand": generator.choice([f"b{i}" for i in range(30)], count, p=often[:30] / often[:30].sum()),
        "open": generator.choice(["yes", "no"], count, p=[0.3, 0.7]),
        "title": texts,
        "seen": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(generator.integers(0, 700, count), "D"),
        "vector": list(generator.normal(size=(count, 4))),
    })  # fmt: skip
    ends = generator.integers(0, count, (3 * count, 2))
    ends[:count, 1] = generator.zipf(1.5, count) % count
    return frame, pandas.DataFrame({"a": frame["sku"].to_numpy()[ends[:, 0]], "b": frame["sku"].to_numpy()[ends[:, 1]]})


def made(frame: pandas.DataFrame, edges: pandas.DataFrame, **options: Any) -> Any:
    return from_tables(frame, edges, id="sku", source="a", target="b", quiet=True, **options)


@pytest.fixture(scope="module")
def treatment() -> dict[str, Any]:
    """Of the tables of training, as a checkpoint holds it."""
    return json.loads(json.dumps(made(*products(600, 0)).treatment))


def moved(treatment: dict[str, Any], frame: pandas.DataFrame, edges: pandas.DataFrame) -> Drift:
    return made(frame, edges, treatment=treatment).drift


def test_the_same_tables_and_random_halves_have_not_moved(treatment: dict[str, Any]) -> None:
    frame, edges = products(600, 0)
    assert not moved(treatment, frame, edges) and not moved(treatment, frame[::-1], edges[::-1])
    for seed in range(12):
        half = frame.sample(frac=0.5, random_state=seed)
        inside = edges[edges["a"].isin(half["sku"]) & edges["b"].isin(half["sku"])]
        assert not moved(treatment, half, inside).lines()
        assert not moved(treatment, frame, edges.sample(frac=0.5, random_state=seed)).lines()


def test_other_draws_of_the_same_have_not_moved(treatment: dict[str, Any]) -> None:
    for seed in range(1, 9):
        assert not moved(treatment, *products(900, seed)).lines()


@pytest.mark.parametrize(
    ("column", "change", "sentence"),
    [
        ("price", lambda c: c * 1000, "price: median 29,500 where training had 22.7 to 39.6 (its middle half)"),
        ("price", lambda c: c * 1000, "100% of the rows are outside its range"),
        ("price", lambda c: c * 1e8, "price: median 2,950,"),
        ("views", lambda c: c * 30, "views: median "),
        ("stars", lambda c: c.where(np.arange(len(c)) % 2 == 0), "60% of the cells are empty where training had 2"),
        ("brand", lambda c: c.where(np.arange(len(c)) % 5 < 2, "new"), "('new' 60%)"),
        ("brand", lambda c: c.where(np.arange(len(c)) % 5 < 2, "b25"), "brand: 'b25' in 6"),
        ("open", lambda c: "yes", "open: true in 100% of the rows where training had 3"),
        ("title", lambda c: "nothing known here", "100% of the rows have none"),
        ("title", lambda c: c.str.replace("word1", "mot"), "of a row's words are known"),
        ("title", lambda c: c + " word77", "title: 'word77' in 100% of the rows"),
        ("seen", lambda c: c + pandas.Timedelta(days=900), "where training had 2020-"),
        ("vector", lambda c: c.map(lambda v: v + 1), "vector: vectors of length"),
    ],
)  # fmt: skip
def test_what_moved_is_reported_and_nothing_beside_it(
    treatment: dict[str, Any], column: str, change: Any, sentence: str
) -> None:
    frame, edges = products(600, 3)
    found = moved(treatment, frame.assign(**{column: change(frame[column])}), edges)
    assert {row.column for row in found} == {column}
    assert any(sentence in line for line in found.lines()), found.lines()
    assert all(0.1 <= row.score <= 1 for row in found.rows) and str(found) == "\n".join(found.lines())


def test_ten_times_as_many_neighbours_and_far_fewer(treatment: dict[str, Any]) -> None:
    frame, edges = products(600, 3)
    more = pandas.concat([products(600, seed)[1] for seed in range(3, 13)])
    (row,) = moved(treatment, frame, more).rows
    assert row.measure == "neighbours" and row.now > 8 * row.before and "neighbours per node" in row.sentence
    (fewer,) = moved(treatment, frame, edges.sample(30, random_state=0)).rows
    assert "of the nodes have none" in fewer.sentence


def test_three_rows_are_enough_where_they_are_like_no_other(treatment: dict[str, Any]) -> None:
    frame, _ = products(600, 3)
    few = frame.head(3).assign(price=[9e4, 8e4, 7e4], brand="new")
    edges = pandas.DataFrame({"a": ["s0", "s1", "s2"], "b": ["s1", "s2", "s0"]})
    assert {row.column for row in moved(treatment, few, edges)} == {"price", "brand"}
    assert not moved(treatment, frame.head(3), edges)


def test_kinds_of_edges() -> None:
    frame, edges = products(600, 0)
    kinds = edges.assign(type=np.where(np.arange(len(edges)) % 4, "likes", "knows"))
    first = made(frame, kinds)
    assert not moved(first.treatment, frame, kinds)
    found = moved(first.treatment, frame, edges.assign(type=np.where(np.arange(len(edges)) % 4, "knows", "likes")))
    assert any("'knows' is the kind of 7" in line for line in found.lines())


def test_the_largest_move_comes_first_and_strict_refuses(treatment: dict[str, Any], caplog: Any) -> None:
    frame, edges = products(600, 3)
    changed = frame.assign(price=frame["price"] * 1000, open="yes")
    found = moved(treatment, changed, edges)
    assert [row.column for row in found] == ["price", "open"] and found.to_dict()["moved"][0]["measure"] == "median"
    with pytest.raises(DataError, match="not like those of training:\n  - price: median"):
        made(changed, edges, treatment=treatment, strict=True)
    assert made(frame, edges, treatment=treatment, strict=True).drift is not None
    old = {key: value for key, value in treatment.items() if key != "statistics"}
    assert made(changed, edges, treatment=old).drift is None
    with pytest.raises(DataError, match="pre-train it again"):
        made(frame, edges, treatment=old, strict=True)
    from_tables(changed, edges, treatment=treatment)  # not quiet: a warning each
    assert [record.levelname for record in caplog.records if record.message.startswith("drift: ")] == ["WARNING"] * 2


def test_statistics_are_small_and_hold_no_values_of_levels_or_words(treatment: dict[str, Any]) -> None:
    text = json.dumps(treatment["statistics"])
    assert len(text) < 4000 and "b25" not in text and "word" not in text
