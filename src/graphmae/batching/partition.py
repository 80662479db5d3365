"""One graph in pieces, for training a graph that does not fit at once."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch_geometric.data import Data

from ..data import Dataset, NodeDataset
from ..data.edge_data import EDGE_KEYS


def in_pieces(dataset: Dataset, count: int) -> Dataset:
    """The data set as `count` graphs of its one graph, for pre-training alone."""
    (graph,) = dataset.pretrain_graphs()
    found = tuple(pieces(graph, min(count, int(graph.num_nodes))))
    return NodeDataset(dataset.name, found, tuple(range(len(found))), {}, dataset.treatment)


def pieces(data: Data, count: int) -> list[Data]:
    """`count` graphs that hold every node once; edges between two of them are lost.

    Nodes are put in an order in which neighbours stand close together (a breadth-first one) and cut evenly, so that
    few edges are.

    >>> ring = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    >>> [int(part.edge_index.size(1)) for part in pieces(Data(x=torch.eye(6), edge_index=ring), 2)]
    [2, 2]
    """
    nodes = int(data.x.size(0))
    row, column = data.edge_index.numpy()
    joined = coo_matrix((np.ones(len(row), dtype=np.int8), (row, column)), shape=(nodes, nodes)).tocsr()
    order = reverse_cuthill_mckee((joined + joined.T).tocsr(), symmetric_mode=True).astype(np.int64)
    part = np.empty(nodes, dtype=np.int64)
    part[order] = np.arange(nodes) * count // nodes
    place = np.empty(nodes, dtype=np.int64)
    by_number = np.argsort(part, kind="stable")
    members = np.split(by_number, np.searchsorted(part[by_number], np.arange(1, count)))
    for nodes_of in members:
        place[nodes_of] = np.arange(len(nodes_of))
    inside = part[row] == part[column]
    here = torch.from_numpy(inside.nonzero()[0])
    row, column, owner = row[inside], column[inside], part[row[inside]]
    by_part = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[by_part], np.arange(1, count))
    found = []
    for nodes_of, chosen in zip(members, np.split(by_part, cuts), strict=True):
        edges = np.stack([place[row[chosen]], place[column[chosen]]])
        of_edges = {key: data[key][here[torch.from_numpy(chosen)]] for key in EDGE_KEYS if key in data}
        found.append(Data(x=data.x[torch.from_numpy(nodes_of)], edge_index=torch.from_numpy(edges), **of_edges))
    return found
