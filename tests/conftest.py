"""Shared fixtures. Tests never reach the network and never write into the data root or the user's cache."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

# Without AMX, which some virtual machines announce and refuse; before torch is imported.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphmae.registry import _REGISTRIES, IMPORTED
from graphmae.runtime.compiled import limit_threads

# Started in the background or under nohup, some signals are ignored, and every process below inherits that.
for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0)):  # each its own cores: shared ones wait endlessly
    threads = max(1, (os.cpu_count() or 1) // workers)
    limit_threads(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # of processes the tests start

REASON = "needs the real benchmark files: set GRAPHMAE_DATA to a folder in PyG's layout"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("data") and not os.environ.get("GRAPHMAE_DATA"):
            item.add_marker(pytest.mark.skip(reason=REASON))
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


def pytest_runtest_setup() -> None:
    """Before every test and its fixtures: what a test draws does not depend on those that ran before it."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)


@pytest.fixture(scope="session", autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setenv("GRAPHMAE_CACHE", str(tmp_path_factory.mktemp("cache")))
    if not os.environ.get("GRAPHMAE_TEST_NETWORK"):
        patch.setenv("GRAPHMAE_OFFLINE", "1")
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def registered_for_one_test() -> Iterator[None]:
    """Parts that a test registers, and files it imports, are gone after it: the next one may take the same names."""
    before = {kind: set(registry._parts) for kind, registry in _REGISTRIES.items()}
    yield
    IMPORTED.clear()
    for kind, registry in _REGISTRIES.items():
        for name in set(registry._parts) - before.get(kind, set()):
            if not registry._parts[name].__module__.startswith("graphmae."):  # ours may only just have been imported
                del registry._parts[name]


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a known set with other contents than the published ones are read."""
    monkeypatch.setenv("GRAPHMAE_TRUST", "1")


@pytest.fixture
def data_root() -> Path:
    return Path(os.environ["GRAPHMAE_DATA"])


@pytest.fixture
def tiny() -> Data:
    """A ring of 12 nodes with one isolated node, positive features and two classes."""
    generator = torch.Generator().manual_seed(0)
    ring = torch.stack([torch.arange(11), (torch.arange(11) + 1) % 11])
    return Data(
        x=torch.rand(12, 6, generator=generator),
        edge_index=torch.cat([ring, ring.flip(0)], dim=1),
        y=torch.arange(12) % 2,
        train_mask=torch.arange(12) < 4,
        val_mask=(torch.arange(12) >= 4) & (torch.arange(12) < 8),
        test_mask=torch.arange(12) >= 8,
    )
