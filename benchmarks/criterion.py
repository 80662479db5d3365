"""Does any measure without labels tell which setting gives the better embedding? And how far are the defaults from it?

    python -m benchmarks.criterion photo --settings 0-29 --device cuda

Thirty settings around the defaults, the same for all graphs: a probe's accuracy (random 10 / 10 / 80 splits) beside
what can be measured without labels. Setting 0 is the default. Results are added to benchmarks/results/criterion.json;
docs/own-graph.md has their rank correlations, and how far the default is from the best of all.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

import graphmae as gm
from graphmae.data import from_data
from graphmae.data.splits import stratified_split
from graphmae.encoders import Composed
from graphmae.evaluation.label_free import measures
from graphmae.evaluation.linear_model import linear_model_score
from graphmae.inference.embedding import embed_graph
from graphmae.runtime.environment import commit, hardware

from .worth import GRAPHS, read

OUT = Path(__file__).parent / "results/criterion.json"
SPLITS = 3


def settings() -> list[list[str]]:
    """The default, one change each, other methods, then draws from all of it together."""
    single = [
        "mask.rate=0.25", "mask.rate=0.5", "mask.rate=0.9", "loss.gamma=1", "loss.gamma=3", "loss.name=mse",
        "encoder.name=gcn", "encoder.name=gin", "encoder.num_layers=1", "encoder.num_layers=3",
        "encoder.hidden_channels=64", "encoder.hidden_channels=512", "train.epochs=5", "train.lr=0.005",
        "mask.drop_edge=0.5", "encoder.residual=true", "decoder.name=mlp",
    ]  # fmt: skip
    others = [[f"method.name={name}"] for name in ("joint", "cca-ssg", "dgi", "bgrl", "graphmae2")]
    rng, drawn = np.random.default_rng(0), []
    choices = {
        "mask.rate": (0.25, 0.5, 0.75), "loss.gamma": (1, 2, 3), "encoder.name": ("gat", "gcn", "gin"),
        "encoder.num_layers": (1, 2, 3), "encoder.hidden_channels": (128, 256, 512), "train.lr": (0.0005, 0.002),
        "train.epochs": (10, 30), "mask.drop_edge": (0.0, 0.3),
    }  # fmt: skip
    for _ in range(7):
        drawn.append([f"{key}={values[rng.integers(len(values))]}" for key, values in choices.items()])
    return [[], *([change] for change in single), *others, *drawn]


def measured(name: str, changes: list[str], device: str) -> dict[str, Any]:
    data, _ = read(name)
    bare = Data(x=data.x, edge_index=data.edge_index)
    began = time.monotonic()
    model = gm.pretrain("auto", bare, overrides=changes, device=device, progress=False)
    seconds = time.monotonic() - began
    model = model.cpu()
    graph = from_data(bare, name).single_graph()
    assert model.views is not None
    rows = {"embedding": embed_graph(model.reader, graph)}
    rows["learned"] = embed_graph(Composed(model.encoder, model.views, alone=True), graph)
    made: dict[str, Any] = {"changes": changes, "seconds": round(seconds, 1)}
    made["measures"] = measures(rows["learned"], graph)
    for row, z in rows.items():
        for key, value in _probed(z, data.y).items():
            made[f"{row} {key}"] = value
    return made


def _probed(z: Tensor, y: Tensor) -> dict[str, float]:
    scores = []
    for seed in range(SPLITS):
        split = stratified_split(y, seed=seed)
        found = linear_model_score(*((z[split[part]], y[split[part]]) for part in ("train", "val", "test")))
        assert found is not None
        scores.append(found)
    keys = {"validation": "validation-converged", "test": "converged"}
    return {short: round(float(np.mean([one[key] for one in scores])), 2) for short, key in keys.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--settings", default="0-29", help="numbers of settings: from-to, both included")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    first, last = map(int, options.settings.split("-"))
    torch.set_num_threads(1)
    for name in options.graphs:
        for number in range(first, min(last + 1, len(settings()))):
            found = measured(name, settings()[number], options.device)
            known = json.loads(options.out.read_text()) if options.out.exists() else {}
            about = {"commit": commit(), "hardware": hardware(options.device)}
            known.setdefault(name, {"default": "0", "settings": {}})["settings"][str(number)] = {**found, **about}
            options.out.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
            print(name, number, found, flush=True)


if __name__ == "__main__":
    main()
