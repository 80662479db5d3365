"""A choice of settings that never sees the test fold it is judged on: nested cross-validation over settings.

    python -m benchmarks.nested graph/imdb-binary --seeds 0-4 --try "" --try "train.epochs=60 mask.drop_edge=0"

Pre-training uses no labels, so every setting is pre-trained once a seed. Then, for each of the ten folds alone, the
combination of setting, layers, readout and scaling that did best on the inner folds of its training part is judged on
its test part. `--try` gives overrides of the recipe, once for every setting; "" is the recipe itself. Printed beside
the nested score: what each single combination, held for all folds and seeds, would have scored.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path

import numpy as np
import torch

from graphmae import config, model
from graphmae.cli.options import parse_seeds
from graphmae.data import REGISTRY, GraphSet
from graphmae.embedding import embed_graphs
from graphmae.evaluation import svm_folds
from graphmae.runtime.device import numerics, resolve_device
from graphmae.runtime.environment import hardware
from graphmae.runtime.seed import preserved_randomness
from graphmae.training.pretrain import pretrain_model

WAYS = ("mean", "max", "sum")
Scores = dict[str, np.ndarray]


def scores_of(name: str, overrides: list[str], seed: int, options: argparse.Namespace, device: torch.device) -> Scores:
    """Combination → [10 folds, 2]: test and inner accuracy of one pre-trained encoder, read in every way asked for."""
    recipe = config.load(name, overrides)
    graphs = REGISTRY.build(recipe.data.name, root=options.data, **recipe.data.options)
    assert isinstance(graphs, GraphSet) and graphs.y is not None
    with preserved_randomness(seed), numerics(device, recipe.train.precision):
        net = model.build(recipe, graphs.in_channels)
        pretrain_model(net, graphs.pretrain_graphs(), recipe.train, device)
    found: Scores = {}
    for layers in options.layers.split(","):
        net.encoder.output = layers
        every = embed_graphs(net.encoder, graphs, WAYS, device).chunk(len(WAYS), dim=1)
        pooled = {way: rows.numpy() for way, rows in zip(WAYS, every, strict=True)}
        for readout, scaling in product(options.readouts.split(","), options.scaling.split(",")):
            rows = np.concatenate([pooled[way] for way in readout.split("+")], axis=1)
            folds = svm_folds(rows, graphs.y.numpy(), seed, standardize=scaling == "standard")
            found[f"{' '.join(overrides)} | {layers} | {readout} | {scaling}"] = folds
    return found


def nested(found: Scores) -> tuple[float, list[str]]:
    """(mean test accuracy where every fold takes the combination best on its inner folds, what each took)."""
    names = list(found)
    every = np.stack([found[name] for name in names])  # [combinations, folds, 2]
    best = every[:, :, 1].argmax(0)
    return 100 * float(every[best, np.arange(every.shape[1]), 0].mean()), [names[b] for b in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--try", action="append", dest="settings", metavar="OVERRIDES")
    parser.add_argument("--layers", default="last,all")
    parser.add_argument("--readouts", default="mean,max,sum,mean+max+sum")
    parser.add_argument("--scaling", default="none,standard")
    parser.add_argument("--data", default=None)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", metavar="FILE", help="also write what was found there, after every seed")
    options = parser.parse_args()
    device, begun = resolve_device(options.device), time.perf_counter()
    lines = []
    for seed in parse_seeds(options.seeds):
        found: Scores = {}
        for setting in options.settings or [""]:
            found |= scores_of(options.recipe, setting.split(), seed, options, device)
        score, taken = nested(found)
        fixed = {name: [round(100 * float(v), 2) for v in folds.mean(0)] for name, folds in found.items()}
        lines.append({"seed": seed, "nested": round(score, 2), "taken": taken, "test_and_inner": fixed})
        print(f"seed {seed}: nested {score:.2f}, {time.perf_counter() - begun:.0f} s", flush=True)
        if options.json:
            seen = {"recipe": options.recipe, "hardware": hardware(str(device)), "seeds": lines}
            Path(options.json).write_text(json.dumps(seen, indent=1) + "\n")
    for name in lines[0]["test_and_inner"]:
        test, inner = np.mean([line["test_and_inner"][name] for line in lines], axis=0)
        print(f"{test:6.2f} test {inner:6.2f} inner  {name}")
    scores = np.array([line["nested"] for line in lines])
    print(f"{scores.mean():6.2f} ± {scores.std(ddof=1) if len(scores) > 1 else 0:.2f} nested over {len(scores)} seeds")


if __name__ == "__main__":
    main()
