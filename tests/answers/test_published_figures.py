"""A published figure stands beside a score only where the settings are the published ones."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import graphmae as gm
from commands import graphmae
from graphmae.config import to_toml
from graphmae.registry import find_registry
from graphmae.runtime.errors import GraphMAEError

WITH_FIGURE = [name for name in gm.recipes() if gm.recipe(name).published is not None]
# What changes no score of the row the figure stands beside.
HARMLESS = {
    "train": {"deterministic", "checkpoint_activations", "workers", "tensorboard"},
    "evaluation": {
        "baselines", "converged", "choose", "every", "supervised_lr", "supervised_weight_decay", "supervised_epochs",
    },
    "finetune": {"baselines", "refit"},
}  # fmt: skip


def tables(folder: Path) -> tuple[str, str]:
    """Forty papers of two topics, as a node table and an edge table."""
    draw = random.Random(0)
    rows = [f"p{n},{draw.random():.3f},{draw.random() + n % 2:.3f},{'ab'[n % 2]}" for n in range(40)]
    edges = [f"p{n},p{(n + step) % 40}" for n in range(40) for step in (2, 4)]
    (folder / "nodes.csv").write_text("id,one,two,topic\n" + "\n".join(rows) + "\n")
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    return str(folder / "nodes.csv"), str(folder / "edges.csv")


@pytest.fixture
def own(tmp_path: Path) -> dict[str, Any]:
    """A recipe of one's own with a figure, on a graph of forty nodes."""
    nodes, edges = tables(tmp_path)
    raw = gm.recipe("default", "train.epochs=2", "encoder.hidden_channels=8", "evaluation.epochs=2").to_dict()
    raw["data"] = {"name": "tables", "nodes": nodes, "edges": edges, "label": "topic"}
    raw["evaluation"]["baselines"] = []
    raw["published"] = {"mean": 84.2, "std": 0.4}
    return raw


def changed_setting(raw: dict[str, Any], draw: random.Random) -> tuple[str, str] | None:
    """One key of a recipe and another value for it; None where none is known."""
    section = draw.choice([key for key in raw if key not in ("about", "published")])
    key = draw.choice(sorted(raw[section]))
    if key in HARMLESS.get(section, ()):
        return None
    value = raw[section][key]
    if key == "name":
        other: Any = draw.choice([name for name in find_registry(section).names() if name != value] or [""])
    elif isinstance(value, bool):
        other = not value
    elif isinstance(value, int):
        other = value + draw.randint(1, 5)
    elif isinstance(value, float):
        other = value + 0.0625
    else:
        return None
    return f"{section}.{key}", json.dumps(other)


@pytest.mark.parametrize("name", WITH_FIGURE)
def test_one_changed_setting_takes_the_figure_away(name: str) -> None:
    """ "DGI, published 84.2 ± 0.4": GraphMAE's figure stood beside any method, mask and number of epochs."""
    draw, tried = random.Random(name), 0
    while tried < 2:
        change = changed_setting(gm.recipe(name).to_dict(), draw)
        if change is None:
            continue
        key, value = change
        try:
            made = gm.recipe(name, f"{key}={value}")
        except GraphMAEError:  # no such recipe
            continue
        tried += 1
        assert made.published is None, f"{name} with {key}={value}"
        assert gm.recipe(name).override(f"{key}={value}").published is None


@pytest.mark.parametrize("name", WITH_FIGURE)
def test_the_figure_stays_where_nothing_is_changed(name: str) -> None:
    """A figure that vanishes from a run of the published settings would be as wrong."""
    recipe, draw = gm.recipe(name), random.Random(name)
    assert recipe.published is not None
    raw = recipe.to_dict()
    same = [(s, k) for s in raw for k, v in raw[s].items() if isinstance(v, bool | int | float) and s != "published"]
    section, key = draw.choice(same)
    harmless = [f"{s}.{k}={json.dumps(not raw[s][k])}" for s, k in same if k in ("tensorboard", "converged")]
    for changes in ([f"{section}.{key}={json.dumps(raw[section][key])}"], harmless, ["evaluation.baselines=[]"]):
        made = gm.recipe(name, *changes)
        assert made.published == recipe.published, changes
    assert gm.recipe(raw).published == recipe.published  # as stored, and read again


