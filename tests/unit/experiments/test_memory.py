"""A training that cannot fit is refused before it allocates anything, by every command."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae import config, data
from graphmae.experiments import memory
from graphmae.experiments.pretrain import build
from graphmae.runtime import environment
from graphmae.runtime.errors import InputError

HUGE = "encoder.hidden_channels=300000"  # terabytes
SMALL = "data.num_nodes=60"


@pytest.mark.parametrize(
    "call",
    [
        lambda out: gm.run("default", out=out, overrides=[SMALL, HUGE], progress=False),
        lambda out: gm.pretrain("auto", "synthetic", out=out, overrides=[SMALL, HUGE], progress=False),
        lambda out: gm.compare("synthetic", ["graphmae"], out=out, overrides=[SMALL, HUGE], progress=False),
        lambda out: gm.tune("synthetic", trials=1, out=out, overrides=[SMALL, HUGE]),
        lambda out: gm.GraphMAEEmbedder(overrides=[HUGE], progress=False).fit(data.load("synthetic").graphs[0]),
    ],
    ids=["run", "pretrain", "compare", "tune", "estimator"],
)
def test_what_cannot_fit_is_refused_without_being_allocated(call: Callable[[Path], object], tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"needs about [\d.]+ GiB .* take a narrower encoder \(--set encoder.hidden"):
        call(tmp_path / "out")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kilobytes
    assert not (tmp_path / "out").exists()


def test_weights_are_counted_as_they_are() -> None:
    dataset, recipe = data.load("synthetic", num_nodes=60), config.load("default")
    sizes = [4 * weight.numel() for weight in build(recipe, dataset).parameters()]
    assert memory.weight_bytes(dataset, recipe) == 4 * sum(sizes) + max(sizes)


def test_batches_of_graphs_and_several_jobs_count(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = data.load("synthetic", num_nodes=60).graphs[0]
    dataset = data.GraphSet.from_list("eight", [Data(x=graph.x, edge_index=graph.edge_index)] * 8)
    recipe = config.load("default-graph", ["train.batch_size=4", "encoder.hidden_channels=8", "encoder.num_layers=2"])
    one = config.load("default-graph", ["train.batch_size=1", "encoder.hidden_channels=8", "encoder.num_layers=2"])
    assert memory.step_bytes(dataset, recipe) == pytest.approx(4 * memory.step_bytes(dataset, one), rel=0.01)
    needed = memory.weight_bytes(dataset, recipe) + memory.step_bytes(dataset, recipe)
    monkeypatch.setattr(memory, "free_bytes", lambda device: int(1.5 * needed))
    memory.check_memory(dataset, recipe, torch.device("cpu"))
    with pytest.raises(InputError, match=r"fewer seeds at a time \(--jobs 1\)"):
        memory.check_memory(dataset, recipe, torch.device("cpu"), jobs=2)


@pytest.mark.parametrize("version", [1, 2])
def test_limits_of_a_container_count(tmp_path: Path, version: int) -> None:
    group = tmp_path / ("memory" if version == 1 else "") / "box/inner"
    group.mkdir(parents=True)
    (tmp_path / "own").write_text("4:memory:/box/inner\n1:cpu:/\n" if version == 1 else "0::/box/inner\n")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if version == 1 else ("memory.max", "memory.current")
    for folder, most, used in (
        (group, "9223372036854771712" if version == 1 else "max", 10),
        (group.parent, "1000", 700),
    ):
        (folder / names[0]).write_text(f"{most}\n")
        (folder / names[1]).write_text(f"{used}\n")
    (group.parent / "memory.stat").write_text("anon 600\ninactive_file 50\n")
    assert environment._left_in_group(tmp_path / "own", tmp_path) == 350
    assert environment._left_in_group(tmp_path / "missing", tmp_path) is None
