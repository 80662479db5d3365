"""Inference: the encoder alone, no masking, no dropout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import kernels
from ..batching import Batch, GraphStore
from ..data import Dataset
from ..methods import Method
from ..runtime.device import resolve_device
from ..runtime.errors import ConfigError, DataError, GraphMAEError, InputError, unknown
from ..runtime.resting import resting_copy
from ..runtime.seed import preserved_randomness

if TYPE_CHECKING:
    from torch_geometric.data import Data

M = TypeVar("M", bound=nn.Module)
READOUTS = ("mean", "max", "sum")


@dataclass(frozen=True)
class NodeReading:
    """How the embedding of a node is read off an encoder; much of what separates published numbers is here.

    Attributes:
        layers: "last", or "all" side by side.
        smooth: add Â^k times the embedding to it, Â the GCN's normalised adjacency; 0: do not.
        l2: then scale every row to length 1.
    """

    layers: str = "last"
    smooth: int = 0
    l2: bool = False


def embed_graph(
    encoder: nn.Module, data: Data, device: torch.device | str | None = None, reading: NodeReading | None = None
) -> Tensor:
    """[num_nodes, out_channels], on the CPU."""
    _check(encoder, data.x.size(1), data.edge_attr.size(1) if "edge_attr" in data else 0)
    reading = reading or NodeReading()
    with at_rest(encoder, device) as (encoder, used):
        encoder = with_every_layer(encoder)[0] if reading.layers == "all" else encoder
        edges = kernels.edges_of(data, used)
        rows = kernels.encode(encoder, data.x.to(used), edges)
        if rows.dim() != 2 or len(rows) != len(data.x):
            shape = tuple(rows.shape)
            raise ConfigError(f"{type(encoder).__name__} gives {shape} for {len(data.x)} nodes, not a row for each")
        if reading.smooth:
            rows = rows + propagated(rows, edges, reading.smooth)
        rows = (F.normalize(rows) if reading.l2 else rows).cpu()
    _refuse_not_finite(rows, "node", data.x)
    return rows


@torch.no_grad()
def propagated(rows: Tensor, edges: Tensor | kernels.Adjacency, steps: int) -> Tensor:
    """Â^steps · `rows` [N, k]: every step averages over neighbours, weighted as in a GCN.

    >>> propagated(torch.eye(2), torch.tensor([[0, 1, 0, 1], [0, 1, 1, 0]]), 1).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    view = kernels.view(edges, len(rows))
    for _ in range(steps):
        rows = kernels.aggregate(view, rows.unsqueeze(1), view.adj.symmetric_weight).squeeze(1)
    return rows


def embed_nodes(
    encoder: nn.Module, dataset: Dataset, device: torch.device | str | None = None
) -> Tensor | list[Tensor]:
    """One row per node, of tables in their order; a list of them for a set of graphs, and for several graphs."""
    rows = [embed_graph(encoder, graph, device) for graph in dataset.node_graphs()]
    return rows[0] if dataset.task == "node" and len(rows) == 1 else rows


def embed_graphs(
    encoder: nn.Module,
    dataset: Dataset,
    readout: str | Sequence[str] = "mean",
    device: torch.device | str | None = None,
    batch_size: int = 256,
) -> Tensor:
    """One row per graph, on the CPU: [graphs, out_channels], or several readouts side by side.

    Of molecules, one row for every string they were read from: NaN for those that are not a molecule.

    >>> from graphmae import encoders
    >>> from graphmae.data import GraphSet
    >>> from torch_geometric.data import Data
    >>> pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> graphs = GraphSet.from_list("pairs", [pair] * 3)
    >>> embed_graphs(encoders.GIN(2, hidden_channels=4), graphs, readout=("mean", "max")).shape
    torch.Size([3, 8])
    """
    count = int(dict(dataset.summary())["graphs"])
    return dataset.graph_rows(rows_of_graphs(encoder, dataset, range(count), readout, device, batch_size))


