"""ogbn-arxiv from the raw files of the Open Graph Benchmark (Hu et al. 2020), in the layout of `ogb` and PyG."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from ...runtime.errors import DataError
from ...runtime.untrusted import open_gz
from ..cache import cached
from ..dataset import REGISTRY
from ..nodes import NodeDataset
from ..scaling import Features, prepare
from ..sources import RawFiles

RAW = RawFiles(
    "ogbn-arxiv",
    ("ogbn_arxiv", "ogbn-arxiv", "OGB/ogbn_arxiv", "OGB/ogbn-arxiv", "arxiv"),
    dict.fromkeys(
        (
            "raw/edge.csv.gz",
            "raw/node-feat.csv.gz",
            "raw/node-label.csv.gz",
            "split/time/train.csv.gz",
            "split/time/valid.csv.gz",
            "split/time/test.csv.gz",
        ),
        "",
    ),
    archive=(
        "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip",
        "49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276",
    ),
)


@REGISTRY.register("ogbn-arxiv")
def ogbn_arxiv(
    root: str | Path | None = None, features: Features = "standardize", self_loops: bool = True
) -> NodeDataset:
    """ogbn-arxiv: 169,343 papers, 128 features, 40 classes, split by year; citations made undirected.

    Differs: the scale of the features is that of the training papers alone, the published code's that of all papers.
    """
    files = RAW.locate(root)
    tensors = cached("ogbn-arxiv", files, lambda: read(files))
    masks = {f"{split}_mask": tensors[f"{split}_mask"].bool() for split in ("train", "val", "test")}
    data = Data(x=tensors["x"], edge_index=tensors["edge_index"], y=tensors["y"], **masks)
    return prepare(NodeDataset.transductive("ogbn-arxiv", data), features, self_loops)


def read(files: dict[str, Path]) -> dict[str, Tensor]:
    x = torch.from_numpy(_table(files["raw/node-feat.csv.gz"], np.float32))
    y = torch.from_numpy(_table(files["raw/node-label.csv.gz"], np.float32)).flatten().long()
    edge_index = torch.from_numpy(_table(files["raw/edge.csv.gz"], np.int64).T.copy())
    if len(x) != len(y) or edge_index.size(0) != 2:
        raise DataError(f"ogbn-arxiv: {len(x)} rows of features, {len(y)} labels; the raw files do not belong together")
    if edge_index.numel() and (int(edge_index.max()) >= len(x) or int(edge_index.min()) < 0):
        raise DataError(f"{files['raw/edge.csv.gz']} names node {int(edge_index.max())}, but there are {len(x)} nodes")
    out = {"x": x, "y": y, "edge_index": to_undirected(edge_index, num_nodes=len(x))}
    for split, name in (("train", "train"), ("val", "valid"), ("test", "test")):
        path = files[f"split/time/{name}.csv.gz"]
        nodes = torch.from_numpy(_table(path, np.int64)).flatten()
        if len(nodes) and int(nodes.max()) >= len(x):
            raise DataError(f"{path} names node {int(nodes.max())}, but there are {len(x)} nodes")
        out[f"{split}_mask"] = torch.zeros(len(x), dtype=torch.uint8).index_fill_(0, nodes, 1)
    return out


def _table(path: Path, dtype: type) -> np.ndarray:
    """Comma-separated numbers without a header, gzipped."""
    try:
        with io.TextIOWrapper(open_gz(path), encoding="ascii") as file:
            return np.loadtxt(file, delimiter=",", dtype=dtype, ndmin=2)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path} is truncated or not a gzipped table of numbers ({error})") from None
