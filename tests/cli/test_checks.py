"""Mistakes are found before anything that trains is imported: in a second, not in six."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "torch_geometric", "sklearn", "scipy", "numba")
TABLES = ["nodes.csv", "edges.csv"]
# What was typed, and what the message says.
MISTAKES: list[tuple[list[str], list[str]]] = [
    (["pretrain", "none.csv", "edges.csv"], ["no file none.csv"]),
    (["pretrain", "notes.doc", "edges.csv"], ["notes.doc: unknown kind of table"]),
    (["pretrain", "graph.doc"], ["unknown kind of graph file"]),
    (["pretrain", "empty.csv", "edges.csv"], ["empty.csv is empty"]),
    (["pretrain", "coar"], ["unknown data set 'coar'; did you mean 'cora'"]),
    (["pretrain", "new.smi"], ["no file new.smi"]),
    (["pretrain", *TABLES, "--lable", "topic"], ["--label"]),
    (["pretrain", *TABLES, "--recipe", "node/coar"], ["did you mean 'node/cora'"]),
    (["pretrain", *TABLES, "--set", "epochs=5"], ["did you mean train.epochs=5"]),
    (["pretrain", *TABLES, "--set", "rate=0.5"], ["did you mean mask.rate=0.5"]),
    (["pretrain", *TABLES, "--set", "mask.rat=0.5"], ["did you mean 'rate'"]),
    (["pretrain", *TABLES, "--set", "encoder.name=gta"], ["did you mean 'gat'"]),
    (["pretrain", *TABLES, "--set", "trian.epochs=5"], ["unknown section 'trian'; did you mean 'train'"]),
    (["pretrain", *TABLES, "--set", "train.epochs=many"], ["train.epochs must be a whole number"]),
    (["pretrain", *TABLES, "--epochs", "0"], ["train.epochs must be at least 1"]),
    (["pretrain", *TABLES, "--seed", "-1"], ["seeds must be between 0"]),
    (["pretrain", *TABLES, "--device", "warp"], ["unknown device 'warp'"]),
    (["pretrain", *TABLES, "--data", "nowhere"], ["nowhere is not a folder"]),
    (["pretrain", *TABLES, "--out", "run"], ["run already holds a run"]),
    (["pretrain", *TABLES, "--out", "full"], ["full exists and is not a run"]),
    (["pretrain", *TABLES, "--out", "full", "--resume"], ["full exists and is not a run"]),
    (["pretrain", *TABLES, "--label", "tpoic"], ["error: nodes.csv: unknown column 'tpoic'; did you mean 'topic'"]),
    (["links", *TABLES, "--id", "sku", "--source", "a"], ["2 problems", "nodes.csv: unknown column 'sku'", "'a'"]),
    (["evaluate", "run", *TABLES, "--label", "topic", "--seeds", "5-2"], ["5-2", "ends before it begins"]),
    (["evaluate", "run", *TABLES, "--seeds", "many"], ["--seeds 'many' is not a list of seeds"]),
    (["evaluate", "run", *TABLES, "--split", "part"], ["unknown column 'part'", "--split"]),
    (["embed", "nowhere", *TABLES], ["nowhere is not a checkpoint"]),
    (["embed", "run", *TABLES, "-o", "z.xlsx"], ["unknown format '.xlsx'", "Allowed: .npy, .npz, .csv"]),
    (["impute", "run", "none.csv", "edges.csv", "-o", "z.csv"], ["no file none.csv"]),
    (["predict", "run", "new.csv"], ["fine-tune it first"]),
    (["finetune", "run", "new.csv"], ["there is no file new.csv"]),
    (["finetune", "run", "nodes.csv"], ["say which column holds SMILES"]),
    (["run", "node/coar"], ["did you mean 'node/cora'"]),
    (["run", "mine.toml"], ["mine: 2 problems", "did you mean 'train.epochs'", "did you mean 'rate'"]),
    (["run", "broken.toml"], ["not valid TOML"]),
    (["recipes", "show", "node/coar"], ["did you mean 'node/cora'"]),
    (["recipes", "check", "mine.toml"], ["mine: 2 problems"]),
    (["report", "nowhere"], ["nowhere is not a run, it is not a folder"]),
    (["report", "full"], ["full is not a run, it has none of compare.json, result.json, config.json"]),
    (["convert", "none.pt", "--out", "new"], ["there is no file none.pt"]),
]
CODE = """
import contextlib, io, json, sys
from graphmae.cli import main
said = []
for arguments in json.loads(sys.argv[1]):
    sys.argv, errors = ["graphmae", *arguments], io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as end:
            said.append((end.code, errors.getvalue()))
json.dump([said, sorted(sys.modules)], sys.stdout)
"""


CONFIG = {
    "format": 2,
    "kind": "pretrained",
    "method": {"name": "graphmae"},
    "encoder": {"name": "gat"},
    "inputs": {},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "nodes.csv").write_text("id,size,topic\n" + "".join(f"n{i},{i % 7},t{i % 2}\n" for i in range(30)))
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{i + 1}\n" for i in range(29)))
    for name in ("notes.doc", "graph.doc", "full/other.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "mine.toml").write_text('extends = "node/cora"\n[train]\nepcohs = 5\n[mask]\nrat = 0.5\n')
    (tmp_path / "broken.toml").write_text("[train\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/recipe.json").write_text("{}")
    (tmp_path / "run/config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def test_every_mistake_is_found_without_importing_what_trains(place: Path) -> None:
    typed = json.dumps([arguments for arguments, _ in MISTAKES])
    done = subprocess.run([sys.executable, "-c", CODE, typed], capture_output=True, text=True, cwd=place)
    assert done.returncode == 0, done.stderr
    said, modules = json.loads(done.stdout)
    for (arguments, pieces), (code, message) in zip(MISTAKES, said, strict=True):
        assert code == 2 and all(piece in message for piece in pieces), (arguments, code, message)
        assert "Traceback" not in message
    assert not {*HEAVY} & {*modules}
    assert not (place / "new").exists()


def test_a_mistake_takes_less_than_two_seconds(place: Path) -> None:
    """Of computing: how long others keep the machine busy is not ours to say. 0.5 s, of which Python takes 0.2."""
    command = [sys.executable, "-m", "graphmae", "pretrain", *TABLES, "--label", "tpoic"]
    with (place / "said").open("w") as said:
        running = subprocess.Popen(command, stdout=said, stderr=said, cwd=place, env=dict(os.environ))
        _, status, used = os.wait4(running.pid, 0)  # of this process alone, whatever else ends meanwhile
        running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 2 and "did you mean 'topic'" in (place / "said").read_text()
    assert used.ru_utime + used.ru_stime < 2
