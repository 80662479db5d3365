"""The scikit-learn front: graphs as X, and nodes of one fixed graph as rows."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from torch_geometric.data import Data

import graphmae as gm
from graphmae.estimator import pretraining
from graphmae.runtime.errors import DataError, InputError

QUICK = ("encoder.hidden_channels=16", "encoder.heads=2")


@pytest.fixture(scope="module")
def graph() -> Data:
    return gm.data.load("synthetic", num_nodes=200).graphs[0]


def test_it_works_in_a_pipeline_and_clones(graph: Data) -> None:
    model = make_pipeline(gm.GraphMAEEmbedder(epochs=30, overrides=QUICK), LogisticRegression(C=1e4, max_iter=2000))
    assert model.fit(graph, graph.y.numpy()).score(graph, graph.y.numpy()) > 0.6  # a constant answer: 0.17
    other = clone(model[0])
    assert other.get_params() == model[0].get_params() and not hasattr(other, "model_")
    assert np.array_equal(other.fit_transform(graph), model[0].transform(graph))


def test_it_takes_graphs_of_every_kind(graph: Data) -> None:
    pair = (graph.x.numpy(), sp.coo_matrix((np.ones(graph.num_edges), graph.edge_index.numpy()), shape=(200, 200)))
    one = gm.GraphMAEEmbedder(epochs=1, overrides=QUICK).fit(pair)
    assert one.transform(pair).shape == (200, one.n_features_out_) and one.n_features_out_ > 16
    assert np.allclose(one.transform((pair[0], graph.edge_index.numpy())), one.transform(pair))
    club = gm.GraphMAEEmbedder(epochs=1, overrides=QUICK[:1]).fit(nx.karate_club_graph())
    assert len(club.transform(nx.karate_club_graph())) == 34
    several = [Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))] * 6
    rows = gm.GraphMAEEmbedder(epochs=1, readout="mean+max", overrides=QUICK[:1]).fit_transform(several)
    assert rows.shape == (6, 32)
    with pytest.raises(DataError, match="a graph must be"):
        one.fit(3)


def test_saved_and_loaded_it_gives_the_same(graph: Data, tmp_path: Path) -> None:
    one = gm.GraphMAEEmbedder(epochs=2, overrides=QUICK).fit(graph)
    one.save(tmp_path / "model")
    other = gm.GraphMAEEmbedder.load(tmp_path / "model")
    assert np.array_equal(one.transform(graph), other.transform(graph))
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors", ".md"}


SMALL = {"epochs": 2, "overrides": ("encoder.hidden_channels=8",), "device": "cpu"}
Tables = tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def tables() -> Tables:
    """60 nodes in two groups with edges inside them, ids like n07, and a column with the group's name."""
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    source = rng.integers(0, 60, 200)
    target = (source + 2 * rng.integers(1, 30, 200)) % 60
    nodes = {"id": [f"n{i:02}" for i in range(60)], "size": group + rng.normal(0, 0.3, 60)}
    nodes["group"] = [["left", "right"][i] for i in group]
    return nodes, {"source": [f"n{i:02}" for i in source], "target": [f"n{i:02}" for i in target]}


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seed of every pre-training there is."""
    seeds, train = [], pretraining.pretrain_once

    def counted(recipe: Any, dataset: Any, seed: int, *rest: Any, **options: Any) -> Any:
        seeds.append(seed)
        return train(recipe, dataset, seed, *rest, **options)

    monkeypatch.setattr(pretraining, "pretrain_once", counted)
    return seeds


def embedder(tables: Tables, **options: Any) -> gm.NodeEmbedder:
    return gm.NodeEmbedder(tables, {"label": "group"}, **{**SMALL, **options})


def test_a_node_embedder_passes_the_checks_of_scikit_learn(tables: Tables) -> None:
    """The checks fit matrices of random numbers, which are not nodes: those are ignored."""
    numbered = ({**tables[0], "id": np.arange(60)}, {k: [int(v[1:]) for v in vs] for k, vs in tables[1].items()})
    one = embedder(numbered, handle_unknown="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        done = estimator_checks.check_estimator(one, expected_failed_checks=gm.NodeEmbedder.expected_failed_checks)
    status = {each["check_name"]: each["status"] for each in done}
    assert [name for name, how in status.items() if how == "xfail"] == [*gm.NodeEmbedder.expected_failed_checks]
    assert sum(how == "passed" for how in status.values()) >= 35
    assert {name for name, how in status.items() if how not in ("passed", "xfail")} <= {"check_array_api_input"}


def test_a_graph_embedder_declares_that_matrices_are_not_graphs_and_passes_the_other_checks() -> None:
    one = gm.GraphMAEEmbedder()
    with pytest.warns(SkipTestWarning, match="two_d_array=False"):
        done = estimator_checks.check_estimator(one)
    assert [each["status"] for each in done] == ["passed"]
    for name in (
        "check_valid_tag_types", "check_estimator_repr", "check_no_attributes_set_in_init", "check_mixin_order",
        "check_do_not_raise_errors_in_init_or_set_params", "check_parameters_default_constructible",
        "check_get_params_invariance", "check_set_params",
    ):  # fmt: skip
        getattr(estimator_checks, name)("GraphMAEEmbedder", one)


def test_folds_and_settings_share_what_was_pretrained(tables: Tables, trainings: list[int]) -> None:
    frame = pd.DataFrame(tables[0])
    model = make_pipeline(embedder(tables), LogisticRegression())
    assert cross_val_score(model, frame["id"], frame["group"], cv=5).mean() > 0.8  # a constant answer: 0.5
    assert len(trainings) == 1
    groups = np.arange(60) // 6
    scores = cross_val_score(model, frame["id"], frame["group"], groups=groups, cv=GroupKFold(3))
    assert scores.mean() > 0.8 and len(trainings) == 1
    grid = {"logisticregression__C": [0.1, 10], "nodeembedder__seed": [0, 1]}
    search = GridSearchCV(model, grid, cv=StratifiedKFold(3)).fit(frame["id"], frame["group"])
    assert search.best_score_ > 0.8 and trainings == [0, 1]
    assert search.predict(["n00", "n01"]).tolist() == ["left", "right"]


def test_rows_are_those_of_the_ids_in_any_order_alone_and_in_pairs(tables: Tables) -> None:
    one = embedder(tables).fit(tables[0]["id"])
    z = gm.embed(one.model_, gm.data.from_tables(*tables, treatment=one.model_.inputs, quiet=True)).numpy()
    assert np.array_equal(one.transform(["n07", "n00", "n07"]), z[[7, 0, 7]])
    assert np.array_equal(embedder(tables, rows=True).fit([0]).transform([7, 0.0]), z[[7, 0]])
    pairs = clone(one).fit([["n00", "n01"]]).transform([["n03", "n04"], ["n05", "n06"]])
    assert np.array_equal(pairs, np.hstack([z[[3, 5]], z[[4, 6]]]))
    assert len(one.get_feature_names_out()) == z.shape[1] == pairs.shape[1] / 2
    assert np.array_equal(pickle.loads(pickle.dumps(one)).transform(["n07"]), z[[7]])


def test_a_column_that_is_the_label_is_refused(tables: Tables) -> None:
    leaking = gm.NodeEmbedder(tables, **SMALL)
    with pytest.raises(
        InputError, match=r"'group' says the same as y.*columns=\{\"kinds\": \{\"group\": \"ignore\"\}\}"
    ):
        leaking.fit(tables[0]["id"][:30], tables[0]["group"][:30])
    leaking.fit(tables[0]["id"])  # without labels there is nothing to compare
    swapped = ["a" if i % 3 else "b" for i in range(60)]
    leaking.fit(tables[0]["id"], swapped)


def test_a_graph_that_has_changed_is_pretrained_anew(tables: Tables, trainings: list[int]) -> None:
    nodes = {**tables[0], "size": list(tables[0]["size"])}
    one = embedder((nodes, tables[1])).fit(["n00"])
    nodes["size"][0] += 1
    one.fit(["n00"])
    assert len(trainings) == 2


def test_wrong_input_is_refused_in_a_sentence(tables: Tables) -> None:
    one = embedder(tables).fit(["n00"])
    with pytest.raises(InputError, match="2 values that are not nodes; 'n99' is not a node"):
        one.transform(["n00", "n99", "x"])
    assert not clone(one).set_params(handle_unknown="ignore").fit(["n00"]).transform(["n99"]).any()
    with pytest.raises(InputError, match="needs its graph"):
        gm.NodeEmbedder().fit(["n00"])
    with pytest.raises(InputError, match="unknown handle_unknown 'eror'; did you mean 'error'"):
        embedder(tables, handle_unknown="eror").fit(["n00"])
    with pytest.raises(InputError, match="row number below 60"):
        embedder(tables, rows=True).fit([60])
