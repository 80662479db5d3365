"""Repeated splits and learning curves of an assay: other molecules every time, one result over all."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

import graphmae as gm
from graphmae.experiments.collect import collect
from graphmae.experiments.folder import RunFolder
from graphmae.results import interval
from graphmae.runtime.errors import InputError

pytest.importorskip("rdkit", reason="RDKit is not installed")
CPU = torch.device("cpu")
QUICK = ['finetune.members=["ecfp-linear"]', "finetune.folds=2"]
RINGS = ["c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccsc1", "c1ccoc1", "C1CCNCC1", "c1cnccn1", "C1CCOC1", "c1ccc2ccccc2c1"]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPHMAE_CACHE", str(tmp_path / "cache"))
    molecules = [f"{'C' * length}{end}{ring}" for length in range(1, 6) for ring in RINGS for end in ("", "O")]
    rows = [f"{text},{len(text)}.5,{2000 + i % 20}" for i, text in enumerate(molecules)]
    path = tmp_path / "assay.csv"
    path.write_text("\n".join(["smiles,y,year", *rows]) + "\n")
    return path


def parts_of(run: Path) -> dict[str, str]:
    return {row["row"]: row["part"] for row in csv.DictReader((run / "split.csv").open())}


def test_splits_are_repeated_and_the_interval_allows_for_their_overlap(table: Path, tmp_path: Path) -> None:
    options = {"targets": ["y"], "overrides": [*QUICK, "data.repeats=2"], "progress": False}
    result = gm.finetune("molecule-zinc", table, out=tmp_path / "run", **options)
    assert result.seeds == [0, 1] and len(set(result.scores)) == 2
    splits = [parts_of(tmp_path / "run" / f"repeat-{k}") for k in range(2)]
    assert splits[0] != splits[1]
    rings = {str(i + 1): i // 2 % len(RINGS) for i in range(90)}
    for split in splits:
        used = [{rings[row] for row in split if split[row] == part} for part in ("train", "val", "test")]
        assert not used[0] & used[1] and not used[1] & used[2] and not used[0] & used[2]  # scaffolds stay together
    summary = json.loads((tmp_path / "run" / "result.json").read_text())
    assert summary["interval"] == pytest.approx(interval(result.scores, result.overlap))
    assert summary["interval"] > interval(result.scores)
    tasks = list(csv.DictReader((tmp_path / "run" / "tasks.csv").open()))
    assert {(row["seed"], row["part"]) for row in tasks} == {
        (str(k), part) for k in range(2) for part in ("val", "test")
    }
    assert all(float(row["rmse"]) > 0 and "spearman" in row for row in tasks)
    (shown,) = (score for score in collect(RunFolder(tmp_path / "run"), CPU).scores if score.kind == "method")
    assert shown.interval == pytest.approx(summary["interval"])
    with pytest.raises(InputError, match=r"one for every split: name one of them, such as .*repeat-0"):
        gm.predict(tmp_path / "run", ["CCO"])
    again = gm.finetune("molecule-zinc", table, out=tmp_path / "run", resume=True, **options)
    assert again.scores == result.scores
    with pytest.raises(InputError, match="is one split"):
        gm.finetune("molecule-zinc", table, split="time:year", out=tmp_path / "time", **options)


def test_a_learning_curve_grows_one_training_part(table: Path, tmp_path: Path) -> None:
    options = {"targets": ["y"], "overrides": QUICK, "split": "time:year", "progress": False}
    points = gm.curve("molecule-zinc", table, out=tmp_path / "curve", sizes=(20, 0.5, 1.0), **options)
    whole = points[-1]["train"]
    assert [point["train"] for point in points] == [20, round(whole / 2), whole]
    assert all(
        point["metric"] == "rmse" and point["metrics"]["rmse"] == pytest.approx(point["mean"]) for point in points
    )
    small, all_ = (parts_of(tmp_path / "curve" / f"train-{count}") for count in (20, whole))

    def rows_of(split: dict[str, str], part: str) -> set[str]:
        return {row for row in split if split[row] == part}

    assert rows_of(small, "test") == rows_of(all_, "test")
    assert rows_of(small, "train") < rows_of(all_, "train") and rows_of(small, "val") < rows_of(all_, "val")
    years = {str(i + 1): i % 20 for i in range(90)}
    assert max(years[row] for row in rows_of(all_, "train")) < min(years[row] for row in rows_of(all_, "test"))
    assert json.loads((tmp_path / "curve" / "curve.json").read_text())["points"] == points
    with pytest.raises(InputError, match=r"is a learning curve; a report shows one of its runs, such as .*train-20"):
        gm.report(tmp_path / "curve", tmp_path / "page.html")
    with pytest.raises(InputError, match="a size must be a share"):
        gm.curve("molecule-zinc", table, out=tmp_path / "none", sizes=(5000,), **options)
