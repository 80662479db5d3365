"""A user's own graph from files: two tables, .npz with named arrays, or a saved PyG `Data` (.pt)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from ..runtime.errors import DataError, unknown
from ..runtime.tensors import first_unusual
from ..runtime.untrusted import refuse_zip_bomb
from .checks import check_graph
from .dataset import REGISTRY
from .naming import ARRAYS, check_graph_file
from .nodes import NodeDataset
from .scaling import Features, prepare
from .tables import TableGraph, from_tables


def read_graph(path: str | Path) -> Data:
    """A checked graph from `graph.npz` (arrays `x`, `edge_index`, optionally `y` and three masks) or `graph.pt`."""
    path = Path(path)
    check_graph_file(path)
    return check_graph(_from_npz(path) if path.suffix == ".npz" else _from_pt(path), str(path))


@REGISTRY.register("file")
def file(
    root: str | Path | None = None, path: str = "", features: Features = "raw", self_loops: bool = True
) -> NodeDataset:
    """Your own graph from `data.path`: an .npz with arrays x and edge_index, or a saved PyG Data (.pt)."""
    if not path:
        raise DataError("data.name is 'file', but data.path does not say which")
    return from_data(read_graph(path), Path(path).stem, features, self_loops)


@REGISTRY.register("tables")
def tables(
    root: str | Path | None = None,
    nodes: str = "",
    edges: str | list[str] = "",
    id: str = "",
    source: str = "",
    target: str = "",
    weight: str = "",
    time: str = "",
    label: str = "",
    split: str = "",
    duplicates: str = "refuse",
    kinds: dict[str, str] | None = None,
    directed: bool = False,
    self_loops: bool = True,
    private: bool = False,
) -> TableGraph:
    """Your own graph from a node table and an edge table (CSV, Excel, JSON lines, Parquet), or from an edge list."""
    return from_tables(
        nodes or None, edges, id=id, source=source, target=target, weight=weight, time=time, label=label, split=split,
        duplicates=duplicates, kinds=kinds, directed=directed, self_loops=self_loops, private=private,
    )  # fmt: skip


def from_data(
    data: Data,
    name: str = "graph",
    features: Features = "raw",
    self_loops: bool = True,
    moments: Mapping[str, list[float]] | None = None,
) -> NodeDataset:
    """A PyG `Data` → a data set ready for training: checked, with one self-loop a node."""
    return prepare(NodeDataset.transductive(name, check_graph(data, name)), features, self_loops, moments)


def _from_npz(path: Path) -> Data:
    refuse_zip_bomb(path)
    try:
        with np.load(path, allow_pickle=False) as bundle:
            arrays = {key: bundle[key] for key in bundle.files}
    except Exception as error:  # a damaged archive can raise anything; all of it means the same to the user
        raise DataError(f"{path} is truncated or not an .npz file of plain arrays ({type(error).__name__})") from None
    problems = [unknown("array", key, ARRAYS) for key in arrays if key not in ARRAYS]
    problems += [f"the array {key!r} is missing" for key in ("x", "edge_index") if key not in arrays]
    # NumPy hands over the bytes of a member whose first ones do not say that it is an array
    problems += [f"{key!r} is not an array" for key, value in arrays.items() if not isinstance(value, np.ndarray)]
    if problems:
        raise DataError(f"{path}: " + "; ".join(problems))
    try:
        tensors = {key: torch.from_numpy(_native(value)) for key, value in arrays.items()}
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: {error}") from None
    if not tensors["x"].is_complex() and not tensors["x"].is_floating_point():
        tensors["x"] = tensors["x"].float()
    return Data(**tensors)


def _native(array: np.ndarray) -> np.ndarray:
    """In the byte order of this machine, whatever machine wrote it."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))


def _from_pt(path: Path) -> Data:
    refuse_zip_bomb(path)
    try:
        with torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]):
            data = torch.load(path, map_location="cpu", weights_only=True)
        parts = data.to_dict() if isinstance(data, Data) else {}
        tensors = {str(key): value for key, value in parts.items() if isinstance(value, torch.Tensor)}
    except Exception as error:  # as above
        raise DataError(f"{path} is truncated or holds more than a PyG Data ({type(error).__name__})") from None
    if not isinstance(data, Data):
        raise DataError(f"{path} holds a {type(data).__name__}, not a PyG Data")
    if wrong := first_unusual(tensors):
        raise DataError(f"{path}: {wrong}; a graph is made of dense tensors (x.to_dense())")
    return Data(**tensors)
