"""Embeddings of nodes and graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.data import Dataset as PyGDataset

from ..data import Dataset
from ..data.open import open_dataset
from ..data.tables import write_rows
from ..inference.embedding import embed_graphs, embed_nodes, rows_of_graphs
from ..inference.large import embed_large, wants_layers
from ..inference.shards import in_shards
from ..methods import Method
from ..pretrained import load
from ..runtime.device import resolve_device, with_torch_defaults
from ..runtime.errors import InputError, unknown
from ..training.distributed import ALONE, Ranks, connect
from .arguments import check_output
from .evaluation import evaluation_settings

LEVELS = ("auto", "node", "graph")


@with_torch_defaults
def embed(
    model: Method | nn.Module | str | Path,
    data: Any,
    *,
    data_root: str | Path | None = None,
    device: str | None = None,
    level: str = "auto",
    readout: str | None = None,
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
    out: str | Path | None = None,
) -> Any:
    """Embeddings of every node, [num_nodes, out_channels]; a list of tensors where there are several graphs.
    Of tables (paths of nodes and edges) one row for every row of the node table, in its order; `columns` names id,
    source, target (default: as in training). What moved in them since training is reported, refused if `strict`.
    `model` is a model, a bare encoder, or the folder of a checkpoint. With `level="graph"`, and by itself for a
    set of graphs (by name or folder, not a list), one row per graph, pooled by `readout`: "mean", "max", "sum", or
    several side by side, "mean+max"; by default that of the checkpoint's recipe, else the mean. With `out` they are
    also written: .npy, .npz, .csv or .parquet, with the ids of a node table, or the names and SMILES of molecules.
    Molecules are a file (.smi, .sdf, a table) or a list of SMILES; strings that are none have rows of NaN. A graph on
    disk, or one that would not fit at once, is embedded layer by layer: the result is the same, and is mapped from
    disk; with `out` an interrupted call goes on when it is repeated.

    Under torchrun, with `out`, each process embeds some of many graphs; rank 0 puts them together, writes and returns
    them, the others return their own. The nodes of single graphs are embedded by rank 0.
    """
    check_output("embed", out, model, data)
    if level not in LEVELS:
        raise InputError(unknown("level", level, LEVELS))
    opened = model if isinstance(model, nn.Module) else load(model)
    opened = getattr(opened, "_orig_mod", opened)  # of a compiled model, the model
    encoder = opened.reader if isinstance(opened, Method) else opened
    inputs = opened.inputs if isinstance(opened, Method) else {}
    dataset = open_dataset(data, data_root, columns, inputs, strict)
    if level == "auto":
        is_list = (
            isinstance(data, Sequence | Batch | PyGDataset) and not isinstance(data, str) and dataset.task == "graph"
        )
        level = "node" if dataset.task == "node" or is_list else "graph"
    together = connect(resolve_device(device or "cpu")) if out is not None else ALONE
    if level == "node" and not together.is_first:
        together.wait()
        return torch.empty(0, int(encoder.out_channels))  # type: ignore[arg-type]
    rows = _rows(model, encoder, dataset, level, readout, device, out, together)
    if level == "node":
        together.wait()  # until they are written
    return rows


def _rows(
    model: Method | nn.Module | str | Path,
    encoder: nn.Module,
    dataset: Dataset,
    level: str,
    readout: str | None,
    device: str | None,
    out: str | Path | None,
    together: Ranks,
) -> Any:
    if level == "node" and wants_layers(encoder, dataset, device):
        return embed_large(encoder, dataset, device, None if out is None else Path(out))
    if level == "node":
        rows = embed_nodes(encoder, dataset, device)
    else:
        readout = evaluation_settings(model, []).readout if readout is None else readout
        rows = _of_graphs(encoder, dataset, readout.split("+"), device, out, together)
    if out is not None and together.is_first:
        ids = dataset.node_ids() if level == "node" else None
        z = torch.cat(rows) if isinstance(rows, list) else rows
        beside = dataset.graph_columns() if level == "graph" else None
        write_rows(Path(out), z.numpy(), ids, id_name=dataset.id_name, beside=beside)
    return rows


def _of_graphs(
    encoder: nn.Module,
    dataset: Dataset,
    readout: Sequence[str],
    device: str | None,
    out: str | Path | None,
    together: Ranks,
) -> Tensor:
    """One row per graph. Of several processes, with a file to write, each embeds some of them."""
    if together.size == 1:
        return embed_graphs(encoder, dataset, readout, device)
    assert out is not None
    share = partial(rows_of_graphs, encoder, dataset, readout=readout, device=device)
    rows = in_shards(int(dict(dataset.summary())["graphs"]), share, Path(out), together)
    return dataset.graph_rows(rows) if together.is_first else rows
