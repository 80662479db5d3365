"""What the automatic predictor costs, and what its atoms say; how good it is, `benchmarks.chemist_members` measures.

    python -m benchmarks.chemist duration --model runs/bace      # which the next two then ask
    python -m benchmarks.chemist speed --model runs/bace --molecules 100000
    python -m benchmarks.chemist memory --model runs/bace --molecules 250000 1000000
    python -m benchmarks.chemist atoms

Results are added to benchmarks/results/chemist.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import graphmae as gm
from graphmae.data import REGISTRY
from graphmae.data.benchmarks import moleculenet
from graphmae.data.molecules import Assay, read_assay
from graphmae.data.molecules.standardize import standardized
from graphmae.data.sources import data_root
from graphmae.runtime.environment import commit, hardware

from .packed_assays import path_of, unpack

OUT = Path(__file__).parent / "results/chemist.json"
ALTERNATIVES = ("ecfp-forest", "ecfp-linear", "descriptors-boosting", "finetuned")
CHECKPOINT = "molecule-zinc"


def load(name: str, split: str, seed: int, packed: Path | None = None) -> Assay:
    """A set by name; two as `graphmae finetune` reads the file of BACE, standardised: its affinities, and its classes.

    `packed` is a folder of files of `packed_assays`.
    """
    if packed is not None:
        return unpack(path_of(packed, name, split, seed))
    if name in ("bace-pic50", "bace-standardized"):
        target = "pIC50" if name == "bace-pic50" else "Class"
        kind = "regression" if name == "bace-pic50" else "classification"
        return read_assay(
            moleculenet.raw_files("bace"), targets=[target], kind=kind, split=split, split_seed=seed,
            name=name, quiet=True,
        )  # fmt: skip
    return REGISTRY.build(name, root=None, split=split, split_seed=seed)


def summary(found: dict[str, Any]) -> list[dict[str, Any]]:
    """For each set and split: means over seeds, the alternative that is best on average, and how far the automatic
    predictor is from it, in points: of ROC-AUC, or of R² in percent."""
    out = []
    kinds = dict.fromkeys((run["set"], run["split"], run["members"]) for run in found.get("scores", []))
    for name, split, chosen in kinds:
        runs = [run for run in found["scores"] if (run["set"], run["split"], run["members"]) == (name, split, chosen)]
        key = "r2" if runs[0]["metric"] == "rmse" else "test"
        members = list(dict.fromkeys(row for run in runs for row in run["rows"]))
        points, means = (
            {row: _mean([run["rows"][row][k] for run in runs if row in run["rows"]]) for row in members}
            for k in (key, "test")
        )
        best = max((row for row in ALTERNATIVES if row in points), key=lambda row: points[row])
        gains = [run["rows"]["automatic"][key] - run["rows"][best][key] for run in runs]
        entry: dict[str, Any] = {
            "set": name, "split": split, "members": chosen, "metric": runs[0]["metric"], "seeds": len(runs),
            "means": means, "best": best, "gain": _mean(gains),
            "gain_deviation": float(np.std(gains, ddof=1)) if len(gains) > 1 else None,
            "weights": {row: _mean([run["chosen"]["weights"].get(row, 0.0) for run in runs]) for row in members},
        }  # fmt: skip
        for fact in ("coverage", "ece", "ece_before", "outside"):
            values = [run["rows"]["automatic"][fact] for run in runs if fact in run["rows"]["automatic"]]
            if values:
                entry[fact] = _mean(values)
        out.append(entry)
    return out


def _mean(values: list[float]) -> float:
    return float(np.mean(values))


def library(path: Path, count: int) -> Path:
    """`count` drug-like molecules, one per line, from MOSES and zinc250k."""
    root, left = data_root(None), count
    assert root is not None, "set GRAPHMAE_DATA"
    with path.open("w") as out:
        for name in ("moses_train", "zinc250k"):
            with gzip.open(root / "zinc" / f"{name}.smi.gz", "rt") as lines:
                for line in lines:
                    if not left:
                        return path
                    out.write(line.split()[0] + "\n")
                    left -= 1
    return path


def train(folder: Path, members: str = '["auto"]') -> Path:
    """A predictor of BACE's classes, all members allowed, as `graphmae finetune` makes it by default."""
    overrides = [f"finetune.members={members}"]
    gm.finetune(CHECKPOINT, moleculenet.raw_files("bace"), ["Class"], folder, overrides=overrides, progress=False)
    return folder


def duration(folder: Path) -> None:
    """Seconds of `graphmae finetune` for BACE's file, the start included; the predictor is in `folder` afterwards."""
    command = [
        sys.executable, "-m", "graphmae", "finetune", CHECKPOINT, str(moleculenet.raw_files("bace")),
        "--targets", "Class", "--out", str(folder),
    ]  # fmt: skip
    began = time.monotonic()
    subprocess.run(command, check=True)
    entry = {
        "set": "bace", "seconds": round(time.monotonic() - began, 1), "hardware": hardware(),
        "busy": os.getloadavg()[0], "commit": commit(),
    }  # fmt: skip
    found = read()
    found.setdefault("durations", []).append(entry)
    write(found)
    print(entry)


