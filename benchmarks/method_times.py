"""How long every method pre-trains on Cora with its recipe, on the cores at hand; leave the machine alone meanwhile.

    python -m benchmarks.method_times

Seconds and the most memory above what was held before go to benchmarks/results/times-of-methods.json.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import torch

import graphmae as gm
from graphmae.experiments.pretrain import pretrain_once
from graphmae.runtime.environment import commit, hardware
from graphmae.runtime.memory import peak_memory

OUT = Path(__file__).parent / "results/times-of-methods.json"
RECIPES = ("cca-ssg", "dgi", "ggd", "gae", "vgae", "node", "joint", "maskgae", "graphmae2", "grace", "mvgrl", "bgrl")


def main() -> None:
    known = json.loads(OUT.read_text()) if OUT.exists() else {}
    for folder in RECIPES:
        recipe = gm.recipe(f"{folder}/cora")
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
    main()
