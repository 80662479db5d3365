"""One process against two on the same machine: throughput, what is exchanged, and accuracy.

python -m benchmarks.distributed --out benchmarks/results/distributed-cpu.json

Every process has one thread. The loads: MUTAG in batches of graphs, and a generated graph by mini-batches of seeds.
Runs alternate (one, two, one, two, …), so that what else the machine does hits both. Seconds of the processor, added up
over the processes, do not depend on what else it does: what two need more than one is what dividing costs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import graphmae as gm
from graphmae import methods
from graphmae.config import Train
from graphmae.data import Dataset
from graphmae.runtime.compiled import limit_threads
from graphmae.runtime.environment import commit, hardware
from graphmae.runtime.seed import seed_everything
from graphmae.training import Ranks, connect, pretrain_model

ROOT = Path(__file__).parents[1]
SIZES = [2**i for i in (16, 20, 22, 24, 26)]  # bytes of an exchange
WARM, STEPS = 5, 40


def launched(processes: int, *arguments: str) -> dict[str, Any]:
    """This file in so many processes; what rank 0 writes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        command += ["-m", "benchmarks.distributed", *arguments, "--worker", str(out)]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        one = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "PYTHONPATH": path}
        subprocess.run(command, env={**os.environ, **one}, check=True, cwd=ROOT)
        found: dict[str, Any] = json.loads(out.read_text())
    return found


def loads() -> dict[str, tuple[Any, Dataset]]:
    """Recipe and data."""
    mutag = gm.recipe("graph/mutag", "train.batch_size=64", "train.epochs=1000")
    seeds = ["train.sampler=neighbour", "train.batch_size=512", "train.epochs=1000", "encoder.hidden_channels=128"]
    graph = gm.data.load("synthetic", num_nodes=20_000, num_words=128)
    return {
        "mutag": (mutag, gm.data.load("mutag")),
        "seeds": (gm.recipe("default", *seeds, "encoder.heads=4"), graph),
    }


def throughput(name: str, ranks: Ranks) -> dict[str, Any]:
    """Steps per second, after a few, and the bytes of gradients each step exchanges."""
    recipe, dataset = loads()[name]
    seed_everything(0)
    model = methods.build(recipe, dataset.in_channels, dataset.target_channels)
    ends: list[tuple[float, float]] = []
    train: Train = recipe.train
    pretrain_model(
        model, dataset, train, torch.device("cpu"), ranks=ranks, most_steps=WARM + STEPS,
        after_step=[lambda step, loss: ends.append((time.perf_counter(), time.process_time()))],
    )  # fmt: skip
    sent = sum(4 * weight.numel() for weight in model.parameters() if weight.requires_grad)
    wall, used = (after - before for before, after in zip(ends[-1 - STEPS], ends[-1], strict=True))
    used = float(ranks.add_up(torch.tensor(used, dtype=torch.float64)))
    return {"steps_per_second": STEPS / wall, "cpu_seconds_per_step": used / STEPS, "gradient_bytes": sent}


def exchanges(ranks: Ranks) -> dict[str, float]:
    """Seconds to add up so many bytes over two ranks by gloo."""
    found = {}
    for size in SIZES if ranks.size > 1 else ():
        numbers, seconds = torch.ones(size // 4), []
        for _ in range(8):
            began = time.perf_counter()
            dist.all_reduce(numbers, group=ranks.gradients)
            seconds.append(time.perf_counter() - began)
        found[str(size)] = statistics.median(seconds[2:])
    return found


def accuracy(seeds: str) -> dict[str, list[float]]:
    """Of graph/mutag, run by one and by two processes."""
    found: dict[str, list[float]] = {}
    for processes in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
            command = [sys.executable, *(launch if processes > 1 else ["-m"]), "graphmae", "run", "graph/mutag"]
            command += ["--seeds", seeds, "--device", "cpu", "--out", f"{folder}/run"]
            command += ["--set", "evaluation.baselines=[]", "--set", "evaluation.choose=false"]
            path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
            subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}, check=True)
            runs = json.loads(Path(folder, "run/result.json").read_text())["runs"]
        found[str(processes)] = [run["rows"]["pretrained"]["folds"] for run in runs]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", default="0-4", help="of the accuracy")
    parser.add_argument("--accuracy", type=Path, help="an earlier file of this script to take the accuracy from")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--load", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        limit_threads(1)
        ranks = connect(torch.device("cpu"))
        found: dict[str, Any] = throughput(options.load, ranks) if options.load else exchanges(ranks)
        if ranks.is_first:
            options.worker.write_text(json.dumps(found))
        ranks.wait()
        return
    result: dict[str, Any] = {"device": hardware("cpu"), "threads_per_process": 1, "commit": commit(), "loads": {}}
    result["load_average"] = os.getloadavg()[0]
    for name in loads():
        rates: dict[int, list[float]] = {1: [], 2: []}
        used: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(options.rounds):
            for processes, seen in rates.items():
                one = launched(processes, "--load", name)
                seen.append(one["steps_per_second"])
                used[processes].append(one["cpu_seconds_per_step"])
        line = {f"steps_per_second_{count}": seen for count, seen in rates.items()}
        line |= {f"cpu_seconds_per_step_{count}": seen for count, seen in used.items()}
        ratio = statistics.median(b / a for a, b in zip(*rates.values(), strict=True))
        result["loads"][name] = {**line, "gradient_bytes": one["gradient_bytes"], "two_to_one": ratio}
        print(name, json.dumps(result["loads"][name]), flush=True)
    result["all_reduce_seconds"] = launched(2)
    if options.accuracy:
        before = json.loads(options.accuracy.read_text())
        result["accuracy"] = {**before["accuracy"], "commit": before["commit"]}
    else:
        result["accuracy"] = accuracy(options.seeds)
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