def speed(count: int, model: str, device: str) -> None:
    """Molecules per second of `predict`, and how much of that is each part, measured in this process alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = Path(model) if model else train(folder / "run")
        file = library(folder / "library.smi", count)
        began = time.monotonic()
        gm.predict(run, file, out=folder / "out.csv", device=device)
        seconds = time.monotonic() - began
    config = json.loads(next(run.glob("**/config.json")).read_text()) if model else {}
    entry = {
        "molecules": count, "seconds": round(seconds, 1), "per_second": round(count / seconds),
        "hardware": hardware(device),
        "busy": os.getloadavg()[0], "weights": config.get("weights"), "tuned": config.get("tuned"), "commit": commit(),
    }  # fmt: skip
    found = read()
    found.setdefault("speed", []).append(entry)
    write(found)
    print(entry)


def memory(counts: list[int], model: str) -> None:
    """The most memory `predict` and its processes hold together, and its seconds, for libraries of several sizes."""
    found = read()
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            file, began, peak = library(Path(name) / "library.smi", count), time.monotonic(), 0
            words = [
                sys.executable,
                "-m",
                "graphmae",
                "predict",
                model,
                file,
                "-o",
                f"{name}/best.csv",
                "--top",
                "1000",
            ]
            running = subprocess.Popen([str(word) for word in words])
            while running.poll() is None:
                peak = max(peak, _held(running.pid))
                time.sleep(0.5)
            entry = {"molecules": count, "peak_bytes": peak, "seconds": round(time.monotonic() - began, 1)}
        weights = json.loads(next(Path(model).glob("**/config.json")).read_text())["weights"]
        entry |= {"members": len(weights), "hardware": hardware(), "busy": os.getloadavg()[0], "commit": commit()}
        found.setdefault("memory", []).append(entry)
        write(found)
        print(entry, flush=True)


def _held(pid: int) -> int:
    """Bytes of a process and all below it; what several share is counted once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has just ended
        return 0
    own = sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return own + sum(_held(int(child)) for child in below)


GROUPS = {"nitro": "[N+](=O)[O-]", "carboxylic acid": "C(=O)[OX2H1]", "nitrile": "C#N"}


def atoms(count: int = 1_200) -> None:
    """A synthetic assay for each functional group: does a molecule have it? Then: is the atom that contributes most in
    that group, and do all the atoms of a group rank first?"""
    from rdkit import Chem

    rows = (data_root(None) or Path()) / "zinc" / "zinc250k.smi.gz"
    with gzip.open(rows, "rt") as lines:
        written = [line.split()[0] for _, line in zip(range(40_000), lines, strict=False)]
    texts = [text for text in map(standardized, written) if text]  # an acid is one with and without its proton
    random, found = np.random.default_rng(0), read()
    for name, smarts in GROUPS.items():
        group = Chem.MolFromSmarts(smarts)
        has = np.array([Chem.MolFromSmiles(text).HasSubstructMatch(group) for text in texts])
        ones, zeros = (random.permutation(np.flatnonzero(has == value)) for value in (True, False))
        chosen = random.permutation([*ones[: count // 2], *zeros[: count // 2]])
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "assay.csv"
            table.write_text("smiles,has\n" + "".join(f"{texts[i]},{int(has[i])}\n" for i in chosen))
            gm.finetune(CHECKPOINT, table, ["has"], Path(folder) / "run", progress=False)
            new = [texts[i] for i in ones[count // 2 : count // 2 + 200]]
            explained = gm.explain(Path(folder) / "run", new)
            model = gm.load_predictor(Path(folder) / "run")
        first, whole = 0, 0
        for one in explained:
            matched = {a for match in Chem.MolFromSmiles(one["smiles"]).GetSubstructMatches(group) for a in match}
            order = np.argsort(-np.array(one["atoms"]))
            first += int(order[0]) in matched
            whole += set(order[: len(matched)].tolist()) == matched
        entry = {
            "group": name, "molecules": len(new), "first_percent": 100 * first / len(new),
            "all_first_percent": 100 * whole / len(new), "weights": model.weights, "commit": commit(),
        }  # fmt: skip
        found["atoms"] = [one for one in found.get("atoms", []) if one["group"] != name] + [entry]
        write(found)
        print(entry, flush=True)


def read() -> dict[str, Any]:
    return json.loads(OUT.read_text()) if OUT.is_file() else {}


def write(found: dict[str, Any]) -> None:
    found["summary"] = summary(found)
    found["commit"] = commit()
    OUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["duration", "speed", "memory", "atoms"])
    parser.add_argument("--molecules", type=int, nargs="+", default=[100_000])
    parser.add_argument("--model", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    OUT = given.out
    if given.what == "duration":
        duration(Path(given.model))
    elif given.what == "speed":
        speed(given.molecules[0], given.model, given.device)
    elif given.what == "memory":
        memory(given.molecules, given.model)
    else:
        atoms()
