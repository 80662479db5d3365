"""PPI: 24 tissue graphs, 121 labels a node, split by graph (Hamilton et al. 2017), from the raw files PyG reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce

from ...runtime.errors import DataError
from ..cache import cached
from ..dataset import REGISTRY
from ..nodes import NodeDataset
from ..scaling import Features, prepare
from ..sources import RawFiles

SPLITS = {"train": "train", "val": "valid", "test": "test"}
RAW = RawFiles(
    "PPI",
    ("PPI/raw",),
    {f"{s}_{part}": "" for s in SPLITS.values() for part in ("feats.npy", "graph_id.npy", "graph.json", "labels.npy")},
    archive=(
        "https://data.dgl.ai/dataset/ppi.zip",
        "",
    ),  # no digest was ever published; the reader checks the content
)


@REGISTRY.register("ppi")
def ppi(root: str | Path | None = None, features: Features = "raw", self_loops: bool = False) -> NodeDataset:
    """PPI: 20 / 2 / 2 graphs, 50 features, 121 labels; the validation and test graphs are never pre-trained on."""
    files = RAW.locate(root)
    tensors = cached("ppi", files, lambda: read(files))
    graphs: list[Data] = []
    splits: dict[str, tuple[tuple[int, Tensor], ...]] = {}
    for split in SPLITS:
        part = _graphs(tensors, split)
        masks = [torch.ones(int(graph.num_nodes), dtype=torch.bool) for graph in part]
        splits[split] = tuple((len(graphs) + i, mask) for i, mask in enumerate(masks))
        graphs += part
    pretrain = tuple(i for i, _ in splits["train"])
    return prepare(NodeDataset("ppi", tuple(graphs), pretrain, splits), features, self_loops)


def read(files: dict[str, Path]) -> dict[str, Tensor]:
    out: dict[str, Tensor] = {}
    for split, name in SPLITS.items():
        x, y, graph_id = (_array(files[f"{name}_{part}.npy"]) for part in ("feats", "labels", "graph_id"))
        if not len(x) == len(y) == len(graph_id) > 0:
            raise DataError(f"PPI {name}: {len(x)} rows of features, {len(y)} of labels, {len(graph_id)} graph ids")
        edges = _edges(files[f"{name}_graph.json"], len(x))
        if (graph_id[edges[0]] != graph_id[edges[1]]).any():
            raise DataError(f"{files[f'{name}_graph.json']} has edges between different graphs")
        out |= {
            f"{split}.x": torch.from_numpy(x.astype(np.float32)),
            f"{split}.y": torch.from_numpy(y.astype(np.float32)),
            f"{split}.graph": torch.from_numpy(graph_id.astype(np.int64)),
            f"{split}.edge_index": torch.from_numpy(edges),
        }
    return out


def _graphs(tensors: dict[str, Tensor], split: str) -> list[Data]:
    x, y, graph, edge_index = (tensors[f"{split}.{key}"] for key in ("x", "y", "graph", "edge_index"))
    out = []
    for number in graph.unique().tolist():
        nodes = graph == number
        renumber = nodes.long().cumsum(0) - 1
        inside = nodes[edge_index[0]]
        out.append(Data(x=x[nodes], y=y[nodes], edge_index=renumber[edge_index[:, inside]]))
    return out


def _edges(path: Path, num_nodes: int) -> np.ndarray:
    """[2, E] from a node-link JSON; an undirected file gives both directions."""
    try:
        graph = json.loads(path.read_text())
        links = graph["links"] if "links" in graph else graph["edges"]
        pairs = np.array([(link["source"], link["target"]) for link in links], dtype=np.int64).reshape(-1, 2).T
        directed = bool(graph.get("directed", False))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(f"{path} is truncated or not a node-link graph ({str(error)[:200]!r})") from None
    if pairs.size and (pairs.min() < 0 or pairs.max() >= num_nodes):
        raise DataError(f"{path} names node {int(pairs.max())}, but there are {num_nodes} nodes")
    both = pairs if directed else np.concatenate([pairs, pairs[::-1]], axis=1)
    return coalesce(torch.from_numpy(np.ascontiguousarray(both)), num_nodes=num_nodes).numpy()


def _array(path: Path) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged file can raise anything; all of it means the same to the user
        raise DataError(f"{path} is truncated or not a NumPy array ({error})") from None
