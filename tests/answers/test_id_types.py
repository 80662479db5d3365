"""Ids come back in the type the user has them in, so that outputs merge with the tables they were made from."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas
import pytest

import graphmae as gm
from graphmae.data import from_edges, from_networkx, from_tables

sys.path.insert(0, str(Path(__file__).parents[1]))
from commands import graphmae

ROWS = 40


def tables(ids: list[Any]) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    rng = np.random.default_rng(0)
    nodes = pandas.DataFrame({"id": ids, "age": rng.normal(size=ROWS), "size": rng.normal(size=ROWS)})
    nodes.loc[:3, "age"] = None
    ends = np.asarray(ids, dtype=object)[rng.integers(ROWS, size=(120, 2))]
    return nodes, pandas.DataFrame(ends, columns=["source", "target"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of tables in CSV files with whole numbers as ids."""
    folder = tmp_path_factory.mktemp("ids")
    nodes, edges = tables(np.random.default_rng(1).permutation(1000)[:ROWS].tolist())
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    done = graphmae("pretrain", folder / "nodes.csv", folder / "edges.csv", "--epochs", 2, "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    return folder


def test_embeddings_merge_with_the_table_they_are_of(folder: Path) -> None:
    """`nodes.merge(read_parquet("z.parquet"), on="id")`: "you are trying to merge on int64 and str columns"."""
    nodes = pandas.read_csv(folder / "nodes.csv")
    for name in ("z.parquet", "z.csv", "z.npz"):
        done = graphmae("embed", folder / "run", folder / "nodes.csv", folder / "edges.csv", "-o", folder / name)
        assert done.returncode == 0, done.stderr
    for rows in (pandas.read_parquet(folder / "z.parquet"), pandas.read_csv(folder / "z.csv")):
        assert rows["id"].dtype == np.int64 and len(nodes.merge(rows, on="id")) == ROWS
    with np.load(folder / "z.npz") as arrays:
        assert arrays["ids"].dtype == np.int64 and arrays["ids"].tolist() == nodes["id"].tolist()


def test_lists_of_nodes_have_ids_as_the_table_has_them(folder: Path) -> None:
    """`similar`, `anomalies` and `links` gave '5' for 5, so that looking them up in the data frame found nothing."""
    nodes = pandas.read_csv(folder / "nodes.csv")
    known, first = set(nodes["id"].tolist()), int(nodes["id"][0])
    paths, model = [folder / "nodes.csv", folder / "edges.csv"], folder / "run"
    assert {row[0] for row in gm.similar(model, paths, first, k=3)} <= known
    assert gm.similar(model, paths, str(first), k=3) == gm.similar(model, paths, first, k=3)
    assert [name for name, _ in gm.anomalies(model, paths, rounds=1)] == nodes["id"].tolist()
    printed = graphmae("similar", model, *paths, "--node", first, "-k", 2, "--json")
    assert {row["id"] for row in json.loads(printed.stdout)["similar"]} <= known, printed.stderr
    filled = folder / "filled.parquet"
    done = graphmae("impute", model, *paths, "-o", filled)
    assert done.returncode == 0, done.stderr
    assert pandas.read_parquet(filled)["id"].tolist() == nodes["id"].tolist()


def test_links_have_ids_as_the_table_has_them(tmp_path: Path) -> None:
    """`predict_links` gave '5' and '7' for nodes 5 and 7."""
    graph = networkx.powerlaw_cluster_graph(200, 4, 0.6, seed=0)
    edges = networkx.to_pandas_edgelist(graph)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    out = tmp_path / "links.parquet"
    found = gm.predict_links(
        str(tmp_path / "edges.csv"), k=3, overrides=["train.epochs=2"], device="cpu", progress=False, out=out
    )
    assert all(type(end) is int for link in found for end in link[:2])
    assert pandas.read_parquet(out)["source"].dtype == np.int64


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        (list(range(ROWS)), list(range(ROWS))),
        ([f"{i:03d}" for i in range(ROWS)], [f"{i:03d}" for i in range(ROWS)]),
        ([*range(ROWS - 1), "x"], [*map(str, range(ROWS - 1)), "x"]),
        ([f"{i}.0" for i in range(ROWS)], list(range(ROWS))),
        ([-3, *range(1, ROWS)], [-3, *range(1, ROWS)]),
        ([str(10**20 + i) for i in range(ROWS)], [str(10**20 + i) for i in range(ROWS)]),
    ],
)
def test_ids_of_a_text_file(tmp_path: Path, ids: list[Any], kept: list[Any]) -> None:
    """Whole numbers of a CSV file are numbers; 007, and numbers beside words, stay text."""
    nodes, edges = tables(ids)
    nodes.to_csv(tmp_path / "n.csv", index=False)
    edges.to_csv(tmp_path / "e.csv", index=False)
    graph = from_tables(tmp_path / "n.csv", tmp_path / "e.csv", quiet=True)
    assert graph.ids is not None and graph.ids.to_pylist() == kept
    alone = from_edges(tmp_path / "e.csv", quiet=True)
    assert alone.ids is not None and {type(each) for each in alone.ids.to_pylist()} == {type(kept[0])}


def test_ids_in_memory_keep_their_type(tmp_path: Path) -> None:
    """Nodes 1, 2, 3 of a NetworkX graph came back as '1', '2', '3'; text that looks like numbers must stay text."""
    nodes, edges = tables(list(range(ROWS)))
    text = nodes.assign(id=nodes["id"].astype(str)), edges.astype(str)
    for given, kept in (((nodes, edges), int), (text, str)):
        graph, alone = from_tables(*given, quiet=True), from_edges(given[1], quiet=True)
        for ids in (graph.ids, alone.ids):
            assert ids is not None and {type(each) for each in ids.to_pylist()} == {kept}
    text[0].to_parquet(tmp_path / "n.parquet")
    stored = from_tables(tmp_path / "n.parquet", edges, quiet=True)
    assert stored.ids is not None and stored.ids.to_pylist()[0] == "0"
    club = from_networkx(networkx.karate_club_graph(), quiet=True)
    assert club.ids is not None and club.ids.to_pylist() == list(range(34))
