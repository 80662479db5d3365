from __future__ import annotations

import pytest

import graphmae as gm
from graphmae.config import Evaluation
from graphmae.evaluation import fitted_to
from graphmae.runtime.errors import ConfigError

from .test_untrained import graphs


def test_all_baselines_are_those_that_apply() -> None:
    nodes = gm.data.load("synthetic", num_nodes=60)
    assert fitted_to(Evaluation(), nodes).baselines == ("raw", "untrained", "supervised")
    assert fitted_to(Evaluation(), graphs()).baselines == ("raw", "untrained", "wl")
    assert fitted_to(Evaluation(baselines=()), graphs()).baselines == ()


@pytest.mark.parametrize(("name", "on_graphs"), [("wl", False), ("supervised", True)])
def test_a_baseline_that_does_not_apply_is_refused(name: str, on_graphs: bool) -> None:
    data = graphs() if on_graphs else gm.data.load("synthetic", num_nodes=60)
    with pytest.raises(ConfigError, match=f"unknown baseline '{name}'"):
        fitted_to(Evaluation(baselines=(name,)), data)  # type: ignore[arg-type]


def test_rules_follow_the_data() -> None:
    assert fitted_to(Evaluation(rule="last"), graphs()).rule == "folds"
    assert fitted_to(Evaluation(rule="chosen"), graphs()).rule == "chosen"
    with pytest.raises(ConfigError, match="sets of graphs"):
        fitted_to(Evaluation(rule="chosen"), gm.data.load("synthetic", num_nodes=60))
