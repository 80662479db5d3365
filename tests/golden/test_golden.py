"""Three steps of a node, a graph and a molecule recipe on tiny data give the numbers they always gave.

The numbers are in losses.json. On the kind of machine they were made on losses must be equal to the last bit, elsewhere
to five digits. They are computed in a process of their own, because what ran before in a process can change how its
products are rounded. To compare every bit of the weights too, before and after a change that should alter nothing:
python tests/golden/test_golden.py --check. After a change that is meant to alter them, the same without --check.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

import graphmae as gm
from graphmae import methods
from graphmae.data import GraphSet, NodeDataset
from graphmae.runtime.device import numerics
from graphmae.runtime.seed import preserved_randomness
from graphmae.training import Journal, pretrain_model

FILE = Path(__file__).with_name("losses.json")
STEPS = 3


def ring(size: int, features: torch.Tensor) -> Data:
    """A ring with a chord from every third node."""
    here = torch.arange(size)
    pairs = torch.cat([torch.stack([here, (here + 1) % size]), torch.stack([here[::3], (here[::3] + 5) % size])], dim=1)
    return Data(x=features, edge_index=torch.cat([pairs, pairs.flip(0), here.expand(2, -1)], dim=1))


def node_task() -> tuple[Any, Any, int]:
    x = torch.rand(60, 24, generator=torch.Generator().manual_seed(1))
    small = ("encoder.hidden_channels=16", "encoder.heads=2")
    return gm.recipe("node/cora", *small), NodeDataset("ring", (ring(60, x * (x > 0.7)),), (0,), {}), 24


def graph_task() -> tuple[Any, Any, int]:
    sizes = (6, 9, 7, 12, 8, 10, 6, 11)
    kinds = torch.randint(5, (sum(sizes),), generator=torch.Generator().manual_seed(2)).split(sizes)
    graphs = [ring(size, torch.eye(5)[kind]) for size, kind in zip(sizes, kinds, strict=True)]
    return gm.recipe("graph/mutag", "train.batch_size=8"), GraphSet.from_list("tiny", graphs), 5


def molecule_task() -> tuple[Any, Any, int]:
    generator, total = torch.Generator().manual_seed(3), 6 * 9
    plain = GraphSet.from_list("tiny", [ring(9, torch.zeros(9, 1)) for _ in range(6)])
    codes = torch.stack([torch.randint(n, (total,), generator=generator) for n in (119, 5)], dim=1)
    sums = torch.randint(5, (total, 12), dtype=torch.uint8, generator=generator)
    molecules = GraphSet(
        "tiny", codes, (119, 5), plain.edge_index, plain.node_ptr, plain.edge_ptr, edge_sums=sums
    )  # fmt: skip
    small = ("encoder.hidden_channels=16", "encoder.num_layers=2")
    return gm.recipe("molecule/zinc", *small), molecules, 124


TASKS = {"node": node_task, "graph": graph_task, "molecule": molecule_task}


def measured(task: str) -> dict[str, Any]:
    """The loss of every step, the sum of all weights afterwards, and a digest of their bits."""
    recipe, dataset, channels = TASKS[task]()
    recipe = recipe.override(f"train.epochs={STEPS}")
    losses: list[float] = []
    with preserved_randomness(0), numerics(torch.device("cpu")):
        network = methods.build(recipe, channels, 119 if task == "molecule" else None)
        journal = Journal(log=lambda line: losses.append(line["loss"]))
        pretrain_model(network, dataset, recipe.train, torch.device("cpu"), journal=journal)
    return {"losses": losses, "weights": float(total(network)), "digest": digest(network)}


def total(network: nn.Module) -> torch.Tensor:
    return torch.stack([value.double().abs().sum() for value in network.state_dict().values()]).sum()


def digest(network: nn.Module) -> str:
    """Names are left out: a part may be renamed, its numbers may not change."""
    seen = hashlib.sha256()
    for value in network.state_dict().values():
        seen.update(value.contiguous().numpy().tobytes())
    return seen.hexdigest()


def machine() -> dict[str, str]:
    about = Path("/proc/cpuinfo")
    names = [line for line in about.read_text().splitlines() if "model name" in line] if about.is_file() else []
    return {
        "model": names[0].split(":")[1].strip() if names else "",
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "architecture": platform.machine(),
        "torch": torch.__version__,
    }


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__, "--print"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("task", TASKS)
def test_training_gives_the_numbers_it_always_gave(task: str, found: dict[str, Any]) -> None:
    expected = json.loads(FILE.read_text())
    assert len(found[task]["losses"]) == STEPS
    assert found[task]["losses"] == pytest.approx(expected[task]["losses"], rel=1e-5)
    assert found[task]["weights"] == pytest.approx(expected[task]["weights"], rel=1e-5)
    if expected["machine"] == found["machine"]:
        assert found[task]["losses"] == expected[task]["losses"]


if __name__ == "__main__":
    now = {"machine": machine(), **{task: measured(task) for task in TASKS}}
    if "--print" in sys.argv:
        print(json.dumps(now))
    elif "--check" in sys.argv:
        same = now == json.loads(FILE.read_text())
        sys.exit(None if same else f"differs: {json.dumps(now)}")
    else:
        FILE.write_text(json.dumps(now, indent=1) + "\n")
