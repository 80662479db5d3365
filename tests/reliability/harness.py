"""Runs of the real command line that are killed and resumed, and what their folders are compared by."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmae import config
from raw_files import write_rings_and_stars

HERE = Path(__file__).parent
SRC = Path(__file__).parents[2] / "src"
CLOCK = {"seconds", "pretrain_seconds", "peak_bytes"}  # of every machine and run its own


@dataclass
class Work:
    """One command line, without --out."""

    name: str
    argv: Sequence[str]
    env: dict[str, str] = field(default_factory=dict)


Undisturbed = tuple[Work, list[str], dict[str, Any]]  # its operations on files, and what it leaves


class Server:
    """See server.py; closed at the end of the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.running: set[int] = set()
        folder.mkdir(parents=True, exist_ok=True)
        one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        kept = {"GRAPHMAE_KERNELS": "reference", "GRAPHMAE_SAVE_SECONDS": "0", "GRAPHMAE_COMMIT": "test"}
        path = os.pathsep.join([str(SRC), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "server.py")],
            env={**os.environ, **one, **kept, "PYTHONPATH": path, "GRAPHMAE_CACHE": str(folder / "cache")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "server.txt").open("w"),
            text=True,
        )
        assert self.process.stdout is not None and json.loads(self.process.stdout.readline()) == {"ready": True}

    def _ask(self, value: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self, work: Work, out: Path, *, resume: bool = False, **request: Any) -> int:
        self.count += 1
        self.log = self.folder / f"log-{self.count}.txt"
        argv = [*work.argv, "--out", str(out), *(["--resume"] if resume else [])]
        asked = {"argv": argv, "out": str(out), "log": str(self.log), "env": work.env, **request}
        pid = int(self._ask(asked)["pid"])
        self.running.add(pid)
        return pid

    def wait(self, pid: int) -> int:
        self.running.discard(pid)
        return int(self._ask({"wait": pid})["status"])

    def run(self, work: Work, out: Path, *, kill_after: float = 0, **request: Any) -> int:
        """Until it ends, or is killed some seconds after its folder is there; returns the exit code."""
        pid = self.start(work, out, **request)
        if kill_after:
            while not out.exists() and lives(pid):
                time.sleep(0.002)
            time.sleep(kill_after)
            os.kill(pid, signal.SIGKILL)
        return self.wait(pid)

    def operations(self, work: Work, out: Path) -> list[str]:
        """Every operation on files of an undisturbed run."""
        path = self.folder / f"operations-{work.name}.txt"
        code = self.run(work, out, operations=str(path))
        assert code == 0, self.log.read_text()
        return path.read_text().splitlines()

    def finish(self, work: Work, out: Path) -> None:
        """Resume, killed no more."""
        code = self.run(work, out, resume=True)
        assert code == 0, self.log.read_text()

    def close(self) -> None:
        for pid in list(self.running):  # of tests that failed
            os.kill(pid, signal.SIGKILL)
            self.wait(pid)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def lives(pid: int) -> bool:
    """Whether a process has not ended: one that nobody has waited for yet is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def contents(folder: Path) -> dict[str, Any]:
    """Every file of a run: bytes, or of JSON the values without those a clock or the system gives."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        name = str(path.relative_to(folder))
        if path.suffix == ".json":
            found[name] = _without_clock(json.loads(path.read_text()))
        elif path.suffix == ".jsonl":
            found[name] = [_without_clock(json.loads(line)) for line in path.read_text().splitlines()]
        else:
            found[name] = path.read_bytes()
    return found


def _without_clock(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_clock(one) for key, one in value.items() if key not in CLOCK}
    return [_without_clock(one) for one in value] if isinstance(value, list) else value


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Names of files that are missing, left over or different."""
    return [name for name in sorted({*expected, *found}) if expected.get(name, b"-") != found.get(name, b"-")]


def _sets(*settings: str) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


def works(folder: Path) -> dict[str, Work]:
    """A graph with early stopping, many graphs, the same in ten folds, molecules, fine-tuning in stages; two seeds
    where there are seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    node = Work(
        "node",
        [
            *["run", "default", "--seeds", "0-1", "--device", "cpu"],
            *_sets("data.num_nodes=90", "data.num_words=30", "data.num_topics=3", "train.epochs=30"),
            *_sets("train.patience=5", "train.lr=1e-6", "encoder.hidden_channels=8", "encoder.heads=2"),
            *_sets("evaluation.epochs=3", "evaluation.baselines=[]", "evaluation.converged=false"),
        ],
    )
    shapes = write_rings_and_stars(folder / "shapes", count=40)
    small = _sets("encoder.hidden_channels=8", "encoder.num_layers=2", "train.batch_size=16")
    graph = Work("graph", ["pretrain", str(shapes), "--epochs", "3", "--device", "cpu", *small])
    recipe = ["run", str(_graph_recipe(folder, shapes)), "--seeds", "0-1", "--device", "cpu"]
    folds = Work("folds", [*recipe, *small, *_sets("train.epochs=2", "evaluation.baselines=[]")])
    molecules = folder / "mine.smi"
    molecules.write_text("\n".join(SMILES * 8) + "\n")
    molecule = Work("molecule", ["pretrain", str(molecules), "--epochs", "3", "--device", "cpu", *small])
    table = folder / "assay.csv"
    rows = [f"{'C' * (1 + i % 9)}{'NO'[i % 2]}{'C' * (i % 5)},{(i + i // 10) % 2},{PARTS[i % 10]}" for i in range(60)]
    table.write_text("\n".join(["smiles,basic,split", *rows]) + "\n")
    finetune = Work(
        "finetune",
        [
            *["finetune", str(folder / "checkpoint"), str(table), "--targets", "basic", "--split", "split"],
            *["--seeds", "0-1", "--device", "cpu"],
            *_sets("finetune.members=[]", "finetune.epochs=4", "finetune.batch_size=16", "finetune.mode=staged"),
            *_sets("finetune.baselines=['scratch']", "data.duplicates=keep"),
        ],
    )
    return {work.name: work for work in (node, graph, folds, molecule, finetune)}


SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "C/C=C/C#N", "c1ccc2[nH]ccc2c1", "CCO", "CCN(CC)CC"]
PARTS = ["test", "valid", *["train"] * 8]


def _graph_recipe(folder: Path, shapes: Path) -> Path:
    """graph/mutag on the graphs of a folder."""
    base = config.load("graph/mutag").to_dict()
    base.pop("published")
    base["data"] = {"name": "tu", "path": str(shapes)}
    path = folder / "shapes.toml"
    path.write_text(config.to_toml(config.load(base)))
    return path
