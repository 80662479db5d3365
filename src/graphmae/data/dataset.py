"""The contract of a data set: what it is made of, how it is batched and evaluated, which recipe fits it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from torch import Tensor

from ..registry import Registry
from ..runtime.errors import InputError

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from .compressed import CompressedGraph
    from .graphset import GraphSet

REGISTRY: Registry[Dataset] = Registry("data", supplied=["root"])
Task = Literal["node", "graph", "molecule", "none"]


class Dataset:
    """Graphs and, for evaluation alone, labels.

    Attributes:
        task: what is predicted when it is evaluated: labels of nodes, of whole graphs, measured targets of molecules,
            or nothing, for sets that are there to pre-train on.
        default_recipe: what `recipe = "auto"` starts from.
        treatment: how features and self-loops were treated; stored with every model.
        in_channels: width of the node features.
        metric: the name of the score.
        id_name: what a file with one row per node calls the column of ids.
    """

    task: ClassVar[Task]
    default_recipe: ClassVar[str]
    name: str
    treatment: Mapping[str, Any]
    in_channels: int
    metric: str
    id_name: str = "id"
    on_disk: ClassVar[bool] = False  # whether it is mapped from disk: what needs the whole graph at once is avoided

    def __repr__(self) -> str:
        facts = dict(self.summary())
        counts = ", ".join(f"{count:,} {what}" for what, count in facts.items() if (what, count) != ("graphs", 1))
        lines = [f"{type(self).__name__} {self.name}: {counts}", *self.details()]
        return "\n  ".join(textwrap.shorten(line, 110, placeholder=" …") for line in lines)

    def details(self) -> Iterator[str]:
        """What else people want to see of it when it is printed, a line each."""
        yield from ()

    @property
    def num_features(self) -> int:
        """As PyG calls the width of the node features."""
        return self.in_channels

    @property
    def remarks(self) -> Sequence[str]:
        """What people should know of how it was read."""
        return ()

    @property
    def target_channels(self) -> int:
        """How many of the features, the first ones, can be reconstructed."""
        return self.in_channels

    @property
    def edge_channels(self) -> int:
        """How many features every edge has, for an encoder that learns from them."""
        return 0

    def summary(self) -> Iterator[tuple[str, int]]:
        """("nodes", 2708), …: for people, and for the card of a model."""
        raise TypeError(f"{type(self).__name__} must define summary()")

    def check_labels(self) -> None:
        """Refuse a set that cannot be evaluated, and say what it lacks."""
        raise TypeError(f"{type(self).__name__} must define check_labels()")

    def each_split(self) -> Iterator[Dataset]:
        """The data set once for every way its labels are split."""
        yield self

    def pretrain_graphs(self) -> list[Data]:
        """The graphs pre-training sees, each a `Data`; none where there are many, which come as `pretrain_sets`."""
        return []

    def pretrain_sets(self) -> Iterator[GraphSet]:
        """What pre-training sees as sets of graphs, to be cut into batches."""
        raise TypeError(f"{type(self).__name__} must define pretrain_sets()")

    def features_to_check(self) -> Iterator[Tensor]:
        """[N, in_channels] numbers that might not fit a loss; none where all are categories."""
        yield from ()

    def node_graphs(self) -> Iterator[Data]:
        """Graphs that together have every node once."""
        raise InputError(f"{self.name} has one embedding per molecule; level 'node' is for graphs")

    def graph_sets(self) -> Iterator[GraphSet]:
        """All graphs, some at a time, in order."""
        raise TypeError(f"{type(self).__name__} must define graph_sets()")

    def with_features(self, make: Callable[[Data], Tensor]) -> Dataset:
        """The same graphs with `make(graph)` [N, k] as their features."""
        raise TypeError(f"{type(self).__name__} must define with_features(make)")

    def single_graph(self) -> Data:
        """The one graph with every node; refused where there are several."""
        raise InputError(f"{self.name} is a set of graphs; this is for a single graph")

    def compressed(self) -> CompressedGraph:
        """The one graph pre-training sees in compressed rows, to sample from; refused where there are several."""
        raise InputError(f"{self.name} is a set of graphs; train.sampler is for a single graph: leave it empty")

    def sorted_by_id(self) -> Dataset:
        """The same data, its nodes in an order that does not depend on the file, for random draws."""
        return self

    def from_sorted(self, rows: Tensor) -> Tensor:
        """From one row per node of `sorted_by_id()` to one per node of this data set."""
        return rows

    def graph_rows(self, rows: Tensor) -> Tensor:
        """From one row per graph to one per row of what the data set was made of."""
        return rows

    def digest(self) -> str:
        """What the data is made of, where a run that is resumed has to find the same; "" where its settings say it."""
        return ""

    def write_records(self, folder: Path) -> None:
        """Write into a run's folder what was made of the user's own data, where that has to be looked up later."""

    def graph_columns(self) -> Mapping[str, list[str]]:
        """Columns of text that say what every row of `graph_rows` is; none where they are just counted."""
        return {}

    def node_ids(self) -> Any:
        """What the nodes' rows are called there (an Arrow array); None: they are just counted."""
        return None

    def graph_ids(self) -> Sequence[str] | None:
        """What people call the graphs of a set; None: they are just counted."""
        return None

    def cells_to_show(self, nodes: Any, column: str) -> list[str]:
        """What a column of the node table says of every node, as text; "" where the cell is empty."""
        raise InputError(f"--show names a column of a node table, and {self.name} was not made from one")

    def facets(self, nodes: Any = None) -> Mapping[str, Sequence[Any] | np.ndarray]:
        """What is known of every point of a map, a node or, of sets of graphs, a graph: column → one value per point.

        Text, with None where nothing is known, or float64, NaN where nothing is. `nodes` is the table the points
        are rows of, whose columns are then among them.
        """
        return {}

    def some_graphs(self, most: int) -> tuple[np.ndarray, Iterator[GraphSet]]:
        """(positions, the graphs there): all of them, or about `most` where they are far more."""
        sets = list(self.graph_sets())
        return np.arange(sum(len(graphs) for graphs in sets)), iter(sets)

    def drawings(self, rows: Sequence[int]) -> tuple[list[bytes], list[str]]:
        """Of molecules: (the structure of these, packed, b"" where it cannot be drawn; the chemical symbols used)."""
        return [], []
