"""From a graph as PyG has it to the edges an encoder takes."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from .adjacency import Adjacency

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
