"""What tables hold and features do not: lists are bags, account numbers no features, and what a cap loses is said."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest
import torch

import graphmae as gm
from graphmae.data import from_tables
from graphmae.runtime.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1]))
from commands import graphmae

ROWS = 60
EDGES = pandas.DataFrame({"source": range(ROWS), "target": [(i + 1) % ROWS for i in range(ROWS)]})


def nodes_with(**columns: Any) -> pandas.DataFrame:
    return pandas.DataFrame({"id": range(ROWS), "age": np.random.default_rng(0).normal(size=ROWS), **columns})


def games() -> list[list[int]]:
    rng = np.random.default_rng(0)
    return [rng.choice(9, rng.integers(0, 5), replace=False).tolist() for _ in range(ROWS)]


def column_of(graph: Any, name: str) -> Any:
    return next(column for column in graph.columns if column.name == name)


def warnings_of(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)


def test_lists_of_things_become_a_bag(tmp_path: Path) -> None:
    """`games: [308, 3152]` in JSON lines: "ignored: lists of different lengths", one line of information among ten."""
    nodes, lists = nodes_with(), games()
    lines = [{**row, "games": have} for row, have in zip(nodes.to_dict("records"), lists, strict=True)]
    (tmp_path / "nodes.jsonl").write_text("\n".join(map(json.dumps, lines)))
    EDGES.to_csv(tmp_path / "edges.csv", index=False)
    nodes.assign(games=lists).to_parquet(tmp_path / "nodes.parquet")
    graph = from_tables(tmp_path / "nodes.jsonl", tmp_path / "edges.csv", quiet=True)
    at = [i for i, name in enumerate(graph.feature_names) if name.startswith("games: ")]
    called = [graph.feature_names[i].removeprefix("games: ") for i in at]
    assert column_of(graph, "games").kind == "bag" and sorted(called) == sorted(map(str, range(9)))
    there = graph.graphs[0].x[:, at] > 0
    assert [[int(called[i]) for i in row.nonzero()[:, 0]] for row in there] == [sorted(have) for have in lists]
    words = [["a b", "c"] if i % 3 else ["c"] for i in range(ROWS)]
    for other in (
        from_tables(tmp_path / "nodes.parquet", EDGES, quiet=True),
        from_tables(nodes.assign(games=lists), EDGES, quiet=True),
        from_tables(nodes.assign(games=[[f"{g}" for g in have] for have in lists]), EDGES, quiet=True),
    ):
        assert torch.equal(other.graphs[0].x, graph.graphs[0].x)
    texts = from_tables(nodes.assign(words=words), EDGES, quiet=True)
    assert "words: a b" in texts.feature_names  # a thing is not cut into words
    done = graphmae(
        "pretrain", tmp_path / "nodes.jsonl", tmp_path / "edges.csv", "--epochs", 1, "--out", tmp_path / "r"
    )
    assert done.returncode == 0 and "bag of 9 things" in done.stderr, done.stderr
    again = graphmae(
        "embed", tmp_path / "r", tmp_path / "nodes.parquet", tmp_path / "edges.csv", "-o", tmp_path / "z.csv"
    )
    assert again.returncode == 0, again.stderr


def test_a_bag_in_new_tables_is_treated_as_in_training() -> None:
    """Guards against bags that are learned again, in another order, or compared wrongly with training."""
    lists = games()
    graph = from_tables(nodes_with(games=lists), EDGES, quiet=True)
    stored = json.loads(json.dumps(graph.treatment))
    same = from_tables(nodes_with(games=lists), EDGES, treatment=stored, quiet=True)
    assert torch.equal(same.graphs[0].x, graph.graphs[0].x) and not same.drift
    moved = from_tables(
        nodes_with(games=[[99] * (1 + i % 2) for i in range(ROWS)]), EDGES, treatment=stored, quiet=True
    )
    assert moved.drift and any("games" in line for line in moved.drift.lines())
    with pytest.raises(InputError, match="was bag in training"):
        from_tables(nodes_with(games=range(ROWS)), EDGES, treatment=stored, quiet=True)
    private = from_tables(
        nodes_with(games=[[f"game {g}" for g in have] for have in lists]), EDGES, private=True, quiet=True
    )
    assert "game" not in json.dumps(private.treatment["columns"][-1]["words"])


def test_numbers_of_one_length_stay_a_vector_and_a_bag_can_be_asked_for() -> None:
    """Guards against embeddings, lists of as many numbers in every row, that are taken apart into things."""
    lists = [[i % 3, i % 5] for i in range(ROWS)]
    assert column_of(from_tables(nodes_with(v=lists), EDGES, quiet=True), "v").kind == "vector"
    asked = from_tables(nodes_with(v=lists), EDGES, kinds={"v": "bag"}, quiet=True)
    assert column_of(asked, "v").kind == "bag"
    with pytest.raises(InputError, match="cannot be read as bag"):
        from_tables(nodes_with(), EDGES, kinds={"age": "bag"}, quiet=True)


def test_words_that_are_left_out_are_a_warning_with_the_share(caplog: pytest.LogCaptureFixture) -> None:
    """35 % of page names had no known word and 1,514 of 2,514 games were dropped; the log said "bag of 1,000 words"."""
    rng = np.random.default_rng(0)
    rare = [f"zz{i // 2} qq{i // 2} yy{i // 2}" for i in range(900)]
    usual = [f"word{a} word{b} word{c}" for a, b, c in rng.integers(40, size=(900, 3))]
    ends = {"source": range(1800), "target": [(i + 1) % 1800 for i in range(1800)]}
    from_tables({"id": range(1800), "name": rare + usual}, ends)
    said = warnings_of(caplog)
    assert "bag of 1,000 of 1,390 words" in said and "% of all that its rows have" in said
    caplog.clear()
    strange = [f"only{i} here{i} once{i}" for i in range(30)]
    from_tables(nodes_with(name=strange + [f"word{i % 3} or word{i % 5}" for i in range(30)]), EDGES)
    assert "50% of the rows have none of the words in the bag" in warnings_of(caplog)


def test_categories_that_are_left_out_are_a_warning_with_the_share(caplog: pytest.LogCaptureFixture) -> None:
    """256 categories of 2,733: 90 % of the levels were lost in a line of information."""
    ends = {"source": range(1200), "target": [(i + 1) % 1200 for i in range(1200)]}
    from_tables({"id": range(1200), "city": [f"c{i % 400}" for i in range(1200)]}, ends)
    assert "only 256 of 400 categories are told apart; the others, 36% of the rows" in warnings_of(caplog)


def test_an_account_number_is_no_feature(tmp_path: Path) -> None:
    """`facebook_id` became a number, standardised: noise that says nothing of a page."""
    numbers = np.random.default_rng(0).choice(10**9, ROWS, replace=False)
    nodes = nodes_with(
        facebook_id=numbers, accountId=numbers[::-1], paid=numbers, floor_id=[i % 7 for i in range(ROWS)]
    )
    graph = from_tables(nodes, EDGES, quiet=True)
    assert {column.name for column in graph.columns} == {"age", "paid", "floor_id"}
    said = "\n".join(graph.report.lines())
    assert "called an id, and another number in every row" in said and 'facebook_id = "number"' in said
    asked = from_tables(nodes, EDGES, kinds={"facebook_id": "number"}, quiet=True)
    assert column_of(asked, "facebook_id").kind == "number"
    other = nodes.rename(columns={"id": "new_id", "facebook_id": "id"})
    found = from_tables(other, EDGES, quiet=True)
    assert found.id_name == "new_id" and "id" not in {column.name for column in found.columns}


def test_numbers_of_accounts_are_no_features_and_quantities_are() -> None:
    """`account_number`, another in every row, was a standardised feature, and account_id was not."""
    numbers = np.random.default_rng(0).choice(10**9, ROWS, replace=False)
    accounts = (
        "account_number accountNumber account_no customer_nr user_number student_number ssn iban isbn phone_number"
    )
    amounts = "population views salary year page_number number number_of_users no_of_rooms code_lines"
    nodes = nodes_with(**dict.fromkeys([*accounts.split(), *amounts.split()], numbers))
    graph = from_tables(nodes, EDGES, quiet=True)
    assert {column.name for column in graph.columns} == {"age", *amounts.split()}
    said = "\n".join(graph.report.lines())
    assert said.count("called an id, and another number in every row") == len(accounts.split())
    often = nodes_with(account_number=numbers // 10**8)
    assert column_of(from_tables(often, EDGES, quiet=True), "account_number").kind != "ignore"


@pytest.mark.parametrize("make", [list, tuple])
def test_a_list_of_frames_is_taken_like_a_tuple(make: Any) -> None:
    """`gm.pretrain("auto", [nodes, edges])`: "a list must hold PyG Data alone, not DataFrame"."""
    nodes = nodes_with()
    plain = gm.pretrain("auto", (nodes, EDGES), overrides=["train.epochs=1"], progress=False)
    model = gm.pretrain("auto", make([nodes, EDGES]), overrides=["train.epochs=1"], progress=False)
    z = gm.embed(model, make([nodes, EDGES]))
    assert torch.allclose(z, gm.embed(plain, (nodes, EDGES)))
    rows = gm.NodeEmbedder(make([nodes, EDGES]), epochs=1).fit_transform(nodes["id"].to_numpy())
    assert rows.shape == z.shape
    for other in (pa.Table.from_pandas(nodes), nodes.to_dict("list")):
        assert torch.allclose(gm.embed(model, make([other, EDGES])), z)
    two = make([nodes, EDGES, EDGES.iloc[:9].assign(target=5)])
    assert len(gm.embed(gm.pretrain("auto", two, overrides=["train.epochs=1"], progress=False), two)) == ROWS
