"""Predicted links: edges taken away come back, with scores that say how likely they are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas
import pyarrow.parquet
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae import evaluation
from graphmae.data import from_tables
from graphmae.experiments import missing_links
from graphmae.runtime.errors import DataError, InputError

SMALL = ["train.epochs=3", "encoder.hidden_channels=16", "encoder.out_channels=16", "method.decoder_channels=8"]
GROUPS, SIZE = 20, 12


def groups(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """[2, E] edges, dense inside of groups of 12 and rare between them, and the group of each node."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(GROUPS), SIZE)
    same = np.triu(group[:, None] == group, 1)
    chance = np.where(same, 0.7, 0.004)
    return np.stack(np.nonzero(np.triu(rng.random(same.shape) < chance, 1))), group


def test_edges_taken_away_come_back() -> None:
    edges, group = groups()
    x = torch.rand(len(group), 4, generator=torch.Generator().manual_seed(0))
    graph = Data(x=x, edge_index=torch.from_numpy(np.hstack([edges, edges[::-1]])))
    split = evaluation.split_edges(graph, 0.1, 3)
    found = gm.predict_links(split.graph, k=60, overrides=SMALL, device="cpu", progress=False)
    held = {tuple(pair) for part in (split.val, split.test) for pair in part.T.tolist()}
    pairs = [(int(link.source), int(link.target)) for link in found]
    left = {tuple(pair) for pair in split.graph.edge_index.T.tolist()}
    assert len(set(pairs)) == 60 and not left & {*pairs, *((b, a) for a, b in pairs)}
    assert np.mean([group[a] == group[b] for a, b in pairs]) > 0.9  # 2 % of the pairs without an edge are of one group
    share = np.mean([tuple(sorted(pair)) in held for pair in pairs])
    assert share > 0.1  # 0.5 % of the pairs without an edge were taken away, and a third of those within a group
    assert 100 * share / 4 < np.mean([link.score for link in found]) < 100
    assert all(one.score >= other.score for one, other in pairwise(found))
    assert min(link.percentile for link in found) > 90


def test_those_of_one_node_with_the_ids_of_the_table(tmp_path: Path) -> None:
    edges, group = groups()
    ids = np.array([f"n{i:03d}" for i in range(len(group))])
    shuffled = np.random.default_rng(1).permutation(len(ids))
    nodes = {"id": ids[shuffled], "size": np.random.default_rng(2).random(len(ids))}
    graph = from_tables(nodes, {"source": ids[edges[0]], "target": ids[edges[1]]}, quiet=True)
    out = tmp_path / "missing.parquet"
    found = gm.predict_links(graph, k=3, node="n030", overrides=SMALL, device="cpu", progress=False, out=out)
    assert [link.source for link in found] == ["n030"] * 3
    joined = {frozenset(pair) for pair in ids[edges].T.tolist()}
    assert not any(frozenset(link[:2]) in joined for link in found)
    assert all(group[int(link.target[1:])] == group[30] for link in found)
    table = pyarrow.parquet.read_table(out)
    assert table.column_names == ["source", "target", "score", "percentile"]
    assert table.column("target").to_pylist() == [link.target for link in found]
    with pytest.raises(InputError, match="unknown node 'x'"):
        gm.predict_links(graph, node="x", device="cpu")
    with pytest.raises(InputError, match="k must be"):
        gm.predict_links(graph, k=0, device="cpu")


def test_numbers_stay_numbers_in_the_file(tmp_path: Path) -> None:
    edges, _ = groups()
    found = gm.predict_links(
        from_tables(None, {"source": edges[0] + 1000, "target": edges[1] + 1000}, quiet=True),
        k=2, overrides=SMALL, device="cpu", progress=False, out=tmp_path / "missing.csv",
    )  # fmt: skip
    table = pandas.read_csv(tmp_path / "missing.csv")
    assert table["source"].tolist() == [int(link.source) for link in found] and (table["source"] >= 1000).all()


def test_a_graph_without_near_pairs_is_refused() -> None:
    with pytest.raises(DataError, match="near each other"):
        missing_links._fitted(np.zeros((9, 8)), np.arange(9) < 2)