def test_a_default_that_is_written_out_changes_nothing() -> None:
    """`--set mask.per_graph=true` says what the mask does anyway: the experiment is the published one."""
    assert gm.recipe("node/cora", "mask.per_graph=true").published is not None
    assert gm.recipe("node/cora", "mask.per_graph=false").published is None


def test_a_recipe_that_is_changed_in_python_loses_the_figure(own: dict[str, Any]) -> None:
    """`dataclasses.replace` and a dictionary that was edited are changes as `--set` is."""
    recipe = gm.recipe("node/cora")
    assert replace(recipe, train=replace(recipe.train, epochs=10)).published is None
    assert replace(recipe, train=replace(recipe.train, workers=0)).published is not None
    edited = recipe.to_dict()
    edited["mask"]["rate"] = 0.9
    assert gm.recipe(edited).published is None


def test_an_edited_dictionary_with_further_changes_loads_without_the_figure() -> None:
    """It was refused: the figure was taken away, and an empty one left in its place."""
    base = gm.recipe("graph/mutag").to_dict()
    base["train"]["epochs"] = 3
    assert gm.recipe(base, "train.batch_size=16").published is None
    assert gm.recipe(gm.recipe("graph/mutag").to_dict(), "train.deterministic=true").published is not None


def test_a_copied_recipe_that_is_edited_has_no_figure(tmp_path: Path) -> None:
    """`graphmae recipes copy`, another method in the file, and the table said "DGI, published 84.2 ± 0.4"."""
    assert graphmae("recipes", "copy", "node/cora", "mine.toml", cwd=tmp_path).returncode == 0
    file = tmp_path / "mine.toml"
    assert gm.recipe(file).published is not None
    file.write_text(file.read_text().replace("epochs = 1500", "epochs = 2"))
    assert gm.recipe(file).published is None


def test_a_figure_that_is_given_with_the_change_is_shown() -> None:
    """Who writes a figure for other settings into a recipe, or with --set, means it."""
    made = gm.recipe("node/cora", "mask.rate=0.6", "published.mean=83.0", "published.source=mine")
    assert made.published is not None and (made.published.mean, made.published.source) == (83.0, "mine")


def test_result_table_and_page_have_the_figure_of_these_settings_only(own: dict[str, Any], tmp_path: Path) -> None:
    """The table, result.json and the page of ten epochs of DGI said "published 84.2"."""
    for number, (change, shown) in enumerate([((), True), (("method.name=dgi",), False), (("train.epochs=3",), False)]):
        out = tmp_path / f"run-{number}"
        result = gm.run(own, range(1), out, overrides=change)
        stored = json.loads((out / "result.json").read_text())
        assert (result.published is not None) == shown == (stored["published"] is not None)
        assert any("published" in line[0] for line in result.table()[1]) == shown
        gm.report(out, out / "report.html")
        assert ("84.2" in (out / "report.html").read_text()) == shown
        if shown:
            assert stored["published"]["mean"] == 84.2 and gm.Result.load(out / "result.json").published


def test_the_command_line_shows_no_figure_of_other_settings(own: dict[str, Any], tmp_path: Path) -> None:
    """`graphmae run node/cora --set method.name=dgi` printed GraphMAE's figure under DGI's name."""
    file = tmp_path / "mine.toml"
    file.write_text(to_toml(gm.recipe(own)))
    plain = graphmae("run", file, "--out", tmp_path / "a", "--device", "cpu")
    other = graphmae("run", file, "--out", tmp_path / "b", "--device", "cpu", "--set", "method.name=dgi")
    assert plain.returncode == other.returncode == 0, plain.stderr + other.stderr
    assert "84.2" in plain.stdout and "84.2" not in other.stdout


def test_a_run_of_an_older_version_is_resumed(own: dict[str, Any], tmp_path: Path) -> None:
    """recipe.json of an older run has the figure in another form; the settings are the same all the same."""
    gm.run(own, range(1), tmp_path / "run", overrides=["train.epochs=3"])
    stored = json.loads((tmp_path / "run/recipe.json").read_text())
    stored["published"] = {**asdict(gm.recipe("node/cora").published), "mean": 84.2}  # type: ignore[call-overload]
    (tmp_path / "run/recipe.json").write_text(json.dumps(stored))
    assert gm.run(own, range(2), tmp_path / "run", overrides=["train.epochs=3"], resume=True).seeds == [0, 1]
