"""What is installed and found on this machine."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import torch

from ..data.benchmarks import ogb, planetoid, ppi, reddit, tu
from ..data.sources import cache_root, data_root
from ..runtime.environment import hardware, versions

EXTRAS = {
    "mol": "rdkit", "report": "matplotlib", "hub": "huggingface_hub", "tune": "optuna", "tensorboard": "tensorboard",
    "excel": "openpyxl",
}  # fmt: skip


def doctor(root: str | Path | None = None) -> dict[str, dict[str, str]]:
    """Versions, devices, optional parts and the data that was found: section → name → what there is."""
    devices = {"cpu": f"{hardware('cpu')}, {torch.get_num_threads()} torch threads"}
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for index in range(count):
        memory = torch.cuda.get_device_properties(index).total_memory / 2**30
        devices[f"cuda:{index}"] = f"{torch.cuda.get_device_name(index)}, {memory:.0f} GiB"
    if not count:
        devices["cuda"] = "none"
    kernels = "numba" if find_spec("numba") else "plain torch (numba is missing: slower)"
    devices["kernels"] = f"{os.environ.get('GRAPHMAE_KERNELS', 'auto')}; on the CPU {kernels}"
    extras = {
        f"[{extra}]": "installed" if find_spec(module) else f"not installed ({module})"
        for extra, module in EXTRAS.items()
    }
    folder = data_root(root)
    found = {"data root": str(folder or "not set (--data or GRAPHMAE_DATA)"), "cache": str(cache_root())}
    sets = [*map(planetoid.raw_files, planetoid.DIGESTS), ogb.RAW, ppi.RAW, reddit.RAW]
    for raw in [*sets, *map(tu.raw_files, tu.PUBLISHED)]:
        found[raw.name] = "found" if raw.is_complete(folder) else "not found"
    return {"versions": versions(), "devices": devices, "extras": extras, "data": found}
