"""As a library: threads that train at the same time, and children forked after the parent has computed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

import graphmae as gm
from graphmae.runtime.device import numeric_mode, numerics
from reliability.harness import SRC

SMALL = ["encoder.hidden_channels=8", "train.patience=0", "embedding.views=[]"]


def weights(seed: int) -> dict[str, torch.Tensor]:
    graph = gm.data.load("synthetic", num_nodes=80).graphs[0]
    model = gm.pretrain("auto", graph, 12, overrides=SMALL, seed=seed, device="cpu", progress=False)
    return {key: value.clone() for key, value in model.state_dict().items()}


def test_threads_that_train_at_once_get_the_weights_they_would_get_alone() -> None:
    expected = {seed: weights(seed) for seed in (0, 1)}
    torch.manual_seed(7)
    outside, mode = torch.get_rng_state(), numeric_mode()
    found: list[tuple[int, dict[str, torch.Tensor]]] = []
    threads = [threading.Thread(target=lambda s=seed: found.append((s, weights(s)))) for seed in (0, 1, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    for seed, got in found:
        assert all(torch.equal(value, expected[seed][key]) for key, value in got.items()), seed
    assert torch.equal(torch.get_rng_state(), outside) and numeric_mode() == mode


def test_the_numeric_mode_comes_back_whatever_the_order_blocks_end_in() -> None:
    before, cpu = numeric_mode(), torch.device("cpu")
    first, second = numerics(cpu), numerics(cpu, "bf16")
    first.__enter__()
    second.__enter__()
    inside = numeric_mode()
    first.__exit__(None, None, None)
    assert numeric_mode() == inside, "the other block is still open"
    second.__exit__(None, None, None)
    assert numeric_mode() == before


FORKED = """
import os, sys, torch
import graphmae as gm
graph = gm.data.load("synthetic", num_nodes=80).graphs[0]
def train():
    return gm.pretrain("auto", graph, 3, overrides=["encoder.hidden_channels=8"], device="cpu", progress=False)
model = train()
rows = gm.embed(model, graph)
child = os.fork()
if not child:
    same = torch.allclose(gm.embed(model, graph), rows, atol=1e-4)
    finite = gm.embed(train(), graph).isfinite().all()
    os._exit(0 if same and finite and torch.get_num_threads() == 1 else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_works_after_its_parent_has_computed(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", FORKED], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "a forked process trains with one thread" in done.stderr
