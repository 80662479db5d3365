"""What bit-equal reruns cost on CUDA, and whether they are bit-equal.

    python -m benchmarks.deterministic benchmarks/results/deterministic-cuda.json

Each recipe is trained four times both ways; times are medians without the first, which compiles.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

import graphmae as gm
from graphmae.config import Recipe
from graphmae.experiments.pretrain import pretrain_once
from graphmae.runtime.environment import commit, hardware, versions

WORKS: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("node/cora", (), 300),
    ("node/pubmed", (), 60),
    ("node/cora", ("encoder.name=gcn", "decoder.name=gcn"), 300),
)
TRAININGS = 4


def timed(recipe: Recipe, device: torch.device) -> dict[str, Any]:
    """Milliseconds per epoch, and whether all trainings gave the same weights."""
    dataset = gm.data.REGISTRY.build(recipe.data.name, root=None, **recipe.data.options)
    times, states = [], []
    for _ in range(TRAININGS):
        began = time.monotonic()
        states.append(pretrain_once(recipe, dataset, 0, device).state_dict())
        torch.cuda.synchronize()
        times.append(time.monotonic() - began)
    equal = all(torch.equal(value, states[0][key]) for state in states[1:] for key, value in state.items())
    return {
        "ms_per_epoch": round(1e3 * statistics.median(times[1:]) / recipe.train.epochs, 3), "reruns_bit_equal": equal,
    }  # fmt: skip


def main(out: Path) -> None:
    found: dict[str, Any] = {"hardware": hardware("cuda"), "versions": versions(), "commit": commit(), "rows": []}
    for name, changes, epochs in WORKS:
        recipe, device = gm.recipe(name, *changes, f"train.epochs={epochs}"), torch.device("cuda")
        default = timed(recipe, device)
        strict = timed(recipe.override("train.deterministic=true"), device)
        price = round(strict["ms_per_epoch"] / default["ms_per_epoch"], 2)
        row = {"recipe": name, "changes": list(changes), "epochs": epochs}
        found["rows"].append({**row, "default": default, "deterministic": strict, "price": price})
        out.write_text(json.dumps(found, indent=1) + "\n")
        print(found["rows"][-1], flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
