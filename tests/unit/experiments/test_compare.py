"""Methods side by side: the same number of trials for all, chosen on validation, nothing run twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphmae as gm
from graphmae import methods
from graphmae.experiments import compare as comparing
from graphmae.experiments import pretrain as pretraining
from graphmae.experiments.trials import trial_settings
from graphmae.reporting.contest import Contest, Line
from graphmae.runtime.errors import GraphMAEError, InputError

SMALL = ("train.epochs=3", "encoder.hidden_channels=8", "evaluation.epochs=5", "data.num_nodes=80")


def contest(out: Path | None, names: list[str], **options: object) -> Contest:
    made = gm.recipe("default", *SMALL)
    data = gm.data.load("synthetic", num_nodes=80)
    settings = {"seeds": (0, 1), "budget": 2, "device": "cpu", "out": out, **options}
    return comparing.compare(data, made, names, **settings)  # type: ignore[arg-type]


def test_all_get_the_same_and_a_finished_line_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, int]] = []
    once = pretraining.pretrain_once

    def counted(recipe: gm.Recipe, dataset: object, seed: int, *rest: object, **options: object) -> object:
        calls.append((recipe.method.name, seed))
        return once(recipe, dataset, seed, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pretraining, "pretrain_once", counted)
    found = contest(tmp_path / "c", ["graphmae", "cca-ssg"])
    trial = comparing.TRIAL_SEED
    for name in ("graphmae", "cca-ssg"):  # two trials, two seeds, two with edges held out; memory in another process
        assert [seed for method, seed in calls if method == name] == [trial, trial, 0, 1, 0, 1]
    assert [line.name for line in found.lines] == [
        "raw",
        "averaged",
        "propagated",
        "netmf",
        "netmf-propagated",
        "untrained",
        "adamic-adar",
        "graphmae",
        "cca-ssg",
    ]
    assert all(len(line.scores["links"]) == 2 for line in found.lines)
    for line in found.lines[7:]:
        assert {"score", "links", "nmi", "knn", "all-layers", "l2", "smooth", "converged"} <= line.scores.keys()
        assert all(len(scores) == 2 for scores in line.scores.values())
        assert len(line.trials) == 2 and line.seconds > 0 and line.peak_bytes >= 0
        assert line.settings == max(line.trials, key=lambda trial: trial["score"])["settings"]
    calls.clear()
    assert contest(tmp_path / "c", ["graphmae", "cca-ssg"]).lines == found.lines
    assert not calls
    with pytest.raises(InputError, match="another comparison"):
        contest(tmp_path / "c", ["graphmae"], seeds=(5,))
    again = Contest.load(tmp_path / "c" / "compare.json")
    assert again.text() == found.text() and "| accuracy" in (tmp_path / "c" / "compare.md").read_text()


def test_trials_are_distinct_the_same_number_for_all_and_begin_with_the_defaults() -> None:
    base = gm.recipe("default")
    for name in methods.names():
        tried = trial_settings(name, base, 5)
        assert len(tried) == 5 and tried[0] == [] and len({tuple(one) for one in tried}) == 5
        assert tried == trial_settings(name, base, 5)
        assert trial_settings(name, base, 1) == [[]]


def test_trials_differ_from_what_the_recipe_has() -> None:
    base = gm.recipe("default", "mask.rate=0.75", "loss.gamma=2")
    tried = trial_settings("graphmae", base, 100)
    assert len(tried) == len({tuple(one) for one in tried}) == 81
    assert not any("mask.rate=0.75" in one or "loss.gamma=2" in one for one in tried)
    assert any("mask.rate=0.5" in one for one in tried)


def test_other_data_of_the_same_name_is_another_comparison(tmp_path: Path) -> None:
    contest(tmp_path, ["dgi"], budget=1, links=False)
    made = gm.recipe("default", *SMALL)
    with pytest.raises(InputError, match="another comparison"):
        comparing.compare(
            gm.data.load("synthetic", num_nodes=80, seed=1), made, ["dgi"], seeds=(0, 1), budget=1, links=False,
            device="cpu", out=tmp_path,
        )  # fmt: skip


def test_a_graph_with_too_few_edges_is_compared_without_links() -> None:
    from dataclasses import replace

    from torch_geometric.data import Data

    data = gm.data.load("synthetic", num_nodes=80)
    graph = data.graphs[0]
    loops = graph.edge_index[:, graph.edge_index[0] == graph.edge_index[1]]
    few = replace(data, graphs=(Data(x=graph.x, edge_index=loops, y=graph.y),))
    found = comparing.compare(few, gm.recipe("default", *SMALL), ["dgi"], seeds=(0,), budget=1, device="cpu")
    assert [line.problem for line in found.lines] == [""] * 7 and "links" not in found.lines[-1].scores


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown method 'cca'.*cca-ssg"):
        contest(None, ["cca"])
    with pytest.raises(InputError, match="infograph is not for synthetic: it learns from many graphs and molecules"):
        contest(None, ["infograph"])
    with pytest.raises(InputError, match="budget"):
        contest(None, ["dgi"], budget=0)


def test_every_benchmark_recipe_of_a_method_is_found() -> None:
    assert comparing.own_recipe("graphmae", "cora") == "node/cora"
    assert comparing.own_recipe("graphmae", "mutag") == "graph/mutag"
    assert comparing.own_recipe("cca-ssg", "pubmed") == "cca-ssg/pubmed"
    assert comparing.own_recipe("cca-ssg", "memory") == ""


def test_the_sentence_says_which_differences_are_real() -> None:
    def line(name: str, scores: list[float], group: str = "same") -> Line:
        return Line(name, group, {"score": scores})

    lines = [line("raw", [50.0, 51, 50], "baseline"), line("dgi", [80.0, 81, 80]), line("grace", [80.5, 80, 80])]
    text = " ".join(Contest("cora", "accuracy", [0, 1, 2], lines).sentences())
    assert "DGI has the highest accuracy: 80.3." in text
    assert "more than chance against raw features (+30.0 ± 0.0" in text
    assert "Not shown to be better than GRACE (+0.2" in text
    one = Contest("cora", "accuracy", [0], [line("dgi", [80.0])])
    assert "One seed does not say" in " ".join(one.sentences())


def test_a_method_that_fails_does_not_end_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, batch: object) -> None:
        raise GraphMAEError("too large")

    monkeypatch.setattr(methods.DGI, "loss", fail)
    found = contest(None, ["dgi", "cca-ssg"], budget=1, links=False)
    assert [bool(line.problem) for line in found.lines if line.group == "same"] == [True, False]
    assert found.choices()[0].startswith("DGI could not be run: ")
    assert found.sentences()[0].startswith("With the same encoder CCA-SSG")


def test_links_alone_are_compared_without_labels() -> None:
    made, data = gm.recipe("default", *SMALL), gm.data.load("synthetic", num_nodes=80)
    from dataclasses import replace

    from torch_geometric.data import Data

    graph = data.graphs[0]
    bare = replace(data, graphs=(Data(x=graph.x, edge_index=graph.edge_index),), splits={})
    found = comparing.compare(bare, made, ["gae"], seeds=(0,), device="cpu")
    assert [line.name for line in found.lines] == ["adamic-adar", "gae"]
    assert all(line.scores.keys() == {"links"} for line in found.lines)
    assert found.metric == "roc-auc" and "ROC-AUC of links" in found.sentences()[0]
