"""From a graph as PyG has it to the edges an encoder takes, and how an encoder is called."""

from __future__ import annotations

import inspect
from collections.abc import MutableMapping
from copy import copy
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from .adjacency import Adjacency, adjacency, plain

_KNOWN: MutableMapping[Tensor, tuple[tuple[Any, ...], Adjacency]] = WeakIdKeyDictionary()


def edges_of(graph: Any, device: torch.device | str | None = None) -> Tensor | Adjacency:
    """The edges of a PyG `Data` for an encoder: sorted, with `edge_weight` and `edge_attr` where it has them, else
    `edge_index` as it is.

    >>> from torch_geometric.data import Data
    >>> edges_of(Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))).tolist()
    [[0, 1], [1, 0]]
    """
    ends = graph.edge_index
    where = ends.device if device is None else torch.device(device)
    given = [graph.get(key) for key in ("edge_weight", "edge_attr")]
    if given == [None, None]:
        return ends.to(where)
    counted = not (ends.is_inference() or torch.is_inference_mode_enabled())  # else changes could not be noticed
    key = (ends._version if counted else -1, where, *map(id, given))
    kept = _KNOWN.get(ends) if counted else None
    if kept is not None and kept[0][: len(key)] == key:
        return kept[1]
    moved = [None if part is None else part.to(where) for part in given]
    adj = Adjacency.from_edges(ends.to(where), int(graph.num_nodes), *moved)
    if counted:
        _KNOWN[ends] = (*key, *given), adj  # what is given stays alive, so that an id means one tensor
    return adj


def taken_by(part: nn.Module, edges: Tensor | Adjacency) -> Tensor | Adjacency:
    """The edges as `encode` hands them to an encoder or decoder: sorted, or as a tensor [2, E]."""
    keeps = getattr(part, "takes_adjacency", False) or takes_batch(part)
    return edges if keeps else plain(edges)


def encode(part: nn.Module, x: Tensor, edges: Tensor | Adjacency, **options: Any) -> Tensor:
    """What an encoder or decoder makes of nodes and edges.

    One whose `forward` has a parameter `batch` gets the number of each node's graph there, as in PyG: it may look at
    all nodes of a graph, and must not look at another graph's.
    """
    if takes_batch(part):
        options["batch"] = graph_numbers(edges, len(x), x.device)
    out: Tensor = part(x, edges if getattr(part, "takes_adjacency", False) else plain(edges), **options)
    return out


def graph_numbers(edges: Tensor | Adjacency, num_nodes: int, device: torch.device) -> Tensor:
    """[N] the number of each node's graph; all 0 where the edges are those of one graph."""
    sizes = edges.sizes if isinstance(edges, Adjacency) else None
    if sizes is None:
        return torch.zeros(num_nodes, dtype=torch.long, device=device)
    return torch.repeat_interleave(sizes, output_size=num_nodes)


def with_sizes(edges: Tensor | Adjacency, batch: Tensor) -> Adjacency:
    """The edges of several graphs side by side, of which it is known where each ends; `batch` [N] is ascending."""
    sorted_edges = adjacency(edges, len(batch))
    if sorted_edges.sizes is not None:
        return sorted_edges
    sized = copy(sorted_edges)
    sized.sizes = torch.bincount(batch)
    return sized


def takes_batch(part: nn.Module) -> bool:
    """Whether the `forward` of a part asks for the number of each node's graph."""
    compiled = getattr(part, "_orig_mod", part)
    return _asks_for_batch(type(compiled))  # type: ignore[arg-type]


@cache
def _asks_for_batch(kind: type[nn.Module]) -> bool:
    return "batch" in inspect.signature(kind.forward).parameters