def rows_of_graphs(
    encoder: nn.Module,
    dataset: Dataset,
    numbers: range,
    readout: str | Sequence[str] = "mean",
    device: torch.device | str | None = None,
    batch_size: int = 256,
) -> Tensor:
    """The same of some graphs alone, counted from 0: [numbers, out_channels]."""
    ways = [readout] if isinstance(readout, str) else list(readout)
    for way in ways:
        if way not in READOUTS:
            raise ConfigError(unknown("readout", way, READOUTS))
    check_width(encoder, dataset)
    rows, first = [], 0
    with at_rest(encoder, device) as (encoder, used):
        for graphs in dataset.graph_sets():
            wanted = torch.arange(max(numbers.start - first, 0), max(min(numbers.stop - first, len(graphs)), 0))
            first += len(graphs)
            store = GraphStore(graphs, used) if len(wanted) else None
            for ids in wanted.split(batch_size) if store is not None else ():
                assert store is not None
                batch = store.take(ids)
                nodes, ptr = kernels.encode(encoder, batch.x, batch.edges(encoder)), batch.pointer
                rows.append(torch.cat([kernels.pool(nodes, ptr, way) for way in ways], dim=1).cpu())
    whole = torch.cat(rows) if rows else torch.empty(0, len(ways) * int(encoder.out_channels))  # type: ignore[arg-type]
    _refuse_not_finite(whole, "graph")
    return whole


def _refuse_not_finite(rows: Tensor, what: str, x: Tensor | None = None) -> None:
    """NaN is never handed on: whatever reads it next would call it something else."""
    if bool(torch.isfinite(rows).all()):
        return
    wrong = (~torch.isfinite(rows)).any(1).nonzero().flatten()
    largest = "" if x is None else f"; the largest feature is {float(x.abs().max()):.3g}"
    raise GraphMAEError(
        f"the embeddings of {len(wrong)} {what}s are not finite (the first: {what} {int(wrong[0])}{largest}). The "
        "features are too large for this model: scale them as its training data was scaled"
    )


def with_every_layer(encoder: nn.Module) -> tuple[nn.Module, int]:
    """A copy of the encoder that gives all its layers side by side, the last one last; and how many those are."""
    copy, count = resting_copy(encoder), int(getattr(encoder, "num_outputs", 0))
    if count:
        copy.output = "all"  # type: ignore[assignment]
    return copy, max(count, 1)


def pair_scorer(model: Method, code: Tensor) -> Callable[[Tensor], Tensor] | None:
    """[2, M] pairs of nodes → [M], by the method's own decoder of edges; None: it has none."""
    with torch.no_grad():
        if model.pair_scores(code[:1], *torch.zeros(2, 1, dtype=torch.long)) is None:
            return None

    def score(pairs: Tensor) -> Tensor:
        with at_rest(model, "cpu") as (resting, _):
            found = resting.pair_scores(code, *pairs)
        assert found is not None
        return found

    return score


@torch.no_grad()
def steady_loss(model: Method, graphs: Sequence[Data], device: torch.device, draws: int = 2) -> float:
    """The loss in evaluation mode, over always the same draws; some 200,000 nodes are enough.

    The scaled cosine error is taken without its γ, so that numbers of different γ compare.
    """
    model, total, weight = resting_copy(model), 0.0, 0
    power = 1.0 / float(getattr(model.criterion, "gamma", 1.0)) if model.loss_is_criterion else 1.0
    with preserved_randomness(0):
        for graph in graphs:
            batch = Batch(graph.x.to(device), kernels.edges_of(graph, device))
            for _ in range(draws):
                total += float(model(batch)) ** power * len(batch.x)
                weight += len(batch.x)
            if weight > draws * 200_000:
                break
    return total / weight


def check_width(encoder: nn.Module, dataset: Dataset) -> None:
    """Refuse data whose features are not of the encoder's widths."""
    _check(encoder, dataset.in_channels, dataset.edge_channels)


def _check(encoder: nn.Module, found: int, of_edges: int) -> None:
    width, edge_width = getattr(encoder, "in_channels", found), getattr(encoder, "edge_channels", 0)
    if found != width:
        raise DataError(f"the encoder was made for {width} features per node; this graph has {found}")
    if edge_width and of_edges and edge_width != of_edges:
        raise DataError(
            f"the encoder was made for {edge_width} features per edge (edge_attr); this graph has {of_edges}"
        )
    if any(weight.is_meta for weight in encoder.parameters()):
        raise InputError(
            'the weights of the model are on the device "meta", which holds no numbers; make it on the CPU'
        )


@contextmanager
def at_rest(module: M, device: torch.device | str | None) -> Iterator[tuple[M, torch.device]]:
    """(a copy of the module in evaluation mode, its device), for a block without gradients; None: where it is."""
    before = next((p.device for p in module.parameters()), torch.device("cpu"))
    target = before if device is None else resolve_device(device)
    with torch.no_grad():
        yield resting_copy(module, target), target
