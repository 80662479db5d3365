"""How far it goes: a graph larger than memory, a Reddit-sized one on a GPU, the cost of a batch by size and threads.

python -m benchmarks.scale reddit --device cuda --out scale-reddit.json
python -m benchmarks.scale big --folder runs/big --out benchmarks/results/scale-big.json
python -m benchmarks.scale growth --out benchmarks/results/scale-growth.json
python -m benchmarks.scale accuracy --recipe node/cora --seeds 0-2 --out benchmarks/results/scale-accuracy-cora.json
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import graphmae as gm
from benchmarks.generated import edge_index, features_of
from graphmae.data.nodes import NodeDataset
from graphmae.experiments import pretrain as pretraining
from graphmae.runtime.environment import commit, hardware, versions
from graphmae.runtime.errors import GraphMAEError
from graphmae.runtime.seed import preserved_randomness
from graphmae.training import Journal, pretrain_model

REDDIT = {"nodes": 232_965, "edges": 114_615_892, "features": 602}
GIB = 2**30


def about(device: str) -> dict[str, Any]:
    return {"device": hardware(device), "versions": versions(), "commit": commit()}


def reddit_graph(scale: float) -> NodeDataset:
    nodes, edges = int(REDDIT["nodes"] * scale), int(REDDIT["edges"] * scale**2) // 2 * 2
    x = np.concatenate([features_of(b, min(b + 65_536, nodes), REDDIT["features"]) for b in range(0, nodes, 65_536)])
    ends = torch.from_numpy(edge_index(nodes, edges))
    from torch_geometric.data import Data

    return gm.data.from_data(Data(x=torch.from_numpy(x), edge_index=ends), "reddit-sized")


def trained(recipe: Any, dataset: NodeDataset, device: torch.device) -> dict[str, Any]:
    """One training: seconds, steps, the most device memory, the share of time waited for data."""
    cuda = device.type == "cuda"
    with preserved_randomness(0), pretraining.computing(recipe.train, device):
        model = pretraining.build(recipe, dataset, 0)
        pretraining.check(model, dataset, recipe.train, stored=False)
        if cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        lines: list[dict[str, Any]] = []
        journal = Journal(log=lines.append)
        began = time.monotonic()
        outcome = pretrain_model(model, dataset, recipe.train, device, journal=journal)
        if cuda:
            torch.cuda.synchronize()
        seconds = time.monotonic() - began
    found: dict[str, Any] = {"seconds": round(seconds, 2), "epochs": outcome.epochs, "loss": round(outcome.loss, 4)}
    found["epoch_seconds"] = [round(line["seconds"], 3) for line in lines]
    found["losses"] = [round(line["loss"], 4) for line in lines]
    found["waited"] = [line["waited"] for line in lines if "waited" in line]
    if cuda:
        found["peak_gib"] = round(torch.cuda.max_memory_allocated() / GIB, 3)
        found["peak_reserved_gib"] = round(torch.cuda.max_memory_reserved() / GIB, 3)
    return found


def reddit(options: argparse.Namespace) -> dict[str, Any]:
    device = torch.device(options.device)
    began = time.monotonic()
    dataset = reddit_graph(options.scale)
    out: dict[str, Any] = {"graph": dict(dataset.summary()), "generated_seconds": round(time.monotonic() - began, 1)}
    print(json.dumps(out), flush=True)
    base = gm.recipe(
        "default", "encoder.hidden_channels=512", "encoder.num_layers=4", "encoder.heads=4", "train.epochs=1",
        "mask.rate=0.75", "encoder.norm=layer", "encoder.residual=true", "train.schedule=constant",
    )  # fmt: skip
    sampled = base.override("train.sampler=neighbour", f"train.batch_size={options.seeds_per_step}")
    if options.fanouts:
        sampled = sampled.override(f"train.fanouts=[{options.fanouts}]")
    steps = 20
    tried = trained(sampled.override(f"train.steps={steps}"), dataset, device)  # kernels are compiled here
    tried = trained(sampled.override(f"train.steps={steps}"), dataset, device)
    per_step = tried["seconds"] / steps
    whole = math.ceil(REDDIT["nodes"] * options.scale / options.seeds_per_step)
    most = min(whole, int(options.most_seconds / per_step))
    print(json.dumps({"seconds_per_step": per_step, "steps_of_an_epoch": whole, "steps_run": most}), flush=True)
    found = trained(sampled.override(f"train.steps={most}"), dataset, device)
    out["mini_batch"] = {
        "recipe": sampled.to_dict()["train"], "steps": most, "is_whole_epoch": most == whole,
        "steps_of_an_epoch": whole, **found,
    }  # fmt: skip
    print(json.dumps(out["mini_batch"]), flush=True)
    if not options.no_full:
        try:
            out["full_graph"] = {"steps": 3, **trained(base.override("train.epochs=3"), dataset, device)}
        except (RuntimeError, GraphMAEError) as error:
            out["full_graph"] = {"failed": str(error)[:300]}
        print(json.dumps(out["full_graph"]), flush=True)
    return out


def accuracy(options: argparse.Namespace) -> dict[str, Any]:
    """The same recipe on the whole graph and by mini-batches: as many steps of each where --sampled-epochs says so."""
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    out: dict[str, Any] = {"recipe": options.recipe, "seeds": list(seeds)}
    changes = ["evaluation.baselines=[]", *options.set, *([f"train.epochs={options.epochs}"] if options.epochs else [])]
    ways: dict[str, list[str]] = {
        "whole": [],
        "neighbour": [
            "train.sampler=neighbour",
            f"train.batch_size={options.batch}",
            f"train.fanouts=[{options.fanouts}]",
        ],
        "cluster": ["train.sampler=cluster", f"train.batch_size={options.batch}"],
    }
    for name, settings in ways.items():
        if options.ways and name not in options.ways.split(","):
            continue
        mine = [*changes, *settings]
        if name != "whole" and options.sampled_epochs:
            mine = [*mine, f"train.epochs={options.sampled_epochs}"]
        with tempfile.TemporaryDirectory() as folder:
            recipe = gm.recipe(options.recipe, *mine)
            result = gm.run(recipe, seeds=seeds, device=options.device, out=f"{folder}/run", progress=False)
        scores = [round(float(score), 2) for score in result.summary()["scores"]]
        out[name] = {"set": mine, "scores": scores, "mean": round(float(np.mean(scores)), 2)}
        out[name]["seconds"] = round(result.seconds, 1)
        print(json.dumps({name: out[name]}), flush=True)
    return out


def main() -> None:
    from benchmarks import scale_growth, scale_stages

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["reddit", "big", "growth", "accuracy", "plot"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="of the Reddit-sized graph, to try it out")
    parser.add_argument("--seeds-per-step", type=int, default=512)
    parser.add_argument("--fanouts", default="")
    parser.add_argument("--most-seconds", type=float, default=150.0)
    parser.add_argument("--no-full", action="store_true")
    parser.add_argument("--recipe", default="node/cora")
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--sampled-epochs", type=int, default=0)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--ways", default="")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--folder", type=Path, default=Path("runs/big"))
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--rows", type=int, default=50_000_000, help="of the edge table; each counts both ways")
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--only-store", action="store_true")
    parser.add_argument("--most-edges", type=float, default=1e8)
    options = parser.parse_args()
    run = {
        "reddit": reddit, "accuracy": accuracy, "big": scale_stages.big, "growth": scale_growth.growth,
        "plot": scale_growth.plot,
    }[options.what]  # fmt: skip
    found = {"what": options.what, **run(options), **about(options.device)}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
