"""Is the automatic predictor worth it? Beside each of its members, on assays divided by scaffold or by chance.

    python -m benchmarks.chemist scores bbbp bace clintox sider bace-pic50 chembl-series --seeds 0-2
    python -m benchmarks.chemist scores bace-pic50 chembl-series --split random --seeds 0-2
    python -m benchmarks.chemist speed --molecules 100000
    python -m benchmarks.chemist memory --molecules 250000 1000000
    python -m benchmarks.chemist atoms

Everything is chosen inside what the split calls train and val, on which every member is then fitted; the test part is
predicted once. Scores are added to benchmarks/results/chemist.json, one entry for each set, split and seed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import graphmae as gm
from graphmae.cli.options import parse_seeds
from graphmae.config import Finetune
from graphmae.data import REGISTRY
from graphmae.data.benchmarks import moleculenet
from graphmae.data.molecules import Assay, read_assay
from graphmae.data.sources import data_root
from graphmae.finetuning import fit_automatic
from graphmae.finetuning.members import SPECS, affordable
from graphmae.runtime.device import numerics
from graphmae.runtime.environment import commit, hardware

from .packed_assays import path_of, unpack

OUT = Path(__file__).parent / "results/chemist.json"
ALTERNATIVES = ("ecfp-forest", "ecfp-linear", "descriptors-boosting", "finetuned")
CHECKPOINT = "molecule-zinc"


def load(name: str, split: str, seed: int, packed: Path | None = None) -> Assay:
    """A set by name; BACE's affinities as numbers too. `packed`: a folder of files of `packed_assays`."""
    if packed is not None:
        return unpack(path_of(packed, name, split, seed))
    if name == "bace-pic50":
        return read_assay(
            moleculenet.raw_files("bace"), targets=["pIC50"], kind="regression", split=split, split_seed=seed,
            name=name, quiet=True,
        )  # fmt: skip
    return REGISTRY.build(name, root=None, split=split, split_seed=seed)


def scores(
    names: list[str], split: str, seeds: list[int], device: str, without: str = "", packed: Path | None = None
) -> None:
    for seed in seeds:  # all sets once before any twice
        for name in names:
            found = read()
            key = {"set": name, "split": split, "seed": seed, "without": without}
            if any({k: run[k] for k in key} == key for run in found.get("scores", [])):
                continue
            assay = load(name, split, seed, packed)
            encoder = gm.load(CHECKPOINT).encoder
            began, used = time.monotonic(), torch.device(device)
            with numerics(used):
                predictor, rows, _ = fit_automatic(encoder, assay, settings_for(assay, without), seed, used)
            run = {
                **key, "molecules": len(assay), "targets": len(assay.names), "metric": assay.metric, "rows": rows,
                "chosen": predictor.report, "seconds": round(time.monotonic() - began, 1), "hardware": hardware(device),
                "busy": os.getloadavg()[0], "commit": commit(),
            }  # fmt: skip
            found.setdefault("scores", []).append(run)
            write(found)
            shown = ", ".join(f"{row} {values['test']:.4g}" for row, values in rows.items())
            print(f"{name}, {split}, seed {seed}: {shown} ({run['seconds']:.0f} s)", flush=True)


def settings_for(assay: Assay, without: str) -> Finetune:
    """As `graphmae finetune` has them; `without` a member that takes too long on a busy machine."""
    if not without:
        return Finetune(epochs=0, members=("auto",))
    train = np.concatenate([assay.split["train"], assay.split["val"]])
    values = int(np.isfinite(assay.targets[train]).sum())
    names = tuple(name for name in SPECS if name != without and affordable(name, len(train), values))
    return Finetune(epochs=0, members=names)  # type: ignore[arg-type]


