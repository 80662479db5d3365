"""Graphs of two kinds of nodes, such as users and items: every edge goes from one side to the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from torch import Tensor

MIN_CYCLES = 10  # independent ones: edges drawn by chance would leave all of even length in one graph of 2 ** 10
SAMPLED_EDGES = 100  # that columns are tried on first


@dataclass(frozen=True)
class TwoSides:
    """Which side of a graph every node is on.

    Attributes:
        side: [nodes] 0 or 1.
        group: [nodes]; sides can be compared within a group. One group where a column or the direction of edges says
            which side is which; else every component is a group, and a node without edges.
    """

    side: np.ndarray
    group: np.ndarray

    def __str__(self) -> str:
        most, least = sorted(self.sizes, reverse=True)
        return f"two sides of {most:,} and {least:,} nodes, every edge goes from one to the other, and so do all pairs"

    def are_across(self, one: np.ndarray | int, other: np.ndarray) -> np.ndarray:
        """[pairs] bool: the two nodes are known to be on different sides."""
        return (self.group[one] == self.group[other]) & (self.side[one] != self.side[other])

    @property
    def sizes(self) -> tuple[int, int]:
        """How many nodes each side has, those left out of which nothing says where they belong."""
        first, second = self._counts
        paired = (first > 0) & (second > 0)
        return int(first[paired].sum()), int(second[paired].sum())

    @cached_property
    def num_pairs(self) -> int:
        first, second = self._counts
        return int((first * second).sum())

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """[2, count] pairs across, drawn evenly from all."""
        first, second = self._counts
        order, begin = np.lexsort((self.side, self.group)), np.cumsum(first + second) - first - second
        group = rng.choice(len(first), size=count, p=first * second / self.num_pairs)
        one = begin[group] + rng.integers(first[group])
        other = begin[group] + first[group] + rng.integers(second[group])
        return order[np.stack([one, other])]

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        """How many nodes of each side every group has, groups in their order."""
        names, place = np.unique(self.group, return_inverse=True)
        on_second = np.bincount(place, weights=self.side, minlength=len(names)).astype(np.int64)
        return np.bincount(place, minlength=len(names)) - on_second, on_second


def find_two_sides(edge_index: Tensor, x: Tensor) -> TwoSides | None:
    """The two sides of a graph whose nodes can be coloured with two colours so that every edge joins both; else None.

    `x` [nodes, columns] are the nodes' features: a column with two values that differ along every edge says which side
    a node is on. So does the direction of edges, where no node has edges both ways. Without either, trees and other
    graphs with hardly any cycle have no sides: they can always be coloured.

    >>> import torch
    >>> ends = torch.cartesian_prod(torch.arange(5), torch.arange(5, 11)).T
    >>> find_two_sides(ends, torch.ones(11, 1)).sizes
    (5, 6)
    """
    nodes, ends = len(x), edge_index.cpu().numpy()
    ends = ends[:, ends[0] != ends[1]]
    # Every node twice, edges between the copies: copies are apart where no walk of odd length leads back to a node.
    copies = np.array([[0], [nodes]])
    twice = np.hstack([ends + copies, ends + copies[::-1]])
    doubled = csr_matrix((np.ones(twice.shape[1], dtype=bool), (twice[0], twice[1])), shape=(2 * nodes, 2 * nodes))
    of_copies = connected_components(doubled, directed=False)[1].reshape(2, nodes)
    if (of_copies[0] == of_copies[1]).any():
        return None
    side, group = (of_copies[0] > of_copies[1]).astype(np.int64), of_copies.min(axis=0)
    if (column := _column_of_sides(ends, x)) is not None:
        return TwoSides(column, np.zeros(nodes, dtype=np.int64))
    sources, targets = (np.bincount(end, minlength=nodes) > 0 for end in ends)
    if not (sources & targets).any():
        alone = ~(sources | targets)
        return TwoSides(targets.astype(np.int64), np.where(alone, np.arange(nodes) + 1, 0))
    different = len(np.unique(ends.min(0) * nodes + ends.max(0)))
    cycles = different - nodes + len(np.unique(group))
    return TwoSides(side, group) if cycles >= MIN_CYCLES else None


def _column_of_sides(ends: np.ndarray, x: Tensor) -> np.ndarray | None:
    """[nodes] 0 or 1 by the first column that has two values and two different ones along every edge."""
    some = ends[:, :: -(-ends.shape[1] // SAMPLED_EDGES)]
    for column in (x[some[0]] != x[some[1]]).all(0).nonzero().flatten().tolist():
        values = x[:, column].cpu().numpy()
        high = values == values.max()
        if (high | (values == values.min())).all() and (high[ends[0]] != high[ends[1]]).all():
            return high.astype(np.int64)
    return None
