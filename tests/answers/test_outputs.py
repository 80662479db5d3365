"""What a command writes is never one of the files it reads, and a link is followed or refused in a sentence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import graphmae as gm
from commands import graphmae
from graphmae.runtime.errors import InputError


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tables, molecules, a recipe, a graph on disk and a small model of the tables."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(0)
    rows = [f"p{i:02d},{i % 3},{'' if i % 7 == 0 else round(float(rng.normal()), 3)}" for i in range(40)]
    (folder / "nodes.csv").write_text("\n".join(["id,shade,size", *rows]) + "\n")
    ends = [(i, (i + step) % 40) for i in range(40) for step in (1, 2)]
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"p{a:02d},p{b:02d}\n" for a, b in ends))
    (folder / "new.csv").write_text("smiles,active\nCCO,1\nc1ccccc1,0\n")
    (folder / "recipe.toml").write_text(
        '[data]\nname = "synthetic"\n[encoder]\nname = "gcn"\nhidden_channels = 8\n[train]\nepochs = 1\n'
    )
    tables = [str(folder / name) for name in ("nodes.csv", "edges.csv")]
    gm.pretrain("auto", tables, 1, folder / "model", overrides=["encoder.hidden_channels=8"], progress=False)
    (folder / "model" / "answers.csv").write_text("of a run\n")
    gm.store(tables, folder / "stored")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files if file.name != ".lock"}


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stderr + done.stdout
    assert done.stdout == "" and "Traceback" not in done.stderr
    return done.stderr


TABLES = ["nodes.csv", "edges.csv"]
TO_A_FILE = {
    "embed": ["embed", "model", *TABLES],
    "embed-stored": ["embed", "model", "stored"],
    "impute": ["impute", "model", *TABLES],
    "anomalies": ["anomalies", "model", *TABLES],
    "links": ["links", *TABLES, "--predict", "--recipe", "recipe.toml"],
    "predict": ["predict", "model", "new.csv"],
    "explain": ["explain", "model", "new.csv"],
}
READ = {
    "embed": ["nodes.csv", "edges.csv", "model/answers.csv"],
    "embed-stored": ["stored/ids.parquet", "stored/features.npy"],
    "impute": ["nodes.csv", "edges.csv", "model/answers.csv"],
    "anomalies": ["nodes.csv", "edges.csv", "model/answers.csv"],
    "links": ["nodes.csv", "edges.csv"],
    "predict": ["new.csv", "model/answers.csv"],
    "explain": ["new.csv", "model/answers.csv"],
}


@pytest.mark.parametrize(("command", "out"), [(name, out) for name, outs in READ.items() for out in outs])
def test_a_file_that_is_read_is_not_written(inputs: Path, command: str, out: str) -> None:
    """`graphmae embed M nodes.csv edges.csv -o nodes.csv` replaced the node table by 1.5 MB of numbers, exit code 0."""
    before = contents(inputs)
    said = refused(graphmae(*TO_A_FILE[command], "-o", out, cwd=inputs))
    assert f"--out {out}" in said and "choose another file" in said
    assert contents(inputs) == before


@pytest.mark.parametrize("way", ["dots", "absolute", "symlink", "hard link", "link to the folder", "input by a link"])
def test_another_name_of_the_same_file_is_found_out(inputs: Path, tmp_path: Path, way: str) -> None:
    """`-o ./a/../a/nodes.csv` overwrote the table as well: names were compared, not files."""
    nodes, given = inputs / "nodes.csv", "nodes.csv"
    out = tmp_path / "out.csv"
    if way == "dots":
        out = inputs / "model" / ".." / "nodes.csv"
    elif way == "absolute":
        out = nodes
    elif way == "symlink":
        out.symlink_to(nodes)
    elif way == "hard link":
        os.link(nodes, out)
    elif way == "link to the folder":
        (tmp_path / "there").symlink_to(inputs)
        out = tmp_path / "there" / "nodes.csv"
    else:
        (tmp_path / "given.csv").symlink_to(nodes)
        given, out = str(tmp_path / "given.csv"), nodes
    before = contents(inputs)
    assert "choose another file" in refused(graphmae("embed", "model", given, "edges.csv", "-o", out, cwd=inputs))
    assert contents(inputs) == before


@pytest.mark.parametrize("edges", [False, True])
def test_python_refuses_as_the_command_line_does(inputs: Path, edges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`gm.embed(model, tables, out="nodes.csv")` lost the table without a word."""
    monkeypatch.chdir(inputs)
    model, before, out = gm.load("model"), contents(inputs), TABLES[edges]
    for call in (
        lambda: gm.embed(model, TABLES, out=out),
        lambda: gm.embed("model", [Path(name) for name in TABLES], out=Path(out)),
        lambda: gm.anomalies(model, TABLES, out=out),
        lambda: gm.impute(model, *TABLES, out=out),
        lambda: gm.predict_links(TABLES, out=out, progress=False),
        lambda: gm.predict("model", out, out=out),
        lambda: gm.explain("model", out, out),
    ):
        with pytest.raises(InputError, match="choose another file"):
            call()
    assert contents(inputs) == before