def summary(found: dict[str, Any]) -> list[dict[str, Any]]:
    """For each set and split: the means over seeds, the best alternative, and how far the automatic predictor is."""
    out = []
    kinds = dict.fromkeys((run["set"], run["split"], run["without"]) for run in found.get("scores", []))
    for name, split, without in kinds:
        runs = [run for run in found["scores"] if (run["set"], run["split"], run["without"]) == (name, split, without)]
        members = list(dict.fromkeys(row for run in runs for row in run["rows"]))
        means = {
            row: float(np.mean([run["rows"][row]["test"] for run in runs if row in run["rows"]])) for row in members
        }
        is_error = runs[0]["metric"] == "rmse"
        there = [row for row in ALTERNATIVES if row in means]
        best = (min if is_error else max)(there, key=lambda row: means[row])
        entry = {
            "set": name,
            "split": split,
            "metric": runs[0]["metric"],
            "seeds": len(runs),
            "means": means,
            "best": best,
        }
        entry["gain"] = (means[best] - means["automatic"]) * (1 if is_error else -1)
        for key in ("coverage", "ece", "outside"):
            values = [run["rows"]["automatic"][key] for run in runs if key in run["rows"]["automatic"]]
            if values:
                entry[key] = float(np.mean(values))
        out.append(entry)
    return out


def library(path: Path, count: int) -> Path:
    """`count` drug-like molecules, one per line, from zinc250k and MOSES."""
    root, left = data_root(None), count
    assert root is not None, "set GRAPHMAE_DATA"
    with path.open("w") as out:
        for name in ("zinc250k", "moses_train"):
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
    """The most memory `predict` and its processes hold, for libraries of several sizes."""
    found = read()
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            file, began = library(Path(name) / "library.smi", count), time.monotonic()
            pid = os.fork()
            if not pid:
                os.execvp(
                    "graphmae", ["graphmae", "predict", model, str(file), "-o", f"{name}/best.csv", "--top", "1000"]
                )
            os.waitpid(pid, 0)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
            entry = {"molecules": count, "peak_bytes": peak, "seconds": round(time.monotonic() - began, 1)}
        found.setdefault("memory", []).append({**entry, "hardware": hardware(), "commit": commit()})
        write(found)
        print(entry, flush=True)


GROUPS = {"nitro": "[N+](=O)[O-]", "carboxylic acid": "C(=O)[OX2H1]", "nitrile": "C#N"}


def atoms(count: int = 1_200) -> None:
    """A synthetic assay for each functional group: does a molecule have it? Then: is the atom that contributes most in
    that group, and do all the atoms of a group rank first?"""
    from rdkit import Chem

    rows = (data_root(None) or Path()) / "zinc" / "zinc250k.smi.gz"
    with gzip.open(rows, "rt") as lines:
        texts = [line.split()[0] for _, line in zip(range(60_000), lines, strict=False)]
    random, found = np.random.default_rng(0), read()
    for name, smarts in GROUPS.items():
        group = Chem.MolFromSmarts(smarts)
        has = np.array([Chem.MolFromSmiles(text).HasSubstructMatch(group) for text in texts])
        ones, zeros = (random.permutation(np.flatnonzero(has == value)) for value in (True, False))
        chosen = [*ones[: count // 2], *zeros[: count // 2]]
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "assay.csv"
            table.write_text("smiles,has\n" + "".join(f"{texts[i]},{int(has[i])}\n" for i in chosen))
            members = ['finetune.members=["finetuned","ecfp-linear","ecfp-forest","frozen-linear"]']
            gm.finetune(CHECKPOINT, table, ["has"], Path(folder) / "run", overrides=members, progress=False)
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
        found.setdefault("atoms", []).append(entry)
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
    parser.add_argument("what", choices=["scores", "speed", "memory", "atoms"])
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--split", default="scaffold")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--molecules", type=int, nargs="+", default=[100_000])
    parser.add_argument("--model", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--without", default="", help="a member that is left out")
    parser.add_argument("--packed", type=Path, help="folder of files of benchmarks.packed_assays: needs no RDKit")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    OUT = given.out
    if given.what == "scores":
        scores(given.sets, given.split, parse_seeds(given.seeds), given.device, given.without, given.packed)
    elif given.what == "speed":
        speed(given.molecules[0], given.model, given.device)
    elif given.what == "memory":
        memory(given.molecules, given.model)
    else:
        atoms()
