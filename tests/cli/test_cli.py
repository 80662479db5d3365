"""The command line as a person meets it: real processes, exit codes, stdout and stderr."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from torch_geometric.data import Data

from commands import graphmae
from raw_files import write_planetoid

SHORT = ["--set", "train.epochs=3", "--set", "evaluation.epochs=5", "--set", "evaluation.supervised_epochs=2"]
SYNTHETIC = [*SHORT, "--set", "data.num_nodes=200"]


def refused(done: subprocess.CompletedProcess[str], *pieces: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for piece in pieces:
        assert piece in done.stderr


@pytest.fixture
def graph_file(tmp_path: Path, tiny: Data) -> Path:
    path = tmp_path / "graph.npz"
    np.savez(path, x=tiny.x.numpy(), edge_index=tiny.edge_index.numpy(), y=tiny.y.numpy())
    return path


def test_help_is_quick_and_imports_no_torch() -> None:
    code = (
        "import sys; from graphmae.cli import main; sys.argv = ['graphmae', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert not {'torch', 'numpy', 'sklearn', 'torch_geometric'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
    times = []
    for _ in range(5):
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-m", "graphmae", "--help"], capture_output=True, text=True)
        times.append(time.monotonic() - began)
    assert done.returncode == 0
    assert min(times) < 1  # 0.2 s on a quiet machine; torch alone would take longer than this
    for command in ("demo", "run", "pretrain", "embed", "evaluate", "recipes", "doctor"):
        assert command in done.stdout


@pytest.mark.parametrize("command", ["demo", "run", "pretrain", "embed", "evaluate", "doctor", "recipes"])
def test_every_command_has_help(command: str) -> None:
    done = graphmae(command, "--help")
    assert done.returncode == 0
    if command in ("run", "pretrain", "embed", "evaluate"):
        assert "Example: graphmae" in done.stdout


def test_a_terminal_without_the_characters_shows_others() -> None:
    done = graphmae("pretrain", "--help", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0, done.stderr
    assert "NAME_graph_indicator.txt, ?)" in done.stdout


def test_run_prints_one_json_object(tmp_path: Path) -> None:
    done = graphmae("run", "default", "--seeds", "0-1", *SYNTHETIC, "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert list(value) == [
        "recipe", "metric", "rule", "mean", "std", "interval", "seeds", "scores", "baselines", "published", "seconds",
        "peak_bytes",
    ]  # fmt: skip
    assert len(value["scores"]) == 2
    assert set(value["baselines"]) == {
        "raw",
        "averaged",
        "propagated",
        "netmf",
        "netmf-propagated",
        "untrained",
        "supervised",
    }
    assert "epoch 3/3" in done.stderr


def test_run_prints_a_table_and_where_the_run_lies(tmp_path: Path) -> None:
    done = graphmae("run", "default", *SYNTHETIC, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for piece in ("untrained encoder", "GraphMAE", "last epoch", "runs/default"):
        assert piece in done.stdout
    graphmae("run", "default", *SYNTHETIC, cwd=tmp_path)
    assert (tmp_path / "runs/default-2/result.json").is_file()


def test_pretrain_embed_evaluate_on_ones_own_graph(tmp_path: Path, graph_file: Path) -> None:
    done = graphmae(
        "pretrain",
        graph_file,
        "--out",
        tmp_path / "mine",
        "--set",
        "train.epochs=3",
        "--set",
        "encoder.hidden_channels=8",
    )
    assert done.returncode == 0, done.stderr
    assert "graphmae embed" in done.stdout
    for suffix in ("npy", "npz", "csv"):
        done = graphmae("embed", tmp_path / "mine", graph_file, "-o", tmp_path / f"z.{suffix}")
        assert done.returncode == 0, done.stderr
    z = np.load(tmp_path / "z.npy")
    assert len(z) == 12 and z.shape[1] > 8  # what was learned, and other views
    assert np.array_equal(np.load(tmp_path / "z.npz")["embeddings"], z)
    assert np.allclose(np.loadtxt(tmp_path / "z.csv", delimiter=","), z)
    done = graphmae(
        "evaluate", tmp_path / "mine", graph_file, "--seeds", "0,1", "--set", "evaluation.epochs=5", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["scores"]) == 2


def test_a_part_of_ones_own_by_import(tmp_path: Path) -> None:
    part = tmp_path / "parts.py"
    part.write_text(
        "import torch, graphmae as gm\n"
        "@gm.encoders.register('flat')\n"
        "class Flat(torch.nn.Module):\n"
        "    def __init__(self, in_channels: int, width: int = 4):\n"
        "        super().__init__()\n"
        "        self.in_channels, self.out_channels = in_channels, width\n"
        "        self.linear = torch.nn.Linear(in_channels, width)\n"
        "    def forward(self, x, edge_index):\n"
        "        return self.linear(x)\n"
    )
    own = ["run", "default", *SYNTHETIC, "--import", part, "--set", "encoder.name=flat"]
    done = graphmae(*own, "--set", "encoder.width=8", "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    refused(graphmae(*own, "--set", "encoder.widht=8", "--out", tmp_path / "other"), "did you mean 'width'")
    assert not (tmp_path / "other").exists()
    refused(graphmae("embed", tmp_path / "run", "synthetic", "-o", tmp_path / "z.npy"), "registers it")


def test_recipes(tmp_path: Path) -> None:
    listed = graphmae("recipes", "list").stdout
    assert "node/cora" in listed
    assert "84.2 ± 0.4" in listed
    shown = graphmae("recipes", "show", "node/cora").stdout
    done = graphmae("recipes", "copy", "node/cora", tmp_path / "mine.toml")
    assert done.returncode == 0
    copied = (tmp_path / "mine.toml").read_text().strip().splitlines()
    assert [line for line in copied if not line.startswith("settings = ")] == shown.strip().splitlines()
    refused(graphmae("recipes", "copy", "node/cora", tmp_path / "mine.toml"), "exists already")
    assert "is fine" in graphmae("recipes", "check", tmp_path / "mine.toml").stdout
    (tmp_path / "mine.toml").write_text(
        shown.replace("rate = 0.5", "rat = 0.5").replace("epochs = 1500", 'epochs = "many"')
    )
    refused(
        graphmae("recipes", "check", tmp_path / "mine.toml"),
        "did you mean 'rate'",
        "train.epochs must be a whole number",
    )


def test_doctor() -> None:
    done = graphmae("doctor")
    assert done.returncode == 0, done.stderr
    for piece in ("torch ", "cpu", "cuda", "[mol]", "cache", "Cora"):
        assert piece in done.stdout


def test_wrong_input_ends_with_one_message_and_nothing_written(tmp_path: Path, tiny: Data) -> None:
    out = tmp_path / "out"

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        done = graphmae(*arguments, "--out", out, **environment)
        assert not out.exists()
        return done

    refused(run("run", "node/coral"), "unknown recipe", "did you mean 'node/cora'")
    refused(run("run", "default", "--set", "mask.rate=1.5"), "mask.rate must be strictly between 0 and 1")
    refused(run("run", "default", "--set", "mask.rate"), "section.key=value")
    refused(run("run", "default", "--seeds", "a-b"), "--seeds")
    refused(run("run", "default", "--device", "warp"), "unknown device")
    refused(run("run", "node/cora", "--data", tmp_path / "nowhere"), "not a folder")
    (tmp_path / "empty").mkdir()
    refused(run("run", "node/cora", "--data", tmp_path / "empty"), "ind.cora.x", "Two ways to get it")
    refused(run("pretrain", tmp_path / "none.npz"), "no file")
    refused(run("pretrain", "karate"), "unknown data set", "synthetic")

    folder = write_planetoid(tmp_path / "cut", "Cora")
    whole = (folder / "ind.cora.allx").read_bytes()
    (folder / "ind.cora.allx").write_bytes(whole[:500])
    refused(run("run", "node/cora", "--data", tmp_path / "cut"), "not the published file", "graphmae --trust")
    refused(run("--trust", "run", "node/cora", "--data", tmp_path / "cut"), "ind.cora.allx", "truncated")

    for name, change in {"nan": {"x": np.full((12, 6), np.nan)}, "edge": {"edge_index": np.array([[0], [77]])}}.items():
        arrays = {"x": tiny.x.numpy(), "edge_index": tiny.edge_index.numpy(), **change}
        np.savez(tmp_path / f"{name}.npz", **arrays)
    refused(run("pretrain", tmp_path / "nan.npz"), "12 nodes have NaN")
    refused(run("pretrain", tmp_path / "edge.npz"), "0 → 77", "does not exist")
    refused(graphmae("embed", tmp_path / "empty", "synthetic"), "not a checkpoint")


def test_an_unknown_option_is_a_usage_error() -> None:
    done = graphmae("run", "default", "--seed", "3")
    assert done.returncode == 2
    assert "--seed" in done.stderr


def test_the_demo_falls_back_to_the_synthetic_graph_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = graphmae("demo", "--data", tmp_path / "empty", "--out", tmp_path / "run", GRAPHMAE_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert "NOTE: CiteSeer cannot be had here" in done.stderr
    assert "untrained encoder" in done.stdout
    assert str(tmp_path / "run") in done.stdout
    page = tmp_path / "run" / "report.html"
    assert f"Open it in a browser: {page.as_uri()}" in done.stdout and page.stat().st_size > 100_000


def test_from_smiles_to_predictions_in_three_commands(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="RDKit is not installed")
    own = {"GRAPHMAE_CACHE": str(tmp_path / "cache")}
    smiles = [f"{'C' * (1 + i % 9)}{'N' if i % 2 else 'O'}{'C' * (i % 4)}" for i in range(60)]
    (tmp_path / "all.smi").write_text("\n".join([*smiles, "C(C"]) + "\n")
    (tmp_path / "assay.csv").write_text(
        "SMILES,basic,solubility\n" + "".join(f"{s},{int('N' in s)},{len(s) / 3}\n" for s in smiles)
    )
    (tmp_path / "new.csv").write_text("id,SMILES\na,CCN\nb,nonsense\nc,CCO\n")
    tiny = ["--set", "train.epochs=1", "--set", "encoder.hidden_channels=8", "--set", "encoder.num_layers=2"]
    done = graphmae("pretrain", "all.smi", "--out", "model", *tiny, cwd=tmp_path, **own)
    assert done.returncode == 0, done.stderr
    assert "1 of 61 strings are not molecules" in done.stderr
    table = ["assay.csv", "--smiles", "SMILES", "--split", "random", "--set", "finetune.epochs=2"]
    table += ["--set", 'finetune.members=["finetuned","ecfp-linear","frozen-linear"]', "--set", "finetune.search=false"]
    answer = ["--out", "run", "--report", "--json"]
    done = graphmae("finetune", "model", *table, "--targets", "basic", *answer, cwd=tmp_path, **own)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "run" / "report.html").read_text()
    assert all(f'"{name}":' in page for name in ("roc-0", "calibration-0", "drawings")), "predictions and structures"
    summary = json.loads(done.stdout)
    assert summary["metric"] == "roc-auc" and set(summary["baselines"]) == {
        "ecfp-linear", "finetuned", "frozen-linear",
    }  # fmt: skip
    done = graphmae("predict", "run", "new.csv", "--smiles", "SMILES", "-o", "out.csv", cwd=tmp_path, **own)
    assert done.returncode == 0, done.stderr
    assert "3 rows" in done.stdout and "1 of the 3 rows is not a molecule" in done.stdout
    lines = (tmp_path / "out.csv").read_text().splitlines()
    near = "nearest_smiles,nearest_id,tanimoto,embedding_similarity,domain"
    assert lines[0] == f"id,SMILES,basic_predicted,basic_spread,{near},problem"
    assert lines[2] == "b,nonsense,,,,,,,,not a molecule"
    assert [line.split(",")[0] for line in lines[1:]] == ["a", "b", "c"]
    refused(graphmae("predict", "model", "new.csv", cwd=tmp_path, **own), "fine-tune it first")
    refused(graphmae("finetune", "run", *table, cwd=tmp_path, **own), "holds a fine-tuned model")
    refused(graphmae("finetune", "nowhere", *table, cwd=tmp_path, **own), "nowhere is not a checkpoint")
    refused(graphmae("finetune", "model", *table, "-t", "basci", cwd=tmp_path, **own), "did you mean 'basic'")
    refused(graphmae("predict", "run", "new.csv", "-o", "out.xlsx", cwd=tmp_path, **own), "unknown format '.xlsx'")
