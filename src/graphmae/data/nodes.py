"""A data set for node tasks: graphs, which of them the encoder may see, and where the labels for the probe are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from ..runtime.errors import DataError, InputError
from .compressed import CompressedGraph
from .dataset import Dataset
from .edge_data import with_loops
from .graphset import GraphSet

if TYPE_CHECKING:
    from torch_geometric.data import Data

Split = Literal["train", "val", "test"]


@dataclass(frozen=True, repr=False)
class NodeDataset(Dataset):
    """Graphs and splits; transductive and inductive alike.

    Attributes:
        graphs: every graph once, as PyG `Data` with `x` [N, d], `edge_index` [2, E] and `y` ([N] or [N, classes]).
        pretrain: positions of the graphs pre-training may see.
        splits: for each split, (position of a graph, [N] bool mask of its nodes).
        further_splits: other ways to split the same nodes, where there are several.
        treatment: how features and self-loops were treated, as `from_data` takes it; stored with every model.
        whole: positions of the graphs that hold every node once; None: all of them.
    """

    name: str
    graphs: tuple[Data, ...]
    pretrain: tuple[int, ...]
    splits: Mapping[str, Sequence[tuple[int, Tensor]]]
    treatment: Mapping[str, Any] = field(default_factory=dict)
    whole: tuple[int, ...] | None = None
    further_splits: tuple[Mapping[str, Sequence[tuple[int, Tensor]]], ...] = ()
    task = "node"
    default_recipe = "default"

    @classmethod
    def transductive(cls, name: str, data: Data) -> NodeDataset:
        """One graph, seen whole; its `train_mask`, `val_mask`, `test_mask` say which labels go where.

        A mask is [N], or [N, k] for k splits.
        """
        masks = {split: data[f"{split}_mask"] for split in ("train", "val", "test") if f"{split}_mask" in data}
        count = max((mask.size(1) for mask in masks.values() if mask.dim() == 2), default=1)
        first, *others = [
            {split: ((0, mask[:, number] if mask.dim() == 2 else mask),) for split, mask in masks.items()}
            for number in range(count)
        ]
        return cls(name, (data,), (0,), first, further_splits=tuple(others))

    @property
    def in_channels(self) -> int:  # type: ignore[override]
        return int(self.graphs[0].x.size(1))

    @property
    def edge_channels(self) -> int:
        return int(self.graphs[0].edge_attr.size(1)) if "edge_attr" in self.graphs[0] else 0

    def each_split(self) -> Iterator[NodeDataset]:
        yield self if not self.further_splits else replace(self, further_splits=())
        for splits in self.further_splits:
            yield replace(self, splits=splits, further_splits=())

    def check_labels(self) -> None:
        """Refuse a set that cannot be evaluated, and say what it lacks."""
        if self.further_splits:
            for dataset in self.each_split():
                dataset.check_labels()
            return
        if not all("y" in graph for graph in self.graphs):
            raise DataError(f"{self.name} has no labels (y), so it cannot be evaluated")
        for split in ("train", "val", "test"):
            if split not in self.splits:
                raise DataError(f"{self.name} has labels but no {split}_mask, so it cannot be evaluated")
            if not any(bool(mask.any()) for _, mask in self.splits[split]):
                raise DataError(f"the {split} split of {self.name} is empty, so it cannot be evaluated")
        for a, b in combinations(("train", "val", "test"), 2):
            shared = sum(int((m & n).sum()) for i, m in self.splits[a] for j, n in self.splits[b] if i == j)
            if shared:
                raise DataError(
                    f"{self.name}: {shared} nodes are in both the {a} and the {b} split; they must not overlap"
                )
        if not self.multilabel and self.num_classes < 2:
            raise DataError(f"{self.name} has a single class, so there is nothing to evaluate")

    @property
    def y(self) -> Tensor | None:
        """Class numbers of the single graph's nodes, [N] or [N, classes]; -1: not known. None: there are no labels."""
        return self.single_graph().get("y")

    @property
    def multilabel(self) -> bool:
        return "y" in self.graphs[0] and self.graphs[0].y.dim() == 2

    @property
    def metric(self) -> str:  # type: ignore[override]
        return "micro-f1" if self.multilabel else "accuracy"

    @property
    def num_classes(self) -> int:
        if self.multilabel:
            return int(self.graphs[0].y.size(1))
        return 1 + max(int(graph.y.max()) for graph in self.graphs)

    def pretrain_graphs(self) -> list[Data]:
        return [self.graphs[i] for i in self.pretrain]

    def compressed(self) -> CompressedGraph:
        if len(self.pretrain) != 1:
            raise InputError(f"{self.name} has several graphs; train.sampler is for a single one: leave it empty")
        return CompressedGraph.of(self.graphs[self.pretrain[0]], self.name)

    def pretrain_sets(self) -> Iterator[GraphSet]:
        yield _without_labels(self.name, self.pretrain_graphs())

    def features_to_check(self) -> Iterator[Tensor]:
        return (graph.x for graph in self.pretrain_graphs())

    def node_graphs(self) -> Iterator[Data]:
        return iter(self.graphs if self.whole is None else [self.graphs[i] for i in self.whole])

    def graph_sets(self) -> Iterator[GraphSet]:
        yield _without_labels(self.name, list(self.node_graphs()))

    def with_graph(self, graph: Data) -> NodeDataset:
        """The same nodes with other edges, and without splits, to train on."""
        loops = self.treatment.get("self_loops") and "edge_weight" in graph
        return replace(self, graphs=(with_loops(graph) if loops else graph,), splits={}, further_splits=())

    def with_features(self, make: Callable[[Data], Tensor]) -> NodeDataset:
        """The same graphs with `make(graph)` [N, k] as their features."""

        def changed(graph: Data) -> Data:
            out = copy.copy(graph)
            out.x = make(graph)
            return out

        return replace(self, graphs=tuple(changed(graph) for graph in self.graphs))

    def single_graph(self) -> Data:
        graphs = list(self.node_graphs())
        if len(graphs) != 1:
            raise InputError(f"{self.name} has {len(graphs)} graphs; this is for a single graph")
        return graphs[0]

    def gather(self, per_graph: list[Tensor], split: Split) -> tuple[Tensor, Tensor]:
        """Rows of `per_graph` (one tensor per graph, one row per node) and labels that belong to a split."""
        rows = [per_graph[i][mask.to(per_graph[i].device)] for i, mask in self.splits[split]]
        labels = [self.graphs[i].y[mask] for i, mask in self.splits[split]]
        return torch.cat(rows), torch.cat(labels).to(rows[0].device)

    def facets(self, nodes: Any = None) -> dict[str, Sequence[Any] | np.ndarray]:
        whole = range(len(self.graphs)) if self.whole is None else self.whole
        out: dict[str, Sequence[Any] | np.ndarray] = {}
        if all("y" in graph for graph in self.graphs):
            out |= self._label_facet([self.graphs[i].y for i in whole])
        if len(whole) > 1:
            out["graph"] = [str(i) for i in whole for _ in range(int(self.graphs[i].num_nodes))]
        out["neighbours"] = np.concatenate([_degrees(self.graphs[i]) for i in whole])
        if self.splits:
            parts: list[str | None] = []
            for i in whole:
                own: list[str | None] = [None] * int(self.graphs[i].num_nodes)
                for name, masks in self.splits.items():
                    for graph, mask in masks:
                        for row in mask.nonzero().flatten().tolist() if graph == i else ():
                            own[row] = name
                parts += own
            out["split"] = parts
        return out

    def _label_facet(self, labels: Sequence[Tensor]) -> dict[str, Sequence[Any] | np.ndarray]:
        """Classes by name; of several labels per node, how many it has."""
        if labels[0].dim() == 2:
            return {"labels": torch.cat([each.sum(1) for each in labels]).double().numpy()}
        name, names = self.label_names()
        return {
            name: [None if c < 0 else names[c] if c < len(names) else str(c) for c in torch.cat(list(labels)).tolist()]
        }

    def label_names(self) -> tuple[str, Sequence[str]]:
        """(what the labels are called, the classes' names, none where they are just counted)."""
        return "class", ()

    def details(self) -> Iterator[str]:
        if self.edge_channels:
            yield f"{self.edge_channels} features per edge"
        if all("y" in graph for graph in self.graphs):
            sizes = [f"{sum(int(mask.sum()) for _, mask in masks):,} {split}" for split, masks in self.splits.items()]
            several = f" (the first of {1 + len(self.further_splits)} splits)" if self.further_splits else ""
            kind = "labels per node" if self.multilabel else "classes"
            yield f"{self.label_names()[0]}: {self.num_classes} {kind}; {', '.join(sizes) or 'no split'}{several}"

    def summary(self) -> Iterator[tuple[str, int]]:
        yield "graphs", len(self.graphs)
        yield "nodes", sum(int(g.num_nodes) for g in self.graphs)
        yield "edges", sum(int(g.edge_index.size(1)) for g in self.graphs)
        yield "features", self.in_channels


def _degrees(graph: Data) -> np.ndarray:
    """[N] float64: how many edges end at every node, self-loops aside."""
    apart = graph.edge_index[0] != graph.edge_index[1]
    return torch.bincount(graph.edge_index[1][apart], minlength=int(graph.num_nodes)).double().numpy()


def _without_labels(name: str, graphs: list[Data]) -> GraphSet:
    from torch_geometric.data import Data

    kept = ("x", "edge_index", "edge_attr")
    return GraphSet.from_list(name, [Data(**{key: graph[key] for key in kept if key in graph}) for graph in graphs])
