"""Pairs of nodes that may be missing edges: which to look at, without looking at all, and what speaks for each."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix, diags, vstack
from scipy.sparse.linalg import svds
from torch import Tensor
from torch.nn import functional as F

from ..data.bipartite import TwoSides
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


def candidates(graph: csr_matrix, z: Tensor, seed: int = 0, sides: TwoSides | None = None) -> np.ndarray:
    """[2, M] pairs that are not edges, every pair once: two steps apart, and near each other by embeddings `z`.

    Of two `sides`, pairs of the two: three steps apart, and near each other.
    """
    nodes = graph.shape[0]
    steps = _two_steps(graph) if sides is None else _three_steps(graph)
    keys = np.unique(np.concatenate([steps, _near(F.normalize(z), seed, sides)]))
    first, second = np.divmod(keys, nodes)
    edges = np.repeat(np.arange(nodes), np.diff(graph.indptr)) * nodes + graph.indices
    free = (first < second) & ~np.isin(keys, edges)
    if sides is not None:
        free &= sides.are_across(first, second)
    return np.stack([first[free], second[free]])


def pairs_of(node: int, graph: csr_matrix, sides: TwoSides | None = None) -> np.ndarray:
    """[2, M]: the node and every other it has no edge to, of two `sides` those of the other one."""
    others = np.setdiff1d(np.arange(graph.shape[0]), [node, *graph[node].indices])
    if sides is not None:
        others = others[sides.are_across(node, others)]
    return np.stack([np.full(len(others), node), others])


def _two_steps(graph: csr_matrix) -> np.ndarray:
    """Keys of pairs with shared neighbours: for every node those with the most."""
    return _keys(_alike(graph))


def _three_steps(graph: csr_matrix) -> np.ndarray:
    """Keys of pairs three steps apart: for every node the neighbours of those it shares the most neighbours with."""
    return _keys(_strongest(_alike(graph), graph, graph))


def _keys(matrix: csr_matrix) -> np.ndarray:
    found = matrix.tocoo()
    return keys_of(found.row, found.col, matrix.shape[0])


def _alike(graph: csr_matrix) -> csr_matrix:
    """[nodes, nodes]: for every node those it shares the most neighbours with, weighted as by Adamic and Adar."""
    degree = np.diff(graph.indptr)
    order = np.sort(degree)
    within = int(np.searchsorted(np.cumsum(order.astype(float) ** 2), MAX_WORK, side="right"))
    limit = order[max(within - 1, 0)]
    weight = np.where((degree > 1) & (degree <= limit), 1 / np.log(np.maximum(degree, 2)), 0)
    return _strongest(graph, csr_matrix(diags(weight) @ graph), graph)


def _strongest(left: csr_matrix, right: csr_matrix, graph: csr_matrix) -> csr_matrix:
    """The largest entries of every row of left @ right, at most 40, without edges of `graph` and the diagonal."""
    nodes, blocks = graph.shape[0], []
    for begin in range(0, nodes, BLOCK):
        reached = csr_matrix(left[begin : begin + BLOCK] @ right - 1e6 * graph[begin : begin + BLOCK])
        rows: list[np.ndarray] = []
        kept: list[np.ndarray] = []
        for row in range(reached.shape[0]):
            part = slice(reached.indptr[row], reached.indptr[row + 1])
            columns, values = reached.indices[part], reached.data[part]
            good = ((values > 0) & (columns != begin + row)).nonzero()[0]
            if len(good) > PER_NODE:
                good = good[np.argpartition(-values[good], PER_NODE)[:PER_NODE]]
            kept.append(reached.indptr[row] + good)
            rows.append(np.full(len(good), row))
        at = np.concatenate(kept)
        places = np.concatenate(rows), reached.indices[at]
        blocks.append(csr_matrix((reached.data[at], places), shape=reached.shape))
    return vstack(blocks, format="csr")


def _near(z: Tensor, seed: int, sides: TwoSides | None) -> np.ndarray:
    """Keys of pairs whose rows point the same way, of two sides pairs of the two first; exact inside of a cell."""
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
            alike = z[part] @ z[cell].T
            if sides is not None:
                alike[~torch.from_numpy(sides.are_across(part.numpy()[:, None], cell.numpy()))] -= 2
            best = cell[alike.topk(k, dim=1).indices] if k else part[:, None]
            found.append(keys_of(part.repeat_interleave(k).numpy(), best.flatten().numpy(), nodes))
    return np.concatenate(found)


def keys_of(one: np.ndarray | int, other: np.ndarray, nodes: int) -> np.ndarray:
    """[M]: a number for each pair, whichever way round."""
    return np.asarray(np.minimum(one, other).astype(np.int64) * nodes + np.maximum(one, other))


class PairEvidence:
    """What speaks for an edge between two nodes, seen from a graph: a row of numbers for a pair.

    Shared neighbours, counted and weighted in three ways; both degrees; nearness on the main axes of the adjacency
    matrix; the cosines of features (on their main axes) and of embeddings; what a method's own decoder of edges says.
    Nodes of two `sides` share no neighbours: paths of three edges are counted and weighted instead.
    """

    def __init__(
        self, graph: csr_matrix, x: Tensor, z: Tensor, own: object = None, sides: TwoSides | None = None
    ) -> None:
        self.graph, self.own, self.sides = graph, own, sides
        self.degree = np.diff(graph.indptr).astype(np.float64)
        self.weights = [
            1 / np.log(np.maximum(self.degree, 2)),  # Adamic and Adar
            1 / np.maximum(self.degree, 1),  # resource allocation
        ]
        self.onward = [graph] if sides is None else [graph, *(csr_matrix(graph @ diags(w)) for w in self.weights)]
        reduced = torch.from_numpy(principal(x.numpy(), AXES))
        self.rows = [_spectral(graph, sides), F.normalize(reduced), F.normalize(z)]

    def __call__(self, pairs: np.ndarray) -> np.ndarray:
        """[M, evidence] for pairs [2, M]."""
        if self.sides is None:
            parts = [self._block(pairs[:, begin : begin + 20_000]) for begin in range(0, pairs.shape[1], 20_000)]
            return np.concatenate(parts)
        first = np.where(self.sides.side[pairs[0]] == 0, *pairs)
        blocks = np.split(np.argsort(first, kind="stable"), range(4_000, pairs.shape[1], 4_000))
        rows = np.concatenate([self._block(pairs[:, block]) for block in blocks])  # pairs of one node share its walks
        out = np.empty_like(rows)
        out[np.concatenate(blocks)] = rows
        return out

    def _block(self, pairs: np.ndarray) -> np.ndarray:
        one, other = pairs
        columns = self._shared(one, other) if self.sides is None else self._paths(one, other, self.sides)
        ends = torch.from_numpy(one), torch.from_numpy(other)
        columns += [(rows[ends[0]] * rows[ends[1]]).sum(1).numpy() for rows in self.rows]
        if callable(self.own):
            columns.append(self.own(torch.stack(ends)).numpy())
        return np.stack(columns, axis=1).astype(np.float32)

    def _shared(self, one: np.ndarray, other: np.ndarray) -> list[np.ndarray]:
        both = self.graph[one].multiply(self.graph[other]).tocsr()
        shared = np.asarray(both.sum(1)).ravel()
        weighted = [both @ weight for weight in self.weights]
        low, high = np.sort(np.stack([self.degree[one], self.degree[other]]), axis=0)
        share = shared / np.maximum(low + high - shared, 1)
        return [np.log1p(shared), *(np.sqrt(w) for w in weighted), share, np.log1p(low), np.log1p(high)]

    def _paths(self, one: np.ndarray, other: np.ndarray, sides: TwoSides) -> list[np.ndarray]:
        turned = sides.side[one] == 1
        first, second = np.where(turned, other, one), np.where(turned, one, other)
        starts, of = np.unique(first, return_inverse=True)
        ends, counts = self.graph[second], []
        for onward in self.onward:
            counts.append(np.asarray((onward[starts] @ onward)[of].multiply(ends).sum(1)).ravel())
        paths, *weighted = counts
        share = paths / np.maximum(self.degree[first] * self.degree[second], 1)
        degrees = [np.log1p(self.degree[end]) for end in (first, second)]
        return [np.log1p(paths), *(np.sqrt(w) for w in weighted), share, *degrees]


def _spectral(graph: csr_matrix, sides: TwoSides | None = None) -> Tensor:
    """[nodes, k]: main axes of the normalised adjacency matrix, scaled so that products count walks of all lengths.

    Of two sides, axes of the rows of one and the columns of the other: products across them count odd walks.
    """
    degree = np.maximum(np.diff(graph.indptr), 1)
    half = diags(1 / np.sqrt(degree))
    matrix = csr_matrix(half @ graph.astype(np.float64) @ half)
    if sides is None:
        first, block, k = np.arange(len(degree)), matrix, min(AXES, len(degree) - 2)
    else:
        first = (sides.side == 0).nonzero()[0]
        block = matrix[first][:, sides.side == 1]
        k = min(AXES, min(block.shape) - 1)
    left, values, right = svds(block, k, v0=np.random.default_rng(0).random(min(block.shape)), tol=1e-3)
    rows = np.empty((len(degree), k))
    rows[first] = left * np.sqrt(values)
    if sides is not None:
        rows[sides.side == 1] = right.T * np.sqrt(values)
    return F.normalize(torch.from_numpy(rows).float())
