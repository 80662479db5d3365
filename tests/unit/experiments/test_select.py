"""Settings chosen by labels: only by those a probe may see, kept for a run that goes on, and reported."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.data import from_data
from graphmae.data.splits import stratified_split
from graphmae.experiments import select as selecting
from graphmae.experiments.auto import recipe_for
from graphmae.experiments.folder import RunFolder
from graphmae.runtime.errors import InputError

CPU = torch.device("cpu")
FAST = ["train.epochs=2", "encoder.hidden_channels=8", "encoder.heads=2"]


def labelled(nodes: int = 200, seed: int = 0) -> Data:
    """Two classes that own features tell, and neighbours drawn without regard to them."""
    rng = torch.Generator().manual_seed(seed)
    y = torch.arange(nodes) % 2
    x = torch.randn(nodes, 6, generator=rng)
    x[:, 0] += 3 * y
    edges = torch.randint(nodes, (2, 4 * nodes), generator=rng)
    edges = edges[:, edges[0] != edges[1]]
    return Data(x=x, y=y, edge_index=torch.unique(torch.cat([edges, edges.flip(0)], dim=1), dim=1))


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "SETTINGS", ((), ("method.name=cca-ssg",)))


def chosen(data: Data, folder: RunFolder | None = None) -> selecting.Selected:
    recipe, dataset = recipe_for(data, overrides=FAST)
    return selecting.select(recipe, dataset, 0, CPU, folder=folder)


def test_test_labels_take_no_part() -> None:
    data = labelled()
    first = chosen(data)
    test = stratified_split(data.y)["test"]
    other = data.clone()
    other.y = torch.where(test, 1 - data.y, data.y)
    for split, mask in stratified_split(data.y).items():  # the same split, whatever the labels of the test are
        other[f"{split}_mask"] = mask
    again = chosen(other)
    assert [trial["folds"] for trial in again.trials] == [trial["folds"] for trial in first.trials]


def test_every_trial_is_kept_and_a_run_that_goes_on_reads_them(tmp_path, monkeypatch) -> None:
    folder = RunFolder(tmp_path / "run")
    first = chosen(labelled(), folder)
    folder.check(resume=False)  # the trials alone do not make it a run
    assert {tuple(trial["settings"]) for trial in first.trials} == set(selecting.SETTINGS)
    monkeypatch.setattr(selecting.pretraining, "pretrain_once", None)  # would fail if it were called
    again = chosen(labelled(), folder)
    assert (again.recipe, again.reason) == (first.recipe, first.reason)


def test_the_default_stays_where_nothing_is_better_by_more_than_chance() -> None:
    data = labelled()
    data.y = torch.randint(2, (len(data.y),), generator=torch.Generator().manual_seed(1))
    found = chosen(data)
    assert found.recipe == recipe_for(data, overrides=FAST)[0]


def test_views_that_are_noise_are_left_out() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 2
    told = labels[:, None] + 0.1 * rng.normal(size=(120, 1))
    blocks = {"own": 5 * rng.normal(size=(120, 80)), "two-hop": told, "learned": np.zeros((120, 1))}
    tried = selecting._views_tried(blocks, labels)
    best = max(tried, key=lambda one: one[1].mean())
    assert tried[0][0] == ["own", "two-hop"] and best[0] == ["two-hop"] and best[1].mean() > tried[0][1].mean()


def test_the_card_says_how_it_was_selected(tmp_path) -> None:
    model = gm.pretrain("auto", labelled(), overrides=FAST, select="y", out=tmp_path / "run", progress=False)
    assert "labels" in str(model.trained_on["selected"])
    assert "Settings were selected by labels" in (tmp_path / "run" / "README.md").read_text()
    assert gm.load(tmp_path / "run").trained_on["selected"] == model.trained_on["selected"]


def test_too_few_labels_are_refused() -> None:
    data = labelled(20)
    with pytest.raises(InputError, match="too few"):
        chosen(data)


def test_a_label_and_another_one_to_select_by_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="differ"):
        gm.pretrain("auto", ["nodes.csv", "edges.csv"], columns={"label": "a"}, select="b")
    with pytest.raises(InputError, match="called y"):
        gm.pretrain("auto", from_data(labelled()), select="topic")
