"""Is the graph sane? All problems in one report, before anything is trained."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from ..runtime.errors import DataError


def problems_of(data: Data) -> list[str]:
    """Everything that would make training on this graph wrong."""
    found = []
    x, edge_index = data.get("x"), data.get("edge_index")
    if not isinstance(x, torch.Tensor) or x.dim() != 2:
        return ["x must be a matrix [nodes, features]" + (f", not of shape {tuple(x.shape)}" if x is not None else "")]
    if not isinstance(edge_index, torch.Tensor) or edge_index.dim() != 2 or edge_index.size(0) != 2:
        return ["edge_index must be an integer matrix [2, edges]"]
    if x.size(0) == 0 or x.size(1) == 0:
        found.append(f"the graph has {x.size(0)} nodes and {x.size(1)} features; it needs at least one of each")
    if not x.is_floating_point():
        found.append(f"x must hold floating-point numbers, not {x.dtype}")
    elif not torch.isfinite(x).all():
        rows = (~torch.isfinite(x)).any(1).nonzero().flatten()
        found.append(f"{len(rows)} nodes have NaN or infinite features (the first: node {int(rows[0])})")
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        found.append(f"edge_index must hold whole numbers, not {edge_index.dtype}")
    elif edge_index.numel():
        outside = ((edge_index < 0) | (edge_index >= x.size(0))).any(0).nonzero().flatten()
        if len(outside):
            first = tuple(edge_index[:, outside[0]].tolist())
            found.append(
                f"{len(outside)} edges name a node that does not exist "
                f"(the first: edge {int(outside[0])}, {first[0]} → {first[1]}; nodes go from 0 to {x.size(0) - 1})"
            )
    for key in ("y", "train_mask", "val_mask", "test_mask"):
        value = data.get(key)
        if value is None:
            continue
        if len(value) != x.size(0):
            found.append(f"{key} has {len(value)} rows for {x.size(0)} nodes")
        elif key != "y" and (value.dtype != torch.bool or value.dim() != 1):
            found.append(f"{key} must be a vector of true and false, not {value.dtype} of shape {tuple(value.shape)}")
        elif key == "y" and value.dim() == 1 and (value.is_floating_point() or int(value.min()) < 0):
            found.append("y must hold class numbers from 0 up")
    return found


def check_graph(data: Data, name: str = "graph") -> Data:
    """The same graph, or a `DataError` that lists everything wrong with it."""
    found = problems_of(data)
    if found:
        raise DataError(f"{name}: " + "; ".join(found))
    return data
