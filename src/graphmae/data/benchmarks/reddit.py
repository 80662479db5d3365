"""Reddit: posts linked by common commenters, split by day (Hamilton et al. 2017), from the raw files PyG reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, subgraph

from ...runtime.errors import DataError
from ...runtime.untrusted import refuse_zip_bomb
from ..cache import cached
from ..dataset import REGISTRY
from ..nodes import NodeDataset
from ..scaling import Features, prepare
from ..sources import RawFiles

RAW = RawFiles(
    "Reddit",
    ("Reddit/raw",),
    {"reddit_data.npz": "", "reddit_graph.npz": ""},
    archive=(
        "https://data.dgl.ai/dataset/reddit.zip",
        "",
    ),  # no digest was ever published; the reader checks the content
)


@REGISTRY.register("reddit")
def reddit(root: str | Path | None = None, features: Features = "standardize", self_loops: bool = True) -> NodeDataset:
    """Reddit: 232,965 posts, 602 features, 41 classes; pre-training sees the subgraph of training posts only."""
    files = RAW.locate(root)
    tensors = cached("reddit", files, lambda: read(files))
    x, y, role, edge_index = (tensors[key] for key in ("x", "y", "role", "edge_index"))
    train = role == 1
    inside, _ = subgraph(train, edge_index, relabel_nodes=True, num_nodes=len(x))
    seen = Data(x=x[train], y=y[train], edge_index=inside)
    whole = Data(x=x, y=y, edge_index=edge_index)
    splits = {
        "train": ((0, torch.ones(int(train.sum()), dtype=torch.bool)),),
        "val": ((1, role == 2),),
        "test": ((1, role == 3),),
    }
    return prepare(NodeDataset("reddit", (seen, whole), (0,), splits, whole=(1,)), features, self_loops)


def read(files: dict[str, Path]) -> dict[str, Tensor]:
    data, graph = _arrays(files["reddit_data.npz"]), _arrays(files["reddit_graph.npz"])
    try:
        x, y, role = data["feature"], data["label"], data["node_types"]
        row, col = graph["row"], graph["col"]
    except KeyError as error:
        raise DataError(f"Reddit: the raw files have no array {error}") from None
    if not len(x) == len(y) == len(role) or len(row) != len(col):
        raise DataError(f"Reddit: {len(x)} rows of features, {len(y)} labels, {len(role)} roles; they must agree")
    if not np.isin(role, (1, 2, 3)).all():
        raise DataError(f"{files['reddit_data.npz']}: node_types must be 1 (train), 2 (val) or 3 (test)")
    edge_index = torch.from_numpy(np.stack([row, col]).astype(np.int64))
    if edge_index.numel() and (int(edge_index.max()) >= len(x) or int(edge_index.min()) < 0):
        raise DataError(f"{files['reddit_graph.npz']} names node {int(edge_index.max())}, but there are {len(x)} nodes")
    return {
        "x": torch.from_numpy(x.astype(np.float32)),
        "y": torch.from_numpy(y.astype(np.int64)),
        "role": torch.from_numpy(role.astype(np.int64)),
        "edge_index": coalesce(edge_index, num_nodes=len(x)),
    }


def _arrays(path: Path) -> dict[str, np.ndarray]:
    refuse_zip_bomb(path)
    try:
        with np.load(path, allow_pickle=False) as bundle:
            found = {key: bundle[key] for key in bundle.files if key != "format"}
        if wrong := [key for key, value in found.items() if not isinstance(value, np.ndarray)]:
            raise ValueError(f"{wrong[0]} is not an array")
        return found
    except Exception as error:  # a damaged archive can raise anything; all of it means the same to the user
        raise DataError(f"{path} is truncated or not an .npz file ({error})") from None
