"""How long every method pre-trains on Cora with its recipe, on the cores at hand; leave the machine alone meanwhile.

    python -m benchmarks.method_times                   # all of them
    python -m benchmarks.method_times grace mvgrl       # some

Seconds and the most memory above what was held before go to benchmarks/results/times-of-methods.json.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch

import graphmae as gm
from graphmae.experiments.pretrain import pretrain_once
from graphmae.runtime.environment import commit, hardware
from graphmae.runtime.memory import peak_memory

OUT = Path(__file__).parent / "results/times-of-methods.json"
RECIPES = {
    name: (f"{name}/cora",)
    for name in (
        "cca-ssg",
        "dgi",
        "ggd",
        "gae",
        "vgae",
        "node",
        "joint",
        "maskgae",
        "grace",
        "mvgrl",
        "bgrl",
        "graphmae2",
    )
} | {"bgrl-512": ("bgrl/cora", "encoder.hidden_channels=512", "encoder.out_channels=256")}


def main(names: list[str]) -> None:
    known = json.loads(OUT.read_text()) if OUT.exists() else {}
    for folder in names or RECIPES:
        recipe = gm.recipe(*RECIPES[folder])
        dataset = gm.data.REGISTRY.build(recipe.data.name, root=None, **recipe.data.options)
        with peak_memory("cpu") as peak:
            began = time.monotonic()
            pretrain_once(recipe, dataset, 0, torch.device("cpu"))
            seconds = time.monotonic() - began
        known[folder] = {
            "seconds": round(seconds, 1), "epochs": recipe.train.epochs, "peak_bytes": peak.bytes,
            "busy": os.getloadavg()[0], "hardware": hardware("cpu"), "commit": commit(),
        }  # fmt: skip
        OUT.write_text(json.dumps(known, indent=1) + "\n")
        print(folder, known[folder], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
