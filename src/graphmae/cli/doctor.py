"""graphmae doctor"""

from __future__ import annotations

import os
from importlib.util import find_spec

import typer

from .options import DataRoot

EXTRAS = {
    "mol": "rdkit",
    "report": "matplotlib",
    "hub": "huggingface_hub",
    "tune": "optuna",
    "tensorboard": "tensorboard",
}


def doctor(data: DataRoot = None) -> None:
    """Versions, devices, optional parts and the data that was found."""
    import torch

    from ..data.benchmarks import ogb, planetoid, ppi, reddit, tu
    from ..data.sources import cache_root, data_root
    from ..runtime.environment import hardware, versions

    for name, version in versions().items():
        typer.echo(f"{name:16} {version}")
    typer.echo(f"\n{'cpu':16} {hardware('cpu')}, {torch.get_num_threads()} torch threads")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for index in range(count):
        memory = torch.cuda.get_device_properties(index).total_memory / 2**30
        typer.echo(f"{f'cuda:{index}':16} {torch.cuda.get_device_name(index)}, {memory:.0f} GiB")
    if not count:
        typer.echo(f"{'cuda':16} none")
    kernels = "numba" if find_spec("numba") else "plain torch (numba is missing: slower)"
    typer.echo(f"{'kernels':16} {os.environ.get('GRAPHMAE_KERNELS', 'auto')}; on the CPU {kernels}")
    typer.echo("")
    for extra, module in EXTRAS.items():
        typer.echo(f"{'[' + extra + ']':16} {'installed' if find_spec(module) else f'not installed ({module})'}")
    root = data_root(data)
    typer.echo(f"\n{'data root':16} {root or 'not set (--data or GRAPHMAE_DATA)'}")
    typer.echo(f"{'cache':16} {cache_root()}")
    for raw in (
        *map(planetoid.raw_files, planetoid.DIGESTS),
        ogb.RAW,
        ppi.RAW,
        reddit.RAW,
        *map(tu.raw_files, tu.PUBLISHED),
    ):
        typer.echo(f"{raw.name:16} {'found' if raw.is_complete(root) else 'not found'}")
