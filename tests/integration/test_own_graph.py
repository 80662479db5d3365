"""Your own graph, from two tables to everything that comes out, through the command line."""

from __future__ import annotations

import csv
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pyarrow.parquet
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import graphmae as gm
from graphmae.cli.main import app
from graphmae.runtime.errors import DataError, GraphMAEError

ROOT = Path(__file__).parents[2]
QUICK = ["--set", "train.epochs=30", "--set", "encoder.hidden_channels=64"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """papers.csv, citations.csv and a model pre-trained on them."""
    place = tmp_path_factory.mktemp("own")
    runpy.run_path(str(ROOT / "examples/two_tables.py"))["main"](place, 400)
    call("pretrain", place / "papers.csv", place / "citations.csv", "--label", "topic", "--out", place / "run", *QUICK)
    return place


def call(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def tables(folder: Path) -> tuple[Path, Path]:
    return folder / "papers.csv", folder / "citations.csv"


def test_from_two_tables_to_a_classifier(folder: Path) -> None:
    call("embed", folder / "run", *tables(folder), "-o", folder / "z.parquet")
    rows = pandas.read_parquet(folder / "z.parquet").set_index("id")
    papers = pandas.read_csv(folder / "papers.csv").set_index("id")
    assert rows.index.tolist() == papers.index.tolist()
    labels = papers["topic"]
    model = LogisticRegression(max_iter=1000).fit(rows[:200], labels[:200])
    assert model.score(rows[200:], labels[200:]) > 0.5
    output = call("evaluate", folder / "run", *tables(folder), "--json")  # the label is that of pre-training
    assert json.loads(output.splitlines()[-1])["mean"] > 50


def test_the_recipe_that_was_chosen_runs_again_to_the_same_weights(folder: Path) -> None:
    text = (folder / "run" / "recipe.toml").read_text()
    assert "[encoder]" in text and "hidden_channels = 64" in text
    call(
        "pretrain", *tables(folder), "--label", "topic", "--recipe", folder / "run" / "recipe.toml",
        "--out", folder / "again",
    )  # fmt: skip
    one, other = (gm.load(folder / name).state_dict() for name in ("run", "again"))
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_every_format_holds_the_same_numbers(folder: Path) -> None:
    for suffix in (".npy", ".npz", ".csv", ".parquet"):
        call("embed", folder / "run", *tables(folder), "-o", folder / f"e{suffix}")
    plain = np.load(folder / "e.npy")
    bundle = np.load(folder / "e.npz")
    assert np.array_equal(bundle["embeddings"], plain) and bundle["ids"][0].startswith("p")
    table = pyarrow.parquet.read_table(folder / "e.parquet")
    assert np.array_equal(np.stack([table.column(f"z{i}").to_numpy() for i in range(plain.shape[1])], 1), plain)
    assert np.allclose(pandas.read_csv(folder / "e.csv").iloc[:, 1:].to_numpy(), plain, atol=1e-5)


def test_rows_and_columns_in_another_order_give_the_same_embedding_of_an_id(folder: Path, tmp_path: Path) -> None:
    frame = pandas.read_csv(folder / "papers.csv", dtype=str).sample(frac=1, random_state=0)
    frame[frame.columns[::-1]].to_csv(tmp_path / "turned.tsv", index=False, sep="\t")
    pandas.read_csv(folder / "citations.csv").sample(frac=1, random_state=1).to_parquet(tmp_path / "edges.parquet")
    call("embed", folder / "run", tmp_path / "turned.tsv", tmp_path / "edges.parquet", "-o", tmp_path / "z.csv")
    call("embed", folder / "run", *tables(folder), "-o", tmp_path / "same.csv")
    one, other = (pandas.read_csv(tmp_path / name).set_index("id") for name in ("z.csv", "same.csv"))
    assert one.index.tolist() == frame["id"].tolist() and other.index.tolist() != frame["id"].tolist()
    assert np.abs(one.loc[other.index].to_numpy() - other.to_numpy()).max() < 1e-5
    model, changed = gm.load(folder / "run"), (tmp_path / "turned.tsv", tmp_path / "edges.parquet")
    scores, same = (dict(gm.anomalies(model, data, device="cpu")) for data in (changed, tables(folder)))
    assert scores == same and list(scores) == frame["id"].tolist()
    graph = gm.data.from_tables(*changed, treatment=model.inputs, quiet=True)
    assert [graph.classes[number] for number in graph.y] == frame["topic"].tolist()
    assert np.allclose(gm.embed(model, graph), one.to_numpy(), atol=1e-5)


def test_another_process_gives_identical_numbers(folder: Path, tmp_path: Path) -> None:
    call("embed", folder / "run", *tables(folder), "-o", tmp_path / "here.npy")
    words = [sys.executable, "-m", "graphmae", "embed", folder / "run", *tables(folder), "-o", tmp_path / "there.npy"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    assert np.array_equal(np.load(tmp_path / "here.npy"), np.load(tmp_path / "there.npy"))


def test_new_nodes_are_embedded_with_the_stored_treatment(folder: Path, tmp_path: Path) -> None:
    papers = pandas.read_csv(folder / "papers.csv")
    edges = pandas.read_csv(folder / "citations.csv")
    new = papers.iloc[:3].assign(id=["new1", "new2", "new3"])
    pandas.concat([papers, new]).to_csv(tmp_path / "more.csv", index=False)
    joined = pandas.DataFrame({"citing": new["id"].to_list(), "cited": papers["id"].to_list()[:3]})
    pandas.concat([edges, joined]).to_csv(tmp_path / "edges.csv", index=False)
    call("embed", folder / "run", tmp_path / "more.csv", tmp_path / "edges.csv", "-o", tmp_path / "z.csv")
    assert len(pandas.read_csv(tmp_path / "z.csv")) == 403


def test_similar_anomalies_impute_links(folder: Path, tmp_path: Path) -> None:
    node = pandas.read_csv(folder / "papers.csv")["id"][0]
    found = call("similar", folder / "run", *tables(folder), "--node", node, "-k", 3, "--json")
    alike = json.loads(found.splitlines()[-1])["similar"]
    assert 95 < alike[0]["percentile"] <= 100 and alike[0]["percentile"] >= alike[2]["percentile"]
    assert len(alike) == 3 and alike[0]["cosine"] >= alike[2]["cosine"] and node not in [a["id"] for a in alike]
    call("anomalies", folder / "run", *tables(folder), "-o", tmp_path / "scores.csv")
    scores = [float(row["anomaly"]) for row in csv.DictReader((tmp_path / "scores.csv").open())]
    assert len(scores) == 400 and len(set(scores)) > 200
    papers = pandas.read_csv(folder / "papers.csv")
    words = [name for name in papers.columns if papers[name].dtype.kind in "if" and name != "id"]
    papers.loc[7, words] = papers.loc[7, words] + 50 * papers[words].std().to_numpy()  # a node like no other
    papers.to_csv(tmp_path / "odd.csv", index=False)
    call("anomalies", folder / "run", tmp_path / "odd.csv", folder / "citations.csv", "-o", tmp_path / "odd-scores.csv")
    odd = [float(row["anomaly"]) for row in csv.DictReader((tmp_path / "odd-scores.csv").open())]
    assert odd[7] > scores[7]
    assert "cells filled" in call("impute", folder / "run", *tables(folder), "-o", tmp_path / "filled.csv")
    one, other = (
        (place / name).read_text().splitlines() for place, name in ((folder, "papers.csv"), (tmp_path, "filled.csv"))
    )
    changed = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    years = pandas.read_csv(folder / "papers.csv")["year"]
    assert len(changed) == years.isna().sum() > 0
    assert all(re.sub(r",\d{4},", ",,", b) == a for a, b in changed)
    out = call("links", *tables(folder), "--set", "train.epochs=5", "--set", "encoder.hidden_channels=32", "--json")
    assert set(json.loads(out.splitlines()[-1])["baselines"]) == {
        "common-neighbours",
        "adamic-adar",
        "katz",
        "degrees",
        "simple-together",
        "raw",
        "untrained",
    }


def test_missing_links_are_named(folder: Path, tmp_path: Path) -> None:
    small = [word for key in ("train.epochs=2", "encoder.hidden_channels=16") for word in ("--set", key)]
    out = call("links", *tables(folder), "--predict", "-k", 5, *small, "-o", tmp_path / "missing.csv", "--json")
    found = json.loads(out.splitlines()[-1])["links"]
    written = pandas.read_csv(tmp_path / "missing.csv")
    assert [link["source"] for link in found] == written["source"].tolist() and len(found) == 5
    known = pandas.read_csv(folder / "citations.csv")
    edges = {frozenset(pair) for pair in known[["citing", "cited"]].to_numpy().tolist()}
    assert not edges & {frozenset(pair) for pair in written[["source", "target"]].to_numpy().tolist()}
    node = written["target"][0]
    assert node in call("links", *tables(folder), "--predict", "--node", node, "-k", 2, *small)


def test_tuning_writes_a_recipe_that_runs(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    search = ["--search", "mask.rate=0.25,0.5", "--search", "train.lr=1e-4..1e-2", "--trials", "3"]
    output = call("tune", *tables(folder), "--label", "topic", *search, *QUICK, "--out", tmp_path / "tuned")
    assert "validation score" in output and len(json.loads((tmp_path / "tuned/trials.json").read_text())["trials"]) == 3
    assert "reconstruction error" in call(
        "tune", *tables(folder), *search[:2], "--trials", "2", *QUICK, "--out", tmp_path / "t2"
    )
    call("recipes", "check", tmp_path / "tuned/recipe.toml")


def test_tensorboard_and_patience_and_parts(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    keys = ["train.tensorboard=true", "train.patience=5", "train.parts=3", "train.batch_size=2", "train.lr=1e-9"]
    sets = [word for key in keys for word in ("--set", key)]
    call("pretrain", *tables(folder), "--out", tmp_path / "run", *QUICK, *sets)
    assert list((tmp_path / "run/tensorboard").glob("events*"))
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 10 and lines[-1]["stop"] is True  # nothing improves at such a rate
    assert gm.load(tmp_path / "run").trained_on["epochs"] == 10


def unlabelled(folder: Path) -> Path:
    pandas.read_csv(folder / "papers.csv").drop(columns="topic").to_csv(folder / "unlabelled.csv", index=False)
    return folder / "unlabelled.csv"


def test_the_model_remembers_what_columns_are_called(folder: Path, tmp_path: Path) -> None:
    papers = pandas.read_csv(folder / "papers.csv").rename(columns={"id": "sku"})
    edges = pandas.read_csv(folder / "citations.csv").rename(columns={"citing": "buyer", "cited": "item"})
    places = tmp_path / "papers.csv", tmp_path / "edges.csv"
    papers.assign(sku="0" + papers["sku"].str[1:]).to_csv(places[0], index=False)
    edges.apply(lambda column: "0" + column.str[1:]).assign(times=1).to_csv(places[1], index=False)
    named = ["--id", "sku", "--source", "buyer", "--target", "item", "--label", "topic"]
    call("pretrain", *places, *named, "--out", tmp_path / "run", *QUICK[2:], "--set", "train.epochs=3")
    call("embed", tmp_path / "run", *places, "-o", tmp_path / "z.csv")
    z = pandas.read_csv(tmp_path / "z.csv", dtype={"sku": str})
    assert z.columns[0] == "sku" and z["sku"][0].startswith("00")
    node = z["sku"][0]
    assert len(call("similar", tmp_path / "run", *places, "--node", node, "-k", 2).splitlines()) == 1 + 2
    call("anomalies", tmp_path / "run", *places, "-o", tmp_path / "odd.csv")
    assert pandas.read_csv(tmp_path / "odd.csv").columns[0] == "sku"
    call("impute", tmp_path / "run", *places, "-o", tmp_path / "filled.csv")
    filled = pandas.read_csv(tmp_path / "filled.csv", dtype=str)
    assert filled["sku"].tolist() == z["sku"].tolist() and not filled["year"].isna().any()


def test_tables_that_moved_are_reported_and_refused(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert call("drift", folder / "run", *tables(folder)).splitlines()[-1] == "nothing has moved"
    call("embed", folder / "run", *tables(folder), "-o", tmp_path / "z.npy", "--strict")
    assert not [record for record in caplog.records if record.message.startswith("drift: ")]
    papers = pandas.read_csv(folder / "papers.csv")
    papers.assign(year=papers["year"] * 1000, title="quite other things").to_csv(tmp_path / "moved.csv", index=False)
    moved = tmp_path / "moved.csv", folder / "citations.csv"
    report = gm.drift(folder / "run", moved)
    assert {row.column for row in report.rows} == {"year", "title"}
    assert call("drift", folder / "run", *moved) == f"{report}\n"
    rows = json.loads(call("drift", folder / "run", *moved, "--json"))["moved"]
    assert [row["sentence"] for row in rows] == report.lines()
    for command in (["embed", "-o", tmp_path / "z.npy"], ["evaluate"], ["drift"]):
        with pytest.raises(DataError, match="not like those of training:\n  - "):
            call(command[0], folder / "run", *moved, "--strict", *command[1:])
    call("embed", folder / "run", *moved, "-o", tmp_path / "z.npy")
    assert sum(record.message.startswith("drift: ") for record in caplog.records) == 2
    graph = gm.data.from_tables(*moved, treatment=gm.load(folder / "run").inputs, quiet=True)
    with pytest.raises(DataError, match="not like those of training"):
        gm.embed(folder / "run", graph, strict=True)
    caplog.clear()
    gm.similar(folder / "run", (papers.assign(year=9000), pandas.read_csv(folder / "citations.csv")), papers["id"][0])
    assert sum(record.message.startswith("drift: year") for record in caplog.records) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (lambda f: ["evaluate", f / "run", unlabelled(f), f / "citations.csv"], "in training it was 'topic'"),
        (
            lambda f: ["evaluate", f / "run", f / "papers.csv", f / "citations.csv", "--label", "venue"],
            "pre-train again",
        ),
        (lambda f: ["embed", f / "run", f / "papers.csv", "-o", f / "q.npy"], "which columns are an edge's two ends"),
        (lambda f: ["drift", f / "run", "synthetic"], "give it a node table and an edge table"),
        (lambda f: ["embed", f / "run", "synthetic", "-o", f / "q.npy"], "give it a node table and an edge table"),
        (lambda f: ["pretrain", "synthetic", "--label", "x"], "names a column of a table"),
        (lambda f: ["pretrain", f / "nothing.csv", f / "citations.csv"], "no file"),
        (lambda f: ["pretrain", f / "papers.csv", f / "citations.csv", "--id", "idd"], "did you mean 'id'"),
        (lambda f: ["similar", f / "run", f / "papers.csv", f / "citations.csv", "--node", "p9"], "unknown node 'p9'"),
        (lambda f: ["links", f / "papers.csv", f / "citations.csv", "--node", "p1"], "add --predict"),
        (lambda f: ["links", "synthetic", "--predict", "--seeds", "0-2"], "leave out --way and further --seeds"),
        (
            lambda f: ["pretrain", f / "papers.csv", f / "citations.csv", "--set", "data.kinds={year='colour'}"],
            "unknown kind",
        ),
    ],
)
def test_what_is_wrong_is_said(folder: Path, words: Callable[[Path], list[object]], message: str) -> None:
    with pytest.raises(GraphMAEError, match=message):
        call(*words(folder))


def test_a_run_that_would_not_fit_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmae.experiments.memory.free_bytes", lambda device: 1_000_000)
    with pytest.raises(GraphMAEError, match=r"train it in parts \(--set train.parts="):
        call("pretrain", *tables(folder), "--out", folder / "never")
