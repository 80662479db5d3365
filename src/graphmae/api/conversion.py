"""Weights of the published code as a checkpoint of ours."""

from __future__ import annotations

from pathlib import Path

from .. import pretrained
from ..experiments.folder import RunFolder
from ..methods import GraphMAE
from ..runtime.errors import InputError
from ..runtime.files import as_path, check_folder


def convert(
    file: str | Path,
    out: str | Path,
    *,
    residual: bool = False,
    activation: str = "prelu",
    gamma: float = 2.0,
    rate: float = 0.5,
) -> GraphMAE:
    """Read checkpoint.pt of the published scripts (GAT or GIN, DGL or PyG), save it in `out`, and return the model."""
    if RunFolder(as_path(out, "out")).holds_model:
        raise InputError(f"{out} already holds a model; choose another --out")
    check_folder(Path(out), "a model", is_ours=False)
    network = pretrained.from_published(Path(file), residual=residual, activation=activation, gamma=gamma, rate=rate)
    pretrained.save(network, out)
    return network
