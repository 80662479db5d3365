"""From the folder of a run to the page: what is found, what is left out, what is said where something is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import graphmae as gm
from graphmae.experiments.collect import collect
from graphmae.experiments.folder import RunFolder
from graphmae.experiments.points import MOST_FACETS
from graphmae.inference import projection
from graphmae.reporting import records
from graphmae.reporting.contest import Contest, Line
from graphmae.reporting.page import Sheet
from graphmae.runtime.errors import InputError

CPU = torch.device("cpu")
FAST = ["embedding.views=[]", "encoder.hidden_channels=16", "train.patience=0"]
COLUMNS = {"id": "name", "label": "team"}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Without t-SNE, which has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "MOST_TSNE", 4)
        yield


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """130 people in two teams; one is called as a script ends, and rows are not in the order of their names."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    names = ["</script>", *(f"p{i}" for i in rng.permutation(129))]
    rows = [
        f"{name},{'red' if i % 2 else 'blue'},{i % 2 + rng.normal():.3f},{['x', 'y', 'z'][i % 3]},note of {i}"
        for i, name in enumerate(names)
    ]
    nodes, edges = folder / "people.csv", folder / "knows.csv"
    nodes.write_text("name,team,height,kind,remark\n" + "\n".join(rows) + "\n")
    pairs = [(names[i], names[(i + 2 * k) % 130]) for i in range(130) for k in (1, 2)]
    edges.write_text("source,target\n" + "\n".join(f"{a},{b}" for a, b in pairs) + "\n")
    return nodes, edges


