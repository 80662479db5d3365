"""Weights, columns and times of edges, from tables to embeddings and links: what they alone tell is found."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import graphmae as gm

COUNT = 160
QUICK = ["encoder.hidden_channels=16", "train.epochs=12"]


def planted(seed: int = 0) -> tuple[pandas.DataFrame, dict[str, Any], np.ndarray]:
    """(nodes whose column tells the class a little, edges between random nodes, classes): the graph tells nothing."""
    generator = np.random.default_rng(seed)
    label = np.arange(COUNT) % 2
    noise = generator.normal(size=(COUNT, 4)) + 0.35 * (2 * label[:, None] - 1)
    nodes = pandas.DataFrame({"id": np.arange(COUNT), **{f"v{i}": noise[:, i] for i in range(4)}})
    pairs = generator.integers(COUNT, size=(2, 20 * COUNT))
    return nodes, {"source": pairs[0], "target": pairs[1]}, label


def accuracy(nodes: pandas.DataFrame, edges: Any, label: np.ndarray) -> float:
    """Of a linear model on a quarter of the embeddings, in percent."""
    model = gm.pretrain("auto", (nodes, pandas.DataFrame(edges)), overrides=QUICK, progress=False)
    z = gm.embed(model, (nodes, pandas.DataFrame(edges))).numpy()
    z = (z - z.mean(0)) / (z.std(0) + 1e-6)
    some = np.random.default_rng(0).permutation(COUNT)
    learn, test = some[: COUNT // 4], some[COUNT // 4 :]
    fitted = LogisticRegression(max_iter=500, C=0.1).fit(z[learn], label[learn])
    return 100 * float(fitted.score(z[test], label[test]))


def told(what: str, seed: int = 0) -> tuple[float, float]:
    """(accuracy without what was planted in the edges, with it)."""
    nodes, edges, label = planted(seed)
    generator = np.random.default_rng(seed + 1)
    inside = label[edges["source"]] == label[edges["target"]]
    if what == "weight":  # heavy inside of a class
        values = np.where(inside, 20.0, 1.0) * generator.uniform(0.5, 1.5, len(inside))
    elif what == "price":  # higher among the nodes of one class; the features of nodes tell nothing
        values = generator.normal(size=len(inside)) + label[edges["source"]] + label[edges["target"]]
    else:  # one class came later
        values = 1e9 + 1e6 * (generator.normal(size=len(inside)) + label[edges["source"]] + label[edges["target"]])
    return without(seed), accuracy(nodes, {**edges, what: values}, label)


@cache
def without(seed: int) -> float:
    return accuracy(*planted(seed))


@pytest.mark.parametrize("what", ["weight", "price", "when"])
def test_what_only_edges_tell_is_in_the_embeddings(what: str) -> None:
    before, after = told(what)
    assert after > 88 and before < 75, (what, before, after)


def test_from_tables_to_embeddings_new_tables_and_links(tmp_path: Path) -> None:
    nodes, plain, _ = planted(3)
    generator = np.random.default_rng(5)
    size = 600
    edges = pandas.DataFrame({key: value[:size] for key, value in plain.items()})
    edges["strength"] = generator.gamma(2.0, size=size) + 0.1
    edges["day"] = pandas.to_datetime("2021-01-01") + pandas.to_timedelta(np.arange(size), unit="h")
    edges["type"] = generator.choice(["buys", "likes"], size)
    edges["price"] = generator.normal(size=size)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    paths = [tmp_path / "nodes.csv", tmp_path / "edges.csv"]
    model = gm.pretrain("auto", paths, overrides=QUICK, out=tmp_path / "run", progress=False)
    stored = json.loads((tmp_path / "run" / "config.json").read_text())
    assert stored["inputs"]["names"]["weight"] == "strength" and stored["inputs"]["names"]["time"] == "day"
    assert stored["encoder"]["edge_channels"] == 3
    z = gm.embed(tmp_path / "run", paths)
    assert torch.allclose(z, gm.embed(model, paths), atol=1e-6)
    turned = edges.sample(frac=1, random_state=0)[[*edges.columns[::-1]]]
    turned.to_csv(tmp_path / "turned.csv", index=False)
    assert torch.equal(z, gm.embed(tmp_path / "run", [paths[0], tmp_path / "turned.csv"]))
    heavier = edges.assign(strength=edges["strength"] ** 2)
    heavier.to_csv(tmp_path / "heavier.csv", index=False)
    assert not torch.allclose(z, gm.embed(tmp_path / "run", [paths[0], tmp_path / "heavier.csv"]), atol=1e-2)
    scaled = gm.pretrain("auto", paths, overrides=[*QUICK, "train.parts=2"], progress=False)
    assert gm.embed(scaled, paths).shape == z.shape
    result = gm.links(paths, overrides=["train.epochs=4", "encoder.hidden_channels=16"], progress=False)
    assert set(result.runs[0]["rows"]) >= {"pretrained", "untrained", "raw"}
    graph = gm.data.from_tables(*paths, quiet=True)
    split = gm.split_edges(graph.single_graph(), held_out="time")
    data = graph.single_graph()
    times = {tuple(sorted(pair)): float(t) for pair, t in zip(data.edge_index.T.tolist(), data.edge_time, strict=True)}
    parts = [[times[tuple(sorted(pair))] for pair in part.T.tolist()] for part in (split.train, split.val, split.test)]
    assert max(parts[0]) <= min(parts[1]) and max(parts[1]) <= min(parts[2])
    assert len(split.graph.edge_weight) == split.graph.edge_index.size(1) == len(split.graph.edge_attr)
