"""A graph on disk as a data set: everything that is done with a graph in memory is done with it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...runtime.environment import free_bytes
from ...runtime.errors import DataError, InputError
from ..compressed import CompressedGraph, DamagedGraph, FeatureRows
from ..dataset import REGISTRY, Dataset
from ..graphset import GraphSet
from ..nodes import NodeDataset, Split
from .layout import IDS, SPLITS, open_array, read_header


@REGISTRY.register("store")
def store(root: str | Path | None = None, path: str = "") -> StoredGraph:
    """A graph on disk, from the folder `data.path` that graphmae store wrote."""
    if not path:
        raise DataError("data.name is 'store', but data.path does not say which folder")
    return StoredGraph.open(path)


@dataclass(frozen=True)
class StoredGraph(Dataset):
    """The graph in `folder`; arrays are mapped into memory, not read.

    >>> big = StoredGraph.open("big")  # doctest: +SKIP
    >>> dict(big.summary())["nodes"]  # doctest: +SKIP
    10000000
    """

    folder: Path
    header: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    task = "node"
    default_recipe = "default"
    on_disk = True
    multilabel = False
    metric = "accuracy"

    @classmethod
    def open(cls, folder: str | Path) -> StoredGraph:
        folder = Path(folder)
        header = read_header(folder)
        arrays = {name: open_array(folder, name, said) for name, said in header["arrays"].items()}
        indptr = arrays["indptr"]
        if int(indptr[0]) != 0 or int(indptr[-1]) != header["edges"]:
            raise DamagedGraph(f"{folder}: indptr must begin with 0 and end with the number of edges")
        return cls(folder, header, arrays)

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.header["name"])

    @property
    def treatment(self) -> dict[str, Any]:  # type: ignore[override]
        return dict(self.header["treatment"])

    @property
    def in_channels(self) -> int:  # type: ignore[override]
        return int(self.arrays["features"].shape[1])

    @property
    def id_name(self) -> str:  # type: ignore[override]
        return str(self.header["id_name"])

    @property
    def num_nodes(self) -> int:
        return int(self.header["nodes"])

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.header["classes"])

    @property
    def num_classes(self) -> int:
        return max(len(self.classes), 1 + int(self.arrays["labels"].max()))

    def summary(self) -> Iterator[tuple[str, int]]:
        yield "graphs", 1
        yield "nodes", self.num_nodes
        yield "edges", self.compressed().num_edges
        yield "features", self.in_channels

    def compressed(self) -> CompressedGraph:
        return self._compressed

    @cached_property
    def _compressed(self) -> CompressedGraph:
        return CompressedGraph(
            self.arrays["indptr"],
            self.arrays["indices"],
            FeatureRows(
                self.arrays["features"], None if "scale" not in self.arrays else np.array(self.arrays["scale"])
            ),
            bool(self.treatment.get("self_loops", True)),
            self.arrays.get("out_degree"),
        )

    def verify(self) -> None:
        """Read every byte, and compare it with what was written."""
        for name, said in self.header["arrays"].items():
            crc, array = 0, self.arrays[name]
            step = max(1, (1 << 26) // max(1, array.itemsize * int(np.prod(array.shape[1:]))))
            for begin in range(0, len(array), step):
                crc = zlib.crc32(np.ascontiguousarray(array[begin : begin + step]).data, crc)
            if crc != said["crc32"]:
                raise DamagedGraph(f"{self.folder / name}.npy is not what was written; store the graph again")

    def check_labels(self) -> None:
        if "labels" not in self.arrays or "split" not in self.arrays:
            raise DataError(f"{self.name} was stored without labels (--label), so it cannot be evaluated")
        for split in SPLITS:
            if not len(self.nodes_of(split)):
                raise DataError(f"the {split} split of {self.name} is empty, so it cannot be evaluated")
        if self.num_classes < 2:
            raise DataError(f"{self.name} has a single class, so there is nothing to evaluate")

    @property
    def splits(self) -> dict[str, Any]:
        """As of a graph in memory: for each split its nodes, as a mask."""
        if "split" not in self.arrays:
            return {}
        masks = {split: torch.from_numpy(self.arrays["split"] == 1 + i) for i, split in enumerate(SPLITS)}
        return {split: ((0, mask),) for split, mask in masks.items()}

    def nodes_of(self, split: str) -> np.ndarray:
        """[n] the nodes of a split."""
        return np.asarray(self.arrays["split"] == 1 + SPLITS.index(split)).nonzero()[0]

    def gather(self, per_graph: list[Tensor] | list[FeatureRows], split: Split) -> tuple[Tensor, Tensor]:
        """Rows of the one tensor in `per_graph`, or of the features, and labels that belong to a split."""
        nodes, given = self.nodes_of(split), per_graph[0]
        rows = given.take(nodes) if isinstance(given, FeatureRows) else given[torch.from_numpy(nodes).to(given.device)]
        return rows, torch.from_numpy(np.array(self.arrays["labels"][nodes])).to(rows.device)

    def single_graph(self) -> Data:
        """The whole graph in memory, where there is room for it."""
        return self._in_memory

    @cached_property
    def _in_memory(self) -> Data:
        graph = self.compressed()
        needed = 2 * (4 * graph.num_nodes * graph.features.width + 24 * graph.num_edges)
        if needed > (free := free_bytes()) > 0:
            raise InputError(
                f"{self.name} needs about {needed / 2**30:.1f} GiB in memory and {free / 2**30:.1f} GiB are free; this "
                "needs the whole graph at once. Training and embedding do not: train.sampler = 'neighbour'"
            )
        data = graph.to_data()
        if "labels" in self.arrays:
            data.y = torch.from_numpy(np.array(self.arrays["labels"]))
        for split, parts in self.splits.items():
            data[f"{split}_mask"] = parts[0][1]
        return data

    @property
    def graphs(self) -> tuple[Data, ...]:
        """The whole graph in memory, as a data set there has it."""
        return (self.single_graph(),)

    def in_memory(self) -> NodeDataset:
        """The same as a data set in memory."""
        return NodeDataset(self.name, self.graphs, (0,), self.splits, self.treatment)

    def pretrain_graphs(self) -> list[Data]:
        return [self.single_graph()]

    def node_graphs(self) -> Iterator[Data]:
        yield self.single_graph()

    def pretrain_sets(self) -> Iterator[GraphSet]:
        return self.in_memory().pretrain_sets()

    def graph_sets(self) -> Iterator[GraphSet]:
        return self.in_memory().graph_sets()

    def features_to_check(self) -> Iterator[Tensor]:
        """Some rows at a time."""
        features, step = self.compressed().features, max(1, (1 << 24) // self.in_channels)
        for begin in range(0, self.num_nodes, step):
            yield features.block(begin, min(begin + step, self.num_nodes))
            self.compressed().release()

    def with_features(self, make: Callable[[Data], Tensor]) -> Dataset:
        return self.in_memory().with_features(make)

    def node_ids(self) -> Any:
        import pyarrow.parquet

        path = self.folder / IDS
        if not path.is_file():
            return None
        ids = pyarrow.parquet.read_table(path).column(0)
        if len(ids) != self.num_nodes:
            raise DamagedGraph(f"{path} has {len(ids):,} ids for {self.num_nodes:,} nodes; store the graph again")
        return ids