@pytest.fixture(scope="module")
def trained(tables: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "people"
    gm.pretrain("auto", list(tables), 2, out, overrides=FAST, columns=COLUMNS, progress=False)
    return out


@pytest.fixture(scope="module")
def people(trained: Path) -> Sheet:
    return collect(RunFolder(trained), CPU)


def test_a_pre_training_on_tables(people: Sheet, tables: tuple[Path, Path]) -> None:
    assert people.points is not None and people.spectrum is not None and not people.notes
    text = tables[0].read_text().splitlines()[1:]
    assert list(people.points.ids) == [line.split(",")[0] for line in text], "points are the rows of the table"
    facets = {facet.name: facet for facet in people.points.facets}
    assert {name: facets[name].kind for name in ("team", "height", "kind", "remark")} == {
        "team": "category", "height": "number", "kind": "category", "remark": "text",
    }  # fmt: skip
    assert list(facets["team"].values) == [line.split(",")[1] for line in text]
    assert np.allclose(facets["height"].values, [float(line.split(",")[2]) for line in text])
    assert "name" not in facets
    assert people.points.errors is not None and len(people.points.unusual) == 20
    assert {purity.facet for purity in people.points.purity} == {"team", "kind"}
    assert people.curves[0].epochs == [1, 2] and set(people.curves[0].values) == {"loss", "lr"}


def test_why_settings_were_chosen_and_where_it_ran(people: Sheet, trained: Path) -> None:
    assert any("epochs" in line for line in people.reasons) and len(people.reasons) > 3
    assert "changed by you" in people.reasons[-1] and "encoder.hidden_channels=16" in people.reasons[-1]
    machine = dict(people.machine)
    assert machine["hardware"] and machine["torch"] and machine["time"] and machine["largest memory"]
    stored = json.loads((trained / "environment.json").read_text())
    assert set(stored) == {"hardware", "versions", "commit", "seconds", "peak_bytes"}
    again = gm.recipe(trained / "recipe.toml")
    assert again.about.notes.splitlines() == [*people.reasons]


def test_columns_are_chosen_and_private_tables_stay_private(
    trained: Path, tables: tuple[Path, Path], tmp_path: Path
) -> None:
    some = collect(RunFolder(trained), CPU, columns=["height"])
    assert some.points is not None and [facet.name for facet in some.points.facets] == ["height"]
    none = collect(RunFolder(trained), CPU, columns=[])
    assert none.points is not None and not none.points.facets
    out = tmp_path / "private"
    gm.pretrain(
        "auto", list(tables), 1, out, overrides=FAST, columns=COLUMNS, private=True, progress=False, report=True
    )
    page = (out / "report.html").read_text()
    assert "p17" not in page and "remark" not in page and "note of" not in page
    hidden = collect(RunFolder(out), CPU).points
    assert hidden is not None and list(hidden.ids[:2]) == ["0", "1"]
    assert {facet.name for facet in hidden.facets} <= {"neighbours", "split"}
    assert MOST_FACETS >= 10


def test_data_that_is_gone_leaves_the_rest_of_the_page(trained: Path, tmp_path: Path) -> None:
    recipe = json.loads((trained / "recipe.json").read_text())
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in trained.iterdir():
        (moved / file.name).write_bytes(file.read_bytes())
    recipe["data"]["nodes"] = str(tmp_path / "gone.csv")
    (moved / "recipe.json").write_text(json.dumps(recipe))
    sheet = collect(RunFolder(moved), CPU)
    assert sheet.points is None and sheet.curves and "cannot be had" in sheet.notes[0]
    gm.report(moved, tmp_path / "r.html")
    assert "cannot be had" in (tmp_path / "r.html").read_text()


def test_a_graph_that_is_too_large_has_no_map_and_a_note(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmae.experiments.collect.MOST_NODES", 100)
    sheet = collect(RunFolder(trained), CPU)
    assert sheet.points is None and "130 nodes" in sheet.notes[0]


def test_one_training_on_graphs(tmp_path: Path) -> None:
    from torch_geometric.data import Data

    generator = torch.Generator().manual_seed(0)
    graphs = []
    for number in range(24):
        size = 4 + number % 5
        ring = torch.stack([torch.arange(size), torch.arange(size).roll(1)])
        x = torch.rand(size, 4, generator=generator) + number % 2
        graphs.append(Data(x=x, edge_index=ring, y=torch.tensor([number % 2])))
    model = gm.GraphMAE(gm.encoders.GIN(4, hidden_channels=8), gm.decoders.GIN(8, out_channels=4))
    gm.pretrain(model, graphs, 2, tmp_path / "run", batch_size=8, progress=False, report=True)
    sheet = collect(RunFolder(tmp_path / "run"), CPU, data=graphs)
    assert sheet.points is not None and sheet.points.what == "graph" and len(sheet.points.ids) == 24
    assert sheet.points.errors is not None and all(score is None for _, _, score in sheet.points.unusual)
    assert [facet.name for facet in sheet.points.facets] == ["class", "nodes", "edges"]
    without = collect(RunFolder(tmp_path / "run"), CPU)
    assert without.points is None and "data in memory" in without.notes[0]


def test_a_comparison(tmp_path: Path) -> None:
    lines = [
        Line("raw", "baseline", {"score": [60.0, 61.0]}),
        Line("graphmae", "same", {"score": [70.0, 72.0]}, 1.0, 10, ["mask.rate=0.75"], [{"score": 1.0}]),
        Line("dgi", "same", problem="no memory"),
    ]
    Contest("<b>", "accuracy", [0, 1], lines, "a machine", {"torch": "2"}, "abc").save(tmp_path)
    sheet = collect(RunFolder(tmp_path), CPU)
    assert [(score.label, score.kind) for score in sheet.scores] == [
        ("raw features", "baseline"),
        ("GraphMAE", "method"),
    ]
    assert sheet.scores[1].mean == 71 and sheet.scores[1].interval == pytest.approx(12.706, abs=1e-2)
    assert "DGI could not be run: no memory" in sheet.notes
    assert (sheet.settings[0].key, sheet.settings[0].value) == ("GraphMAE (the same encoder for all)", "mask.rate=0.75")
    gm.report(tmp_path, tmp_path / "report.html")
    assert "&lt;b&gt;" in (tmp_path / "report.html").read_text()
    (tmp_path / "compare.json").write_text('{"lines": 3}')
    with pytest.raises(InputError, match="is not a comparison"):
        collect(RunFolder(tmp_path), CPU)


def test_settings_say_what_was_changed() -> None:
    recipe = gm.recipe("node/cora", "mask.rate=0.75").to_dict()
    found = {setting.key: setting for setting in records.settings_of(recipe, "node/cora")}
    assert found["mask.rate"].is_changed and found["mask.rate"].why == "changed: recipe node/cora has 0.5"
    assert not found["train.lr"].is_changed and found["train.lr"].why == "recipe node/cora"
    assert not any(setting.is_changed for setting in records.settings_of(recipe))


def test_a_log_that_was_cut_off(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text('{"epoch": 1, "loss": 1.0, "lr": 0.1}\n{"epoch": 2, "loss": NaN, "lr": 0.1}\n{"epoch": 3, "lo')
    curve = records.curve_of("seed 0", log)
    assert list(curve.epochs) == [1, 2] and np.isnan(curve.values["loss"][1])


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run"):
        gm.report(tmp_path, tmp_path / "r.html")
    with pytest.raises(InputError, match="is not a folder"):
        gm.report(tmp_path / "nowhere", tmp_path / "r.html")
    with pytest.raises(InputError, match="unknown format"):
        gm.report(tmp_path, tmp_path / "r.pdf")
    with pytest.raises(InputError, match="at least one run"):
        gm.report([], tmp_path / "r.html")
    (tmp_path / "recipe.json").write_text("{}")
    with pytest.raises(InputError, match="not finished"):
        gm.report(tmp_path, tmp_path / "r.html")
    with pytest.raises(InputError, match="name one with out"):
        gm.pretrain("auto", "synthetic", 1, report=True)