FOLDERS = {
    "pretrain": ["pretrain", *TABLES, "--epochs", "1"],
    "compare": ["compare", *TABLES, "--methods", "graphmae", "--budget", "1", "--seeds", "0"],
    "tune": ["tune", *TABLES, "--trials", "1", "--recipe", "recipe.toml"],
    "store": ["store", *TABLES],
    "run": ["run", "recipe.toml"],
    "reproduce": ["reproduce", "node", "--only", "citeseer", "--seeds", "1"],
    "convert": ["convert", "checkpoint.pt"],
    "finetune": ["finetune", "molecule-zinc", "new.csv"],
    "curve": ["curve", "molecule-zinc", "new.csv"],
}


@pytest.mark.parametrize("command", FOLDERS)
@pytest.mark.parametrize("out", [".", "model", "nodes.csv"])
def test_a_folder_with_other_files_is_not_written_into(inputs: Path, command: str, out: str) -> None:
    """`graphmae compare --out FOLDER-WITH-MY-DATA` wrote among the tables, and `tune` over the recipe it had read."""
    (inputs / "checkpoint.pt").write_bytes(b"")
    before = contents(inputs)
    said = refused(graphmae(*FOLDERS[command], "--out", out, cwd=inputs))
    assert "another --out" in said
    assert contents(inputs) == before
    assert not (inputs / ".lock").exists()


def test_the_recipe_that_is_searched_from_stays(inputs: Path, tmp_path: Path) -> None:
    """`tune --recipe tuned/recipe.toml --out tuned` wrote its best recipe over the one it had been given."""
    (tmp_path / "trials.json").write_text("{}")
    recipe = tmp_path / "recipe.toml"
    recipe.write_bytes((inputs / "recipe.toml").read_bytes())
    said = refused(graphmae("tune", *TABLES, "--recipe", recipe, "--trials", "1", "--out", tmp_path, cwd=inputs))
    assert "recipe.toml" in said and "choose another" in said
    assert recipe.read_bytes() == (inputs / "recipe.toml").read_bytes()


def test_a_file_can_be_written_again(inputs: Path, tmp_path: Path) -> None:
    """A check that refused whatever is there would refuse every nightly job, and results in the model's folder."""
    for out in (tmp_path / "z.parquet", inputs / "model" / "z.parquet"):
        for _ in range(2):
            gm.embed(inputs / "model", [inputs / name for name in TABLES], out=out)
    out.unlink()


@pytest.mark.parametrize("name", ["z.csv", "z.npy", "z.parquet"])
def test_a_link_is_written_through(inputs: Path, tmp_path: Path, name: str) -> None:
    """`-o latest.csv`, a link to where results are kept, was replaced by a file, and its target stayed as it was."""
    kept, link = tmp_path / "kept", tmp_path / name
    kept.mkdir()
    (kept / "of-today").write_text("old")
    link.symlink_to(kept / "of-today")
    gm.embed(inputs / "model", [inputs / table for table in TABLES], out=link)
    assert link.is_symlink() and (kept / "of-today").stat().st_size > 1000
    assert [file.name for file in kept.iterdir()] == ["of-today"]


def test_a_graph_on_disk_is_embedded_through_a_link(inputs: Path, tmp_path: Path) -> None:
    """Embeddings that are mapped from their file take another way to it than those in memory."""
    (tmp_path / "kept").mkdir()
    target, link = tmp_path / "kept" / "rows", tmp_path / "z.npy"
    target.write_text("old")
    link.symlink_to(target)
    gm.pretrain("auto", inputs / "stored", 1, tmp_path / "big", overrides=["encoder.hidden_channels=8"], progress=False)
    gm.embed(tmp_path / "big", inputs / "stored", out=link)
    assert link.is_symlink() and len(np.load(target)) == 40
    assert [file.name for file in target.parent.iterdir()] == ["rows"]


def test_what_is_no_ordinary_file_is_refused(inputs: Path, tmp_path: Path) -> None:
    """A pipe was replaced by a file, a folder failed after all the work, and a dangling link made a file elsewhere."""
    pipe, folder, dangling = (tmp_path / name for name in ("pipe.csv", "folder.csv", "dangling.csv"))
    os.mkfifo(pipe)
    folder.mkdir()
    dangling.symlink_to(tmp_path / "gone" / "z.csv")
    for out, sentence in ((pipe, "is not an ordinary file"), (folder, "is a folder"), (dangling, "does not exist")):
        assert sentence in refused(graphmae("embed", "model", *TABLES, "-o", out, cwd=inputs))
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_by_a_dangling_link_is_refused(inputs: Path, tmp_path: Path, command: str) -> None:
    """`pretrain --out dang`, a dangling link, ended in "dang/.lock cannot be written: file exists"."""
    (inputs / "checkpoint.pt").write_bytes(b"")
    link = tmp_path / "dang"
    link.symlink_to(tmp_path / "gone")
    said = refused(graphmae(*FOLDERS[command], "--out", link, cwd=inputs))
    assert "is a link to" in said and "does not exist" in said
