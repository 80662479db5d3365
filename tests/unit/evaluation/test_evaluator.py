from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import nn

import graphmae as gm
from graphmae import encoders
from graphmae.config import Evaluation
from graphmae.data import Dataset
from graphmae.evaluation import BASELINES, Row, baseline, evaluator_for
from graphmae.runtime.errors import ConfigError, InputError

from .test_untrained import graphs

CPU = torch.device("cpu")


def nodes() -> Dataset:
    return gm.data.load("synthetic", num_nodes=60)


def fitted(settings: Evaluation, dataset: Dataset) -> Evaluation:
    return evaluator_for(dataset, settings, CPU).settings


def test_all_baselines_are_those_that_apply() -> None:
    assert fitted(Evaluation(), nodes()).baselines == (
        "raw",
        "averaged",
        "propagated",
        "netmf",
        "netmf-propagated",
        "untrained",
        "supervised",
    )
    assert fitted(Evaluation(), graphs()).baselines == ("raw", "untrained", "wl", "graph2vec")
    assert fitted(Evaluation(baselines=()), graphs()).baselines == ()


@pytest.mark.parametrize(("name", "on_graphs"), [("wl", False), ("supervised", True)])
def test_a_baseline_that_does_not_apply_is_refused(name: str, on_graphs: bool) -> None:
    with pytest.raises(ConfigError, match=f"unknown baseline '{name}'"):
        fitted(Evaluation(baselines=(name,)), graphs() if on_graphs else nodes())


def test_rules_follow_the_data() -> None:
    assert fitted(Evaluation(rule="last"), graphs()).rule == "folds"
    assert fitted(Evaluation(rule="chosen"), graphs()).rule == "chosen"
    for rule, data in (("chosen", nodes()), ("best-validation", graphs())):
        with pytest.raises(ConfigError, match="is not for"):
            fitted(Evaluation(rule=rule), data)


def test_data_without_labels_has_no_evaluator() -> None:
    class Unlabelled(Dataset):
        task, name = "none", "some molecules"

    with pytest.raises(InputError, match="no labels"):
        evaluator_for(Unlabelled(), Evaluation(), CPU)


@pytest.fixture
def constant() -> Iterator[list[Sequence[int]]]:
    """A baseline of a user's own, and the seeds it was asked for."""
    asked: list[Sequence[int]] = []

    @baseline("node", "constant", fixed=True)
    def rows(evaluator: Any, make_encoder: Any, seeds: Sequence[int]) -> list[Row]:
        asked.append(list(seeds))
        return [Row({"last": float(seed)}) for seed in seeds]

    yield asked
    del BASELINES["node"]["constant"]


def test_a_baseline_is_one_function_and_a_fixed_one_is_computed_once(constant: list[Sequence[int]]) -> None:
    data = nodes()
    evaluator = evaluator_for(data, Evaluation(baselines=("constant",), epochs=1, converged=False), CPU)
    evaluator.prepare([3, 5])

    def fresh() -> nn.Module:
        return encoders.GCN(data.in_channels, hidden_channels=4, num_layers=1)

    tables = evaluator.tables(fresh(), fresh, [5, 3, 7])
    assert [table["rows"]["constant"]["last"] for table in tables] == [5, 3, 7]
    assert constant == [[3, 5], [7]]
    assert all(set(table["rows"]) == {"pretrained", "constant"} for table in tables)


def test_a_row_does_not_depend_on_which_others_are_asked_for() -> None:
    data = nodes()

    def fresh() -> nn.Module:
        return encoders.GCN(data.in_channels, hidden_channels=4, num_layers=1)

    settings = Evaluation(epochs=2, supervised_epochs=2, converged=False)
    whole = evaluator_for(data, settings, CPU).tables(fresh(), fresh, [0])[0]["rows"]
    for row in (
        "raw",
        "averaged",
        "propagated",
        "netmf",
        "netmf-propagated",
        "untrained",
        "supervised",
    ):
        alone = evaluator_for(data, Evaluation(**{**vars(settings), "baselines": (row,)}), CPU)
        assert alone.tables(fresh(), fresh, [0])[0]["rows"][row] == whole[row]
