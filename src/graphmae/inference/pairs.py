"""Pairs of nodes that may be missing edges: which to look at, without looking at all, and what speaks for each."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds
from torch import Tensor
from torch.nn import functional as F

from .ridge import principal

PER_NODE = 40  # candidates of a node by shared neighbours, and as many by their embeddings, at most
BLOCK = 1024
MAX_WORK = 2_000_000_000  # two-step walks that are counted; beyond it, nodes of high degree are not walked through
CELL = 4096  # nodes compared with each other at once; a graph with more is cut into cells of about as many
AXES = 64


def joined(edge_index: np.ndarray, nodes: int) -> csr_matrix:
    """[nodes, nodes] of 0 and 1: edges both ways, without self-loops."""
    apart = edge_index[0] != edge_index[1]
    ends = np.hstack([edge_index[:, apart], edge_index[::-1, apart]])
    matrix = csr_matrix((np.ones(ends.shape[1], dtype=np.float32), (ends[0], ends[1])), shape=(nodes, nodes))
    matrix.data[:] = 1
    return matrix


def candidates(graph: csr_matrix, z: Tensor, seed: int = 0) -> np.ndarray:
    """[2, M] pairs that are not edges, every pair once: two steps apart, and near each other by embeddings `z`."""
    nodes = graph.shape[0]
    keys = np.unique(np.concatenate([_two_steps(graph), _near(F.normalize(z), seed)]))
    first, second = np.divmod(keys, nodes)
    edges = np.repeat(np.arange(nodes), np.diff(graph.indptr)) * nodes + graph.indices
    free = (first < second) & ~np.isin(keys, edges)
    return np.stack([first[free], second[free]])


def pairs_of(node: int, graph: csr_matrix) -> np.ndarray:
    """[2, M]: the node and every other it has no edge to."""
    others = np.setdiff1d(np.arange(graph.shape[0]), [node, *graph[node].indices])
    return np.stack([np.full(len(others), node), others])


def _two_steps(graph: csr_matrix) -> np.ndarray:
    """Keys of pairs with shared neighbours: for every node those with the most, weighted as by Adamic and Adar."""
    nodes, degree = graph.shape[0], np.diff(graph.indptr)
    order = np.sort(degree)
    within = int(np.searchsorted(np.cumsum(order.astype(float) ** 2), MAX_WORK, side="right"))
    limit = order[max(within - 1, 0)]
    weight = np.where((degree > 1) & (degree <= limit), 1 / np.log(np.maximum(degree, 2)), 0)
    onward, found = csr_matrix(diags(weight) @ graph), []
    for begin in range(0, nodes, BLOCK):
        reached = csr_matrix(graph[begin : begin + BLOCK] @ onward - 1e6 * graph[begin : begin + BLOCK])
        for row in range(reached.shape[0]):
            part = slice(reached.indptr[row], reached.indptr[row + 1])
            columns, values = reached.indices[part], reached.data[part]
            good = (values > 0) & (columns != begin + row)
            columns, values = columns[good], values[good]
            if len(columns) > PER_NODE:
                columns = columns[np.argpartition(-values, PER_NODE)[:PER_NODE]]
            found.append(keys_of(begin + row, columns, nodes))
    return np.concatenate(found)


def _near(z: Tensor, seed: int) -> np.ndarray:
    """Keys of pairs whose rows point the same way, exact inside of a cell."""
    nodes = len(z)
    if nodes <= CELL:
        cells = [torch.arange(nodes)]
    else:
        heads = z[torch.randperm(nodes, generator=torch.Generator().manual_seed(seed))[: -(-2 * nodes // CELL)]]
        of = torch.cat([(part @ heads.T).argmax(1) for part in z.split(BLOCK)])
        order, sizes = of.argsort(stable=True), torch.bincount(of, minlength=len(heads))
        cells = [part for cell in order.split(sizes.tolist()) for part in cell.split(CELL)]
    found = []
    for cell in cells:
        k = min(PER_NODE // 2 + 1, len(cell))
        for part in cell.split(BLOCK):
            best = cell[(z[part] @ z[cell].T).topk(k, dim=1).indices] if k else part[:, None]
            found.append(keys_of(part.repeat_interleave(k).numpy(), best.flatten().numpy(), nodes))
    return np.concatenate(found)


def keys_of(one: np.ndarray | int, other: np.ndarray, nodes: int) -> np.ndarray:
    """[M]: a number for each pair, whichever way round."""
    return np.asarray(np.minimum(one, other).astype(np.int64) * nodes + np.maximum(one, other))


class PairEvidence:
    """What speaks for an edge between two nodes, seen from a graph: a row of numbers for a pair.

    Shared neighbours, counted and weighted in three ways; both degrees; nearness on the main axes of the adjacency
    matrix; the cosines of features (on their main axes) and of embeddings; what a method's own decoder of edges says.
    """

    def __init__(self, graph: csr_matrix, x: Tensor, z: Tensor, own: object = None) -> None:
        self.graph, self.own = graph, own
        self.degree = np.diff(graph.indptr).astype(np.float64)
        self.weights = [
            1 / np.log(np.maximum(self.degree, 2)),  # Adamic and Adar
            1 / np.maximum(self.degree, 1),  # resource allocation
        ]
        reduced = torch.from_numpy(principal(x.numpy(), AXES))
        self.rows = [_spectral(graph), F.normalize(reduced), F.normalize(z)]

    def __call__(self, pairs: np.ndarray) -> np.ndarray:
        """[M, evidence] for pairs [2, M]."""
        parts = [self._block(pairs[:, begin : begin + 20_000]) for begin in range(0, pairs.shape[1], 20_000)]
        return np.concatenate(parts)

    def _block(self, pairs: np.ndarray) -> np.ndarray:
        one, other = pairs
        both = self.graph[one].multiply(self.graph[other]).tocsr()
        shared = np.asarray(both.sum(1)).ravel()
        weighted = [both @ weight for weight in self.weights]
        low, high = np.sort(np.stack([self.degree[one], self.degree[other]]), axis=0)
        columns = [np.log1p(shared), *(np.sqrt(w) for w in weighted), shared / np.maximum(low + high - shared, 1)]
        columns += [np.log1p(low), np.log1p(high)]
        ends = torch.from_numpy(one), torch.from_numpy(other)
        columns += [(rows[ends[0]] * rows[ends[1]]).sum(1).numpy() for rows in self.rows]
        if callable(self.own):
            columns.append(self.own(torch.stack(ends)).numpy())
        return np.stack(columns, axis=1).astype(np.float32)


def _spectral(graph: csr_matrix) -> Tensor:
    """[nodes, k]: main axes of the normalised adjacency matrix, scaled so that products count walks of all lengths."""
    degree = np.maximum(np.diff(graph.indptr), 1)
    half = diags(1 / np.sqrt(degree))
    k = min(AXES, graph.shape[0] - 2)
    start = np.random.default_rng(0).random(graph.shape[0])
    left, values, _ = svds(csr_matrix(half @ graph.astype(np.float64) @ half), k, v0=start, tol=1e-3)
    rows = torch.from_numpy(np.ascontiguousarray(left * np.sqrt(values))).float()
    return F.normalize(rows)
