"""Links of two kinds of nodes, such as users and items, and what `similar` and `links` print."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from commands import graphmae
from graphmae.runtime.errors import InputError

SMALL = ["train.epochs=3", "encoder.hidden_channels=16", "encoder.out_channels=16", "method.decoder_channels=8"]
SET = [word for key in SMALL for word in ("--set", key)]
USERS, ITEMS, TASTES = 90, 60, 3


def ratings(seed: int = 0, lonely: int = 0) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Users and items of three tastes in one table, and which user has rated which item; some have no rating."""
    rng = np.random.default_rng(seed)
    names = [*(f"u{i:03d}" for i in range(USERS)), *(f"i{i:03d}" for i in range(ITEMS))]
    taste = np.arange(USERS + ITEMS) % TASTES
    same = taste[:USERS, None] == taste[None, USERS:]
    users, items = np.nonzero(rng.random(same.shape) < np.where(same, 0.3, 0.02))
    nodes = pandas.DataFrame({
        "name": names, "kind": ["user"] * USERS + ["item"] * ITEMS, "title": [f"Title of {name}" for name in names],
        "size": rng.random(len(names)).round(3),
    })  # fmt: skip
    more = pandas.DataFrame({"name": [f"i9{i:02d}" for i in range(lonely)], "kind": "item", "title": "", "size": 0.5})
    nodes = pandas.concat([nodes, more]).sample(frac=1, random_state=seed, ignore_index=True)
    edges = pandas.DataFrame({"from": [names[u] for u in users], "to": [names[USERS + i] for i in items]})
    return nodes, edges.sample(frac=1, random_state=seed, ignore_index=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("links")
    nodes, edges = ratings()
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    gm.pretrain(
        "auto", [folder / "nodes.csv", folder / "edges.csv"], 2, folder / "model",
        overrides=["encoder.hidden_channels=16"], progress=False,
    )  # fmt: skip
    return folder


def kinds_of(links: list[gm.api.missing.MissingLink]) -> set[frozenset[str]]:
    return {frozenset((link.source[0], link.target[0])) for link in links}


@pytest.mark.parametrize("with_kind", [True, False])
def test_predicted_links_are_between_users_and_items(with_kind: bool, caplog: pytest.LogCaptureFixture) -> None:
    """`links --predict` of ratings: "hardly any of the hidden edges is between nodes that are near each other"."""
    nodes, edges = ratings()
    nodes = nodes[["name", "kind", "size"] if with_kind else ["name", "size"]]
    with caplog.at_level(logging.INFO, "graphmae"):
        found = gm.predict_links((nodes, edges), k=60, overrides=SMALL, device="cpu", progress=False)
    assert kinds_of(found) == {frozenset("ui")}
    rated = {frozenset(pair) for pair in edges.to_numpy().tolist()}
    assert not rated & {frozenset(link[:2]) for link in found}
    taste = {name: int(name[1:]) % TASTES for name in nodes["name"]}
    assert np.mean([taste[link.source] == taste[link.target] for link in found]) > 0.8  # a third by chance
    assert "two sides of 90 and 60 nodes" in caplog.text


@pytest.mark.parametrize("node", ["u003", "i007"])
def test_a_user_gets_items_and_an_item_users(folder: Path, node: str) -> None:
    """Recommendations, `links --predict --node u0003`, were impossible, and the message did not say why."""
    done = graphmae("links", "nodes.csv", "edges.csv", "--predict", "--node", node, "-k", 8, *SET, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    links = json.loads(done.stdout)["links"]
    others = [link["target"] for link in links]
    assert [link["source"] for link in links] == [node] * 8 and {name[0] for name in others} == {"iu".strip(node[0])}
    rated = ratings()[1]
    assert not {*rated["to"][rated["from"] == node], *rated["from"][rated["to"] == node]} & set(others)
    assert np.mean([int(name[1:]) % TASTES == int(node[1:]) % TASTES for name in others]) > 0.7


def test_an_item_nobody_has_rated_is_on_the_side_its_kind_says() -> None:
    """A new item has no edges: what it is says the column that is the same for all items, and without it nothing."""
    nodes, edges = ratings(lonely=3)
    options = {"k": 100, "node": "i900", "overrides": SMALL, "device": "cpu", "progress": False}
    found = gm.predict_links((nodes, edges), **options)
    assert {link.target[0] for link in found} == {"u"} and len(found) == USERS
    with pytest.raises(InputError, match="'i900' has no edges"):
        gm.predict_links((nodes[["name", "size"]], edges), **options)


def test_scores_of_links_are_against_pairs_of_the_two_sides(folder: Path) -> None:
    """`links` drew user-user pairs as well: common neighbours had an AUC of 45 %, and all others were inflated."""
    done = graphmae("links", "nodes.csv", "edges.csv", *SET, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    baselines = json.loads(done.stdout)["baselines"]
    assert not {"common-neighbours", "adamic-adar", "katz"} & set(baselines)
    for name in ("paths-of-three", "rarer-paths-of-three", "simple-together"):
        assert baselines[name]["mean"] > 65
    assert "two sides" in done.stderr and "share no neighbours" in done.stderr


def edges_between_sides(seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """[2, E] edges of a random graph of two sides, in one to three components, and the side of every node."""
    rng = np.random.default_rng(seed)
    ends, sides, nodes = [], [], 0
    for _ in range(rng.integers(1, 4)):
        one, other = rng.integers(12, 30, size=2)
        pairs = np.stack(np.nonzero(rng.random((one, other)) < rng.uniform(0.25, 0.4)))
        ends.append(np.stack([pairs[0] + nodes, pairs[1] + nodes + one]))
        sides += [0] * one + [1] * other
        nodes += one + other
    order = rng.permutation(nodes)
    edges, side = order[np.concatenate(ends, axis=1)], np.empty(nodes, dtype=int)
    side[order] = sides
    flipped = rng.random(edges.shape[1]) < rng.choice([0.0, 0.5])
    edges[:, flipped] = edges[::-1, flipped]
    if rng.random() < 0.5:
        edges = np.concatenate([edges, edges[::-1]], axis=1)
    return torch.from_numpy(edges), side


@pytest.mark.parametrize("negatives", ["uniform", "hard"])
def test_no_pair_is_drawn_within_one_side(negatives: str) -> None:
    """Property: negatives of 100 random graphs of two sides are pairs of the two, however edges are written."""
    for seed in range(100):
        edges, side = edges_between_sides(seed)
        data = Data(x=torch.rand(len(side), 3), edge_index=edges)
        split = gm.split_edges(data, 0.1, seed, negatives=negatives)
        known = {frozenset(pair) for pair in edges.T.tolist()}
        for pairs in (split.train_pairs, split.val_pairs, split.test_pairs):
            assert (side[pairs[0]] != side[pairs[1]]).all(), seed
            assert len({frozenset(pair) for pair in pairs.T.tolist()}) == pairs.size(1), seed
            assert not known & {frozenset(pair) for pair in pairs.T.tolist()}, seed


@pytest.mark.parametrize("seed", range(6))
def test_no_predicted_pair_is_within_one_side(seed: int) -> None:
    """Property: of random graphs of two sides, in memory, with or without several components."""
    edges, side = edges_between_sides(seed)
    data = Data(x=torch.rand(len(side), 3), edge_index=edges)
    for node in (None, str(int(edges[0, 0]))):
        found = gm.predict_links(data, k=50, node=node, overrides=SMALL, device="cpu", progress=False)
        pairs = np.array([[int(link.source), int(link.target)] for link in found]).T
        assert pairs.size and (side[pairs[0]] != side[pairs[1]]).all()
        assert not {frozenset(pair) for pair in edges.T.tolist()} & {frozenset(pair) for pair in pairs.T.tolist()}


def graphs_of_one_kind() -> Iterator[tuple[int, Data]]:
    for seed in range(40):
        generator, nodes = torch.Generator().manual_seed(seed), 15 + seed
        edges = torch.randint(nodes, (2, 60 + seed), generator=generator)
        edges = torch.cat([edges, edges.flip(0)], dim=1) if seed % 2 else edges
        yield seed, Data(x=torch.eye(nodes), edge_index=edges)


def test_other_graphs_are_split_as_before() -> None:
    """Property: graphs with odd cycles have the pairs they had before two sides were known (a recorded checksum)."""
    total = hashlib.sha256()
    for seed, data in graphs_of_one_kind():
        for negatives in ("uniform", "hard"):
            split = gm.split_edges(data, 0.2, seed, negatives=negatives)
            for part in (split.graph.edge_index, split.train, split.val, split.test, split.train_pairs,
                         split.val_pairs, split.test_pairs):  # fmt: skip
                total.update(part.contiguous().numpy().astype(np.int64).tobytes())
    assert total.hexdigest()[:32] == "a2da7aa269026a0962d7cc3343e95249"


@pytest.mark.parametrize("shape", ["a tree", "an even ring", "one odd cycle"])
def test_what_has_two_sides_by_its_shape_alone_is_no_table_of_two_kinds(shape: str) -> None:
    """Every tree can be coloured with two colours; pairs within one colour are as good as others there."""
    nodes = 60
    chain = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    if shape == "an even ring":
        chain = torch.cat([chain, torch.tensor([[nodes - 1], [0]])], dim=1)
    elif shape == "one odd cycle":
        edges, side = edges_between_sides(1)
        of_one = torch.cat([edges, edges.flip(0)], dim=1)[1, (torch.cat([edges[0], edges[1]]) == edges[0, 0])].unique()
        nodes, chain = len(side), torch.cat([edges, of_one[:2, None]], dim=1)
    split = gm.split_edges(Data(x=torch.eye(nodes), edge_index=chain), 0.2)
    pairs = torch.cat([split.train_pairs, split.test_pairs], dim=1)
    colour = torch.arange(nodes) % 2 if shape != "one odd cycle" else torch.from_numpy(side)
    assert 0.25 < (colour[pairs[0]] == colour[pairs[1]]).double().mean() < 0.75


def groups(seed: int = 0) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Edges dense inside of 20 groups of 12 nodes, and rare between them."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(20), 12)
    same = np.triu(group[:, None] == group, 1)
    source, target = np.nonzero(np.triu(rng.random(same.shape) < np.where(same, 0.7, 0.004), 1))
    nodes = pandas.DataFrame({"id": [f"n{i:03d}" for i in range(240)], "label": group, "size": rng.random(240)})
    return nodes, pandas.DataFrame({"source": nodes["id"][source].array, "target": nodes["id"][target].array})


def test_scores_of_predicted_links_rank_them() -> None:
    """All of 40 predicted links had the score 78.0: nothing to choose a threshold by."""
    found = gm.predict_links(groups(), k=40, overrides=SMALL, device="cpu", progress=False)
    assert all(one.score >= other.score for one, other in pairwise(found))
    assert len({link.score for link in found}) > 35
    assert 0 < found[-1].score < found[0].score < 100


def test_scores_stay_what_was_measured() -> None:
    """Scores that differ must still be shares of hidden edges: of all candidates rated so high, on the average."""
    from graphmae.experiments.missing_links import _calibrated

    rng = np.random.default_rng(0)
    ratings_ = rng.normal(size=20_000)
    hidden = rng.random(20_000) < 1 / (1 + np.exp(-(2 * ratings_ - 4)))
    share_at = _calibrated(ratings_, hidden)
    assert share_at(ratings_).mean() == pytest.approx(hidden.mean(), rel=0.05)
    order = np.argsort(-ratings_)
    assert (np.diff(share_at(ratings_[order])) < 0).all()
    for part in (order[:100], order[100:500], order[500:2000]):
        assert share_at(ratings_[part]).mean() == pytest.approx(hidden[part].mean(), abs=0.12)
    for sure in (np.zeros(500, dtype=bool), np.arange(500) < 4, np.ones(500, dtype=bool)):
        found = _calibrated(np.sort(ratings_[:500])[::-1], sure)(np.array([-9.0, -1.0, 0.0, 9.0, 99.0]))
        assert (np.diff(found) > 0).all() and found[0] > 0 and found[-1] < 1


def test_similar_and_links_show_a_column_of_names(folder: Path, tmp_path: Path) -> None:
    """`similar` and `links` printed bare ids ("18971 0.9662 99.99"), and names had to be joined by hand."""
    tables = ["nodes.csv", "edges.csv"]
    done = graphmae("similar", "model", *tables, "--node", "u003", "-k", 3, "--show", "title", cwd=folder)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0] == ["id", "title", "cosine", "percentile"] and len(lines) == 4
    assert all(name == f"Title of {node}" for node, name, _, _ in lines[1:])
    done = graphmae("similar", "model", *tables, "-n", "u003", "-k", 3, "--show", "title", "--json", cwd=folder)
    first = json.loads(done.stdout)["similar"][0]
    assert list(first) == ["id", "title", "cosine", "percentile"] and first["title"] == f"Title of {first['id']}"
    found = gm.similar(folder / "model", [folder / name for name in tables], "u003", 3, show="title")
    assert [row[:2] for row in found] == [(row[0], f"Title of {row[0]}") for row in found] and len(found[0]) == 4
    out = tmp_path / "missing.csv"
    words = ["links", *tables, "--predict", "-k", 4, "--show", "title", *SET]
    done = graphmae(*words, "-o", out, cwd=folder)
    assert done.returncode == 0, done.stderr
    header = done.stdout.splitlines()[1].split()
    assert header == ["source", "title", "target", "title", "score", "percentile"]
    table = pandas.read_csv(out)
    assert list(table) == ["source", "source_title", "target", "target_title", "score", "percentile"]
    assert (table["source_title"] == "Title of " + table["source"]).all()
    assert (table["target_title"] == "Title of " + table["target"]).all()
    link = json.loads(graphmae(*words, "--json", cwd=folder).stdout)["links"][0]
    assert link["source_title"] == f"Title of {link['source']}" and link["score"] > 0


def test_names_of_tables_in_memory_are_shown() -> None:
    """What is shown comes from the table that was given, in its own order, not in that of the ids."""
    nodes, edges = ratings(seed=5)
    model = gm.pretrain("auto", (nodes, edges), 1, overrides=["encoder.hidden_channels=8"], progress=False)
    found = gm.similar(model, (nodes, edges), "i004", 5, show="title")
    assert all(name == f"Title of {node}" for node, name, *_ in found)
    links = gm.predict_links((nodes, edges), k=3, overrides=SMALL, device="cpu", progress=False, show="title")
    assert all(link.source_shown == f"Title of {link.source}" for link in links)
    with pytest.raises(InputError, match="unknown column 'titel'; did you mean 'title'"):
        gm.similar(model, (nodes, edges), "i004", show="titel")
    data = Data(x=torch.rand(30, 3), edge_index=torch.randint(30, (2, 90)))
    with pytest.raises(InputError, match="--show names a column of a node table"):
        gm.predict_links(data, overrides=SMALL, device="cpu", progress=False, show="title")


def test_printed_tables_have_a_header(folder: Path) -> None:
    """`similar` and `anomalies` printed two or three numbers in a line, and did not say which is which."""
    done = graphmae("similar", "model", "nodes.csv", "edges.csv", "--node", "u003", "-k", 2, cwd=folder)
    assert done.stdout.splitlines()[0] == "id\tcosine\tpercentile" and len(done.stdout.splitlines()) == 3
    done = graphmae("anomalies", "model", "nodes.csv", "edges.csv", cwd=folder)
    assert done.stdout.splitlines()[0] == "id\tanomaly" and len(done.stdout.splitlines()) == 11


@pytest.mark.parametrize("command", [["similar", "model"], ["links", "--predict"]])
def test_an_unknown_node_is_answered_with_ids_there_are(folder: Path, command: list[str]) -> None:
    """ "unknown node 'zzz'. Of 300 known: none" said that there are none."""
    name, *more = command
    tables = ["nodes.csv", "edges.csv"]
    for node, sentence in (("zzz", "ids of the 150 nodes are like "), ("u3", "did you mean 'u0"), ("U003", "'u003'")):
        words = [name, *more, *tables, "--node", node] if name == "similar" else [name, *tables, *more, "--node", node]
        done = graphmae(*words, cwd=folder)
        assert done.returncode == 2 and f"unknown node '{node}'" in done.stderr and sentence in done.stderr
        assert "known: none" not in done.stderr


def test_nodes_without_ids_are_numbers() -> None:
    """A graph without a node table has rows; the message says which numbers there are."""
    data = Data(x=torch.rand(30, 3), edge_index=torch.randint(30, (2, 90)))
    with pytest.raises(InputError, match="unknown node '30'; nodes are numbered from 0 to 29"):
        gm.predict_links(data, node="30", overrides=SMALL, device="cpu", progress=False)
