"""Embeddings of all nodes of a graph that is on disk, or too large for a pass over the whole of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data import Dataset
from ..runtime.environment import free_bytes
from ..runtime.errors import InputError
from ..runtime.files import behind_links
from .embedding import NodeReading, check_width, embed_graph
from .layerwise import can_stage, embed_layerwise, forward_bytes, put_in_place, written_rows


def wants_layers(encoder: nn.Module, dataset: Dataset, device: str | torch.device | None = None) -> bool:
    """Whether nodes are embedded layer by layer: the graph is on disk, or the whole of it would not fit at once."""
    if dataset.task != "node" or not can_stage(encoder):
        return False
    if dataset.on_disk:
        return True
    facts = dict(dataset.summary())
    used = next((p.device for p in encoder.parameters()), torch.device("cpu")) if device is None else device
    free = free_bytes(str(used) if str(used) != "auto" else "cpu")
    return facts["graphs"] == 1 and bool(free) and forward_bytes(encoder, facts["nodes"], facts["edges"]) > free


def embed_large(
    encoder: nn.Module,
    dataset: Dataset,
    device: torch.device | str | None = None,
    out: Path | None = None,
    reading: NodeReading | None = None,
) -> Tensor:
    """[N, out_channels] of a single graph, mapped from the file `out` (.npy), or from one that goes with the tensor.

    With `out` an interrupted call goes on when it is repeated: what it had done is beside it, in `.OUT.layers`.
    """
    check_width(encoder, dataset)
    if out is None:
        with tempfile.TemporaryDirectory(prefix="graphmae-") as folder:
            found = embed_layerwise(encoder, dataset.compressed(), Path(folder) / "layers", device, reading)
            return torch.from_numpy(found)  # the mapping outlives the name of its file
    final_file = behind_links(out)
    scratch = final_file.with_name(f".{final_file.name}.layers")
    found = embed_layerwise(encoder, dataset.compressed(), scratch, device, reading, key_of(dataset))
    if out.suffix == ".npy":
        put_in_place(found, out)
        final: Any = np.lib.format.open_memmap(out, "c")
    else:
        written_rows(found, out, dataset.node_ids(), dataset.id_name)
        final = found
    rmtree(scratch, ignore_errors=True)
    return torch.from_numpy(final)


def key_of(dataset: Dataset) -> str:
    """What tells one stored graph from another."""
    header = getattr(dataset, "header", {})
    return repr(sorted((name, said["crc32"]) for name, said in header.get("arrays", {}).items()))


def embed_whole(
    encoder: nn.Module, dataset: Dataset, device: torch.device | str | None, reading: NodeReading | None = None
) -> list[Tensor]:
    """One tensor per graph of a data set of nodes, layer by layer where that is needed; for evaluation."""
    if wants_layers(encoder, dataset, device):
        return [embed_large(encoder, dataset, device, reading=reading)]
    graphs = getattr(dataset, "graphs", None)
    if graphs is None:
        raise InputError(f"{dataset.name} has no graphs with labelled nodes")
    return [embed_graph(encoder, graph, device, reading) for graph in graphs]
