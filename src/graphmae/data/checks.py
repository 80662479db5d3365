"""Is the graph sane? All problems in one report, before anything is trained."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from ..runtime.errors import DataError
from ..runtime.tensors import wrong_edges

LARGEST = 1e15  # of a feature an encoder sees
LARGEST_RAW = 1e30  # of one that is standardised first
SMALLEST = 1e-18  # of a column: squares of smaller numbers are 0 in 32 bits
MASKS = ("train_mask", "val_mask", "test_mask")


def check_graph(data: Data, name: str = "graph") -> Data:
    """The graph with features, edges and labels in their usual types, or a `DataError` that lists all that is wrong.

    Labels become class numbers [N], or a matrix of 0 and 1 [N, classes] where a node can have several.
    """
    data = copy.copy(data)
    for key, value in data.to_dict().items():
        if isinstance(value, Tensor) and value.is_inference():
            data[key] = value.clone()  # nothing can be learned with one that was made in torch.inference_mode()
    found = _features_and_edges(data)
    if not found:
        found = [*_edge_features(data), *_labels(data), *_masks(data)]
    if found:
        raise DataError(f"{name}: " + "; ".join(found))
    return data


def check_size(x: Tensor, most: float, name: str) -> None:
    """Refuse features so large that sums of their squares overflow, which would look like a failed training."""
    if x.numel() and float(x.abs().max()) > most:
        node, column = divmod(int(x.abs().argmax()), x.size(1))
        raise DataError(
            f"{name}: node {node} has the feature {float(x[node, column]):.3g} in column {column}; beyond {most:.0e} "
            "nothing can be computed with it. Standardise the column (data.features = 'standardize') or leave it out"
        )


def check_tiny(x: Tensor, name: str) -> None:
    """Refuse columns so small that their squares are 0, which would be taken for constant or divided by."""
    largest = x.abs().amax(0)
    tiny = ((largest > 0) & (largest < SMALLEST)).nonzero().flatten()
    if len(tiny):
        column = int(tiny[0])
        more = f", and {len(tiny) - 1:,} more columns do as well" if len(tiny) > 1 else ""
        raise DataError(
            f"{name}: column {column} of the features holds nothing larger than {float(largest[column]):.3g}{more}; "
            f"below {SMALLEST:.0e} nothing can be computed with it. Multiply it, standardise it (data.features = "
            "'standardize') or leave it out"
        )


def _features_and_edges(data: Data) -> list[str]:
    x, edge_index = data.get("x"), data.get("edge_index")
    if wrong := _wrong_matrix(x) or wrong_edges(edge_index):
        return [wrong]
    found = []
    if x.size(0) == 0 or x.size(1) == 0:
        found.append(f"the graph has {x.size(0)} nodes and {x.size(1)} features; it needs at least one of each")
    if not x.is_floating_point():
        found.append(f"x must hold floating-point numbers, not {x.dtype}")
    else:
        data.x = x.float()
        if not torch.isfinite(data.x).all():
            rows = (~torch.isfinite(data.x)).any(1).nonzero().flatten()
            column = int((~torch.isfinite(data.x[rows[0]])).nonzero()[0])
            found.append(
                f"{len(rows)} nodes have NaN or infinite features, or beyond 3e38 (the first: node {int(rows[0])}, "
                f"column {column})"
            )
    if data.get("num_nodes", x.size(0)) not in (None, x.size(0)):
        found.append(f"num_nodes says {data.num_nodes}, and x has {x.size(0)} rows; leave num_nodes out")
    if "num_nodes" in data:
        del data["num_nodes"]
    data.edge_index = edge_index = edge_index.long()
    outside = ((edge_index < 0) | (edge_index >= x.size(0))).any(0).nonzero().flatten()
    if len(outside):
        first = tuple(edge_index[:, outside[0]].tolist())
        found.append(
            f"{len(outside)} edges name a node that does not exist "
            f"(the first: edge {int(outside[0])}, {first[0]} → {first[1]}; nodes go from 0 to {x.size(0) - 1})"
        )
    return found or _edge_weights(data)


def _wrong_matrix(x: object) -> str:
    """What keeps `x` from being the features of nodes; "" where nothing does."""
    what = "x must be a matrix [nodes, features] of numbers"
    if x is None:
        return what
    if not isinstance(x, Tensor):
        return f"{what}, a tensor, not a {type(x).__name__}"
    if x.layout != torch.strided:
        return f"{what}, not a sparse one: x.to_dense()"
    if x.is_meta:
        return f"{what}; a tensor on the device meta has none"
    return f"{what}, not of shape {tuple(x.shape)}" if x.dim() != 2 else ""


def _edge_weights(data: Data) -> list[str]:
    """`edge_weight` [E] in the usual type; in one column as well."""
    weight, edges = data.get("edge_weight"), data.edge_index.size(1)
    if weight is None:
        return []
    must = f"edge_weight must have one number above 0 for each of {edges} edges"
    if not isinstance(weight, Tensor) or weight.layout != torch.strided:
        return [f"{must}, not a {'sparse tensor' if isinstance(weight, Tensor) else type(weight).__name__}"]
    if weight.shape not in ((edges,), (edges, 1)):
        return [f"{must}, not the shape {list(weight.shape)}"]
    data.edge_weight = weight = weight.flatten().float()
    wrong = (~(weight.isfinite() & (weight > 0))).nonzero().flatten()
    if not len(wrong):
        return []
    edge = int(wrong[0])
    ends = "from node {} to node {}".format(*data.edge_index[:, edge].tolist())
    return [f"{must}, and {len(wrong)} have none (the first: edge {edge}, {ends}, has {float(weight[edge]):g})"]


def _edge_features(data: Data) -> list[str]:
    """`edge_attr` as a matrix [edges, features]; one number per edge is one feature."""
    features, edges = data.get("edge_attr"), data.edge_index.size(1)
    if features is None:
        return []
    if not isinstance(features, Tensor) or features.dim() not in (1, 2) or features.is_complex():
        return ["edge_attr must be a matrix [edges, features] of numbers"]
    if len(features) != edges:
        return [f"edge_attr has {len(features)} rows for {edges} edges"]
    data.edge_attr = features = (features.unsqueeze(1) if features.dim() == 1 else features).float()
    wrong = (~(features.abs() <= LARGEST)).any(1).nonzero().flatten()
    if len(wrong):
        first = next(value for value in features[wrong[0]].tolist() if not abs(value) <= LARGEST)
        first_edge = f"the first: edge {int(wrong[0])}, {first:.3g}"
        return [f"{len(wrong)} edges have NaN, infinite or huge features in edge_attr ({first_edge})"]
    if not features.size(1):
        del data.edge_attr
    return []


def _labels(data: Data) -> list[str]:
    y = data.get("y")
    if y is None:
        return []
    nodes = data.x.size(0)
    if not isinstance(y, Tensor) or y.dim() not in (1, 2) or len(y) != nodes:
        rows = f"has {len(y)} rows" if isinstance(y, Tensor) and y.dim() else "is not a tensor with one row per node"
        return [f"y {rows} for {nodes} nodes"]
    if y.dim() == 2 and y.size(1) == 1:
        y = y.flatten()
    if y.dim() == 2:
        if not ((y == 0) | (y == 1)).all():
            return ["y with several columns must hold 0 and 1 alone, one column a label"]
        data.y = y.float()
        return []
    if y.is_floating_point() and not (y == y.round()).all():
        return ["y must hold class numbers, whole and from 0 up"]
    data.y = y = y.long()
    if int(y.min()) < 0:
        return [f"y must hold class numbers from 0 up, not {int(y.min())}"]
    if int(y.max()) >= max(nodes, 2):
        return [f"y names class {int(y.max())} in a graph of {nodes} nodes; number the classes from 0 up"]
    return []


def _masks(data: Data) -> list[str]:
    """Masks are [nodes], or [nodes, splits]; one column is one split."""
    found, nodes, columns = [], data.x.size(0), dict[str, int]()
    for key in MASKS:
        mask = data.get(key)
        if mask is None:
            continue
        if isinstance(mask, Tensor) and mask.dim() == 2 and mask.size(1) == 1:
            data[key] = mask = mask.flatten()
        fits = isinstance(mask, Tensor) and mask.dtype == torch.bool and mask.dim() in (1, 2) and mask.numel() > 0
        if not fits or len(mask) != nodes:
            kind = f"{mask.dtype} of shape {tuple(mask.shape)}" if isinstance(mask, Tensor) else type(mask).__name__
            found.append(f"{key} must be true or false for each of {nodes} nodes, or [{nodes}, splits], not {kind}")
        elif mask.dim() == 2:
            columns[key] = mask.size(1)
    if len(set(columns.values())) > 1:
        found.append(f"masks must have as many columns as there are splits, all the same, not {columns}")
    return found
