from __future__ import annotations

from pathlib import Path

import torch

import graphmae as gm
from graphmae.evaluation import run_supervised

from .test_untrained import graphs

CPU = torch.device("cpu")


def test_nodes_choose_their_settings_on_validation() -> None:
    """A candidate that cannot learn (a rate near zero) must lose to one that can."""
    recipe = gm.recipe(
        "supervised/cora-gcn", "data.name=synthetic", "supervised.epochs=30",
        'supervised.candidates=["supervised.lr=1e-9", "", "encoder.hidden_channels=8"]',
    )  # fmt: skip
    data = gm.data.load("synthetic", num_nodes=300)
    found = run_supervised(recipe, data, 0, CPU)
    assert found["chosen"] != "supervised.lr=1e-9"
    assert found["rows"]["supervised"] == found["tried"][found["chosen"]]
    best = max(scores["validation-best"] for scores in found["tried"].values())
    assert found["rows"]["supervised"]["validation-best"] == best
    assert found["rows"]["supervised"]["best-validation"] > 50


def test_whole_graphs_are_scored_in_the_folds_of_the_support_vector_machine() -> None:
    recipe = gm.recipe(
        "supervised/mutag-gin", "encoder.hidden_channels=8", "encoder.num_layers=2", "supervised.epochs=8"
    )
    found = run_supervised(recipe, graphs(100), 0, CPU)
    folds = found["folds"]["supervised"]
    assert len(folds["best-validation-test"]) == len(folds["chosen"]) == 10
    assert found["rows"]["supervised"]["best-validation"] > 80  # rings and stars


def test_a_supervised_recipe_runs_as_an_experiment(tmp_path: Path) -> None:
    result = gm.run(
        "supervised/cora-gat", seeds=[0, 1], out=tmp_path / "run", progress=False, device="cpu",
        overrides=["data.name=synthetic", "supervised.epochs=5", 'supervised.candidates=[""]'],
    )  # fmt: skip
    assert (result.row, result.rule, len(result.scores)) == ("supervised", "best-validation", 2)
