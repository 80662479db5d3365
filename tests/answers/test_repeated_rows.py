"""Rows of the node table that repeat an id: the choice is the user's, and both values are shown."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

import graphmae as gm
from graphmae.data import from_tables
from graphmae.runtime.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1]))
from commands import graphmae

NODES = pandas.DataFrame({"id": [3754, 1, 2, 3754, 3], "views": [362432, 5, 9, 362431, 7], "age": [1, 2, 3, 1, 5]})
EDGES = pandas.DataFrame({"source": [3754, 1, 2, 3], "target": [1, 2, 3, 3754]})


def test_both_values_are_shown_and_the_option_is_named(tmp_path: Path) -> None:
    """ "1 row repeats an id with other values (first: '3754')": neither the values nor a way out."""
    NODES.to_csv(tmp_path / "n.csv", index=False)
    EDGES.to_csv(tmp_path / "e.csv", index=False)
    command = ["pretrain", tmp_path / "n.csv", tmp_path / "e.csv", "--epochs", 1]
    done = graphmae(*command, "--out", tmp_path / "a")
    assert done.returncode == 2
    for word in ("'3754'", "'views' is '362432' and '362431'", "--duplicates first"):
        assert word in done.stderr, done.stderr
    for keep in ("first", "last"):
        out = tmp_path / keep
        kept = graphmae(*command, "--duplicates", keep, "--out", out)
        assert kept.returncode == 0 and f"the {keep} row of each id counts" in kept.stderr, kept.stderr
        again = graphmae("embed", out, *command[1:3], "--duplicates", keep, "-o", tmp_path / f"{keep}.csv")
        assert again.returncode == 0, again.stderr
        ids = pandas.read_csv(tmp_path / f"{keep}.csv")["id"].tolist()
        assert ids == NODES["id"].drop_duplicates(keep=keep).tolist()  # type: ignore[arg-type]
    wrong = graphmae(*command, "--duplicates", "both", "--out", tmp_path / "b")
    assert wrong.returncode == 2 and "first, last, refuse" in wrong.stderr


def test_the_row_that_counts_is_the_one_asked_for() -> None:
    """Guards against a first that is the last, as rows are sorted by their ids inside."""
    for keep in ("first", "last"):
        plain = from_tables(NODES.drop_duplicates("id", keep=keep), EDGES, quiet=True)
        graph = from_tables(NODES, EDGES, duplicates=keep, quiet=True)
        assert graph.ids.to_pylist() == plain.ids.to_pylist() and (graph.graphs[0].x == plain.graphs[0].x).all()
    with pytest.raises(InputError, match="--duplicates"):
        gm.pretrain("auto", (NODES, EDGES), overrides=["train.epochs=1"])
    model = gm.pretrain("auto", (NODES, EDGES), columns={"duplicates": "last"}, overrides=["train.epochs=1"])
    assert len(gm.embed(model, (NODES, EDGES), columns={"duplicates": "last"})) == 4


@pytest.mark.parametrize("is_constant", [False, True])
def test_a_long_table_as_the_node_table_is_explained(is_constant: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A row per node and feature: "take the first with --duplicates first" would have left nearly all of it out."""
    rng = np.random.default_rng(0)
    long = pandas.DataFrame({"id": np.arange(90) % 4, "feature": np.arange(90) // 4})
    long["value"] = 1 if is_constant else rng.integers(9, size=90)
    edges = EDGES.replace(3754, 0)
    with pytest.raises(InputError, match="may be a long table") as refusal:
        from_tables(long, edges, quiet=True)
    text = str(refusal.value)
    assert "--duplicates" not in text and ("agg(list)" in text) == is_constant
    wide = eval(text.split("with pandas: ")[1], {"table": long})  # the line that is shown is pandas that runs
    assert len(from_tables(wide, edges, quiet=True).ids) == len(wide) == 4
    with caplog.at_level("WARNING", logger="graphmae"):
        from_tables(long, edges, duplicates="first")
    assert "more than half of the table is left out" in caplog.text
    caplog.clear()
    from_tables(NODES, EDGES, duplicates="first")
    assert not caplog.text


def test_one_node_and_one_edge_are_said_in_the_singular(caplog: pytest.LogCaptureFixture) -> None:
    """ "1 features (100% filled)", "1 node … from their features alone", "1 edge of 41 … name nodes that are not …"."""
    nodes = pandas.DataFrame({"id": range(21), "age": range(21)})
    edges = pandas.DataFrame({"source": [*range(19)] * 2, "target": [*range(1, 20)] * 2})
    edges.loc[len(edges)] = [0, 99]
    said = "\n".join(from_tables(nodes, edges, quiet=True).report.lines())
    assert "1 node has no edges: embedded from its features" in said
    assert "1 edge of 39 in the edge table names a node that is not in the node table" in said
    with caplog.at_level("INFO", logger="graphmae"):
        gm.pretrain("auto", (nodes, edges), overrides=["train.epochs=1"], progress=False)
    assert ", 1 feature (" in caplog.text
