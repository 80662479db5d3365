"""Graphs that are in memory already: NetworkX, SciPy, an edge list. (PyG's `Data`: `from_data`.)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_matrix
from torch_geometric.data import Data

from ..runtime.errors import DataError
from .files import from_data
from .nodes import NodeDataset
from .scaling import Features
from .tables import TableGraph, from_tables


def from_edges(edges: Any, **options: Any) -> TableGraph:
    """An edge list alone: its nodes are those it names, their features structural. Options as in `from_tables`.

    >>> from_edges({"source": [1, 2, 3], "target": [2, 3, 1]}, quiet=True).graphs[0].x.shape
    torch.Size([3, 5])
    """
    return from_tables(None, edges, **options)


def from_networkx(graph: Any, label: str = "", **options: Any) -> TableGraph:
    """A NetworkX graph; attributes of nodes and edges are columns, as in tables, and so are the options.

    >>> import networkx as nx
    >>> from_networkx(nx.karate_club_graph(), label="club", quiet=True).classes
    ('Mr. Hi', 'Officer')
    """
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        raise DataError(f"from_networkx takes a NetworkX graph, not a {type(graph).__name__}")
    nodes = list(graph.nodes(data=True))
    if not nodes:
        raise DataError("the graph has no nodes")
    if len({str(node) for node, _ in nodes}) < len(nodes):
        raise DataError("two nodes of the graph have the same name as text (1 and '1'); rename one")
    names = sorted({str(key) for _, attributes in nodes for key in attributes})
    are_whole = all(type(node) is int and abs(node) < 2**63 for node, _ in nodes)
    id_of: Any = int if are_whole else str
    table: dict[str, list[Any]] = {"id": [id_of(node) for node, _ in nodes]}
    for name in names:
        cells = [{str(k): v for k, v in attributes.items()}.get(name) for _, attributes in nodes]
        table["attribute id" if name == "id" else name] = [_plain(cell) for cell in cells]
    pairs = [(id_of(u), id_of(v)) for u, v in graph.edges()]
    if not pairs:
        raise DataError("the graph has no edges")
    ends: dict[str, list[Any]] = {"source": [u for u, _ in pairs], "target": [v for _, v in pairs]}
    known = [{str(key): value for key, value in data.items()} for *_, data in graph.edges(data=True)]
    edges = {
        name: [_plain(data.get(name)) for data in known] for name in sorted({key for data in known for key in data})
    }
    if "type" in edges:
        edges["type"] = [str(kind) for kind in edges["type"]]
    columns = {f"attribute {name}" if name in ends else name: cells for name, cells in edges.items()}
    return from_tables(
        _even(table), {**ends, **_even(columns)}, id="id", source="source", target="target", label=label, **options
    )


def from_scipy(
    adjacency: Any,
    x: Any,
    y: Any = None,
    *,
    name: str = "graph",
    features: Features = "raw",
    self_loops: bool = True,
    moments: Mapping[str, list[float]] | None = None,
) -> NodeDataset:
    """A sparse adjacency matrix [N, N] and features [N, d], an array or sparse as well; `y` [N] are class numbers.

    Entries of the matrix are the weights of edges where they differ; they must be above 0.

    >>> import scipy.sparse as sp
    >>> from_scipy(sp.eye(3), np.ones((3, 2))).graphs[0].x.shape
    torch.Size([3, 2])
    """
    if isinstance(adjacency, np.ndarray) and adjacency.ndim == 2:
        adjacency = coo_matrix(adjacency)
    if not hasattr(adjacency, "tocoo") or adjacency.shape[0] != adjacency.shape[1]:
        shape = getattr(adjacency, "shape", type(adjacency).__name__)
        raise DataError(f"the adjacency must be a square matrix, SciPy's or an array, not {shape}")
    try:
        dense = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float32)
    except (TypeError, ValueError):
        raise DataError("x must hold numbers, one row per node") from None
    if dense.ndim != 2 or len(dense) != adjacency.shape[0]:
        raise DataError(f"x has the shape {dense.shape} for an adjacency of {adjacency.shape[0]} nodes")
    coo = adjacency.tocoo()
    there = coo.data != 0
    pairs = np.stack([coo.row[there], coo.col[there]]).astype(np.int64)
    data = Data(x=torch.as_tensor(dense, dtype=torch.float32), edge_index=torch.from_numpy(pairs))
    values = np.asarray(coo.data[there], dtype=np.float32)
    if (values != values[:1]).any():
        data.edge_weight = torch.from_numpy(values)
    if y is not None:
        labels = np.asarray(y)
        data.y = torch.as_tensor(labels if labels.dtype.kind in "iufb" else np.unique(labels, return_inverse=True)[1])
    return from_data(data, name, features, self_loops, moments)


def _plain(cell: Any) -> Any:
    """What Arrow can hold: arrays as lists, everything it would not know as text."""
    if isinstance(cell, np.ndarray | torch.Tensor):
        return cell.tolist()
    if isinstance(cell, np.generic):
        return cell.item()
    return cell if cell is None or isinstance(cell, bool | int | float | str | list | tuple) else str(cell)


def _even(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns whose cells are of several types become text."""
    for name, cells in table.items():
        kinds = {type(cell) for cell in cells if cell is not None}
        if len(kinds) > 1 and not kinds <= {int, float} and not kinds <= {list, tuple}:
            table[name] = [None if cell is None else str(cell) for cell in cells]
    return table
