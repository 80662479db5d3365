"""Inference: the encoder alone, no masking, no dropout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from .. import kernels
from ..batching import GraphStore
from ..data import GraphSet, MoleculeStore, NodeDataset, TableGraph
from ..encoders import StackedEncoder
from ..runtime.device import resolve_device
from ..runtime.errors import ConfigError, DataError, unknown
from ..runtime.seed import preserved_randomness

READOUTS = ("mean", "max", "sum")


def embed_graph(encoder: nn.Module, data: Data, device: torch.device | str | None = None) -> Tensor:
    """[num_nodes, out_channels], on the CPU. The encoder's mode and place are left as they were."""
    _check(encoder, data.x.size(1))
    with _at_rest(encoder, device) as place:
        return encoder(data.x.to(place), data.edge_index.to(place)).cpu()


def embed_nodes(
    encoder: nn.Module, dataset: NodeDataset | GraphSet, device: torch.device | str | None = None
) -> Tensor | list[Tensor]:
    """One row per node, of tables one per row; a list of them for a set of graphs, and for several graphs."""
    if isinstance(dataset, GraphSet):
        return [embed_graph(encoder, dataset.graph(i), device) for i in range(len(dataset))]
    rows = [embed_graph(encoder, graph, device) for graph in dataset.every_node()]
    if isinstance(dataset, TableGraph):
        return rows[0][torch.from_numpy(dataset.rows)]
    return rows[0] if len(rows) == 1 else rows


def embed_graphs(
    encoder: nn.Module,
    graphs: GraphSet | MoleculeStore | NodeDataset,
    readout: str | Sequence[str] = "mean",
    device: torch.device | str | None = None,
    batch_size: int = 256,
) -> Tensor:
    """One row a graph, on the CPU: [len(graphs), out_channels], or several readouts side by side.

    Of a store of molecules, one row for every string it was made of: NaN for those that are no molecules.

    >>> from graphmae import encoders
    >>> pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> graphs = GraphSet.from_list("pairs", [pair] * 3)
    >>> embed_graphs(encoders.GIN(2, hidden_channels=4), graphs, readout=("mean", "max")).shape
    torch.Size([3, 8])
    """
    ways = [readout] if isinstance(readout, str) else list(readout)
    for way in ways:
        if way not in READOUTS:
            raise ConfigError(unknown("readout", way, READOUTS))
    if isinstance(graphs, NodeDataset):
        bare = [Data(x=graph.x, edge_index=graph.edge_index) for graph in graphs.every_node()]
        graphs = GraphSet.from_list(graphs.name, bare)
    _check(encoder, graphs.in_channels)
    if isinstance(graphs, MoleculeStore):
        found = torch.cat([embed_graphs(encoder, part, ways, device, batch_size) for part in graphs.parts()])
        out = found.new_full((graphs.num_lines, found.size(1)), float("nan"))
        out[torch.from_numpy(graphs.lines.astype("int64"))] = found
        return out
    rows = []
    with _at_rest(encoder, device) as place:
        store = GraphStore(graphs, place)
        for ids in torch.arange(len(graphs)).split(batch_size):
            batch = store.take(ids)
            nodes = encoder(batch.x, batch.edges(encoder))
            assert batch.graph.sizes is not None
            ptr = nn.functional.pad(batch.graph.sizes.cumsum(0), (1, 0))
            rows.append(torch.cat([kernels.pool(nodes, ptr, way) for way in ways], dim=1).cpu())
    return torch.cat(rows)


@contextmanager
def every_layer(encoder: nn.Module) -> Iterator[int]:
    """A block in which the encoder gives all its layers side by side, the last one last; yields how many those are."""
    if not isinstance(encoder, StackedEncoder):
        yield 1
        return
    before, encoder.output = encoder.output, "all"
    try:
        yield len(encoder.blocks)
    finally:
        encoder.output = before


@torch.no_grad()
def reconstruction_error(model: nn.Module, graphs: Sequence[Data], device: torch.device, draws: int = 2) -> float:
    """How far off masked nodes are reconstructed, at rest, over always the same draws; some 200,000 nodes are enough.

    The scaled cosine error is taken without its γ, so that numbers of different γ compare.
    """
    was_training, total, weight = model.training, 0.0, 0
    power = 1.0 / float(getattr(getattr(model, "loss", None), "gamma", 1.0))
    model.eval()
    with preserved_randomness(0):
        for graph in graphs:
            x, edge_index = graph.x.to(device), graph.edge_index.to(device)
            for _ in range(draws):
                total += float(model(x, edge_index)) ** power * len(x)
                weight += len(x)
            if weight > draws * 200_000:
                break
    model.train(was_training)
    return total / weight


def check_width(encoder: nn.Module, dataset: NodeDataset | GraphSet | MoleculeStore) -> None:
    """Refuse data whose features are not of the encoder's width."""
    widths = [g.x.size(1) for g in dataset.graphs] if isinstance(dataset, NodeDataset) else [dataset.in_channels]
    for width in widths:
        _check(encoder, int(width))


def _check(encoder: nn.Module, found: int) -> None:
    width = getattr(encoder, "in_channels", found)
    if found != width:
        raise DataError(f"the encoder was made for {width} features per node; this graph has {found}")


@contextmanager
def _at_rest(encoder: nn.Module, device: torch.device | str | None) -> Iterator[torch.device]:
    """The encoder in evaluation mode on `device` (None: where it is), without gradients; put back afterwards."""
    place = next((p.device for p in encoder.parameters()), torch.device("cpu"))
    target = place if device is None else resolve_device(device)
    was_training = encoder.training
    encoder.eval().to(target)
    try:
        with torch.no_grad():
            yield target
    finally:
        encoder.train(was_training).to(place)
