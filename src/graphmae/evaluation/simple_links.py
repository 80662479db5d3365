"""How likely two nodes are joined, from the edges alone: what a user would try before any embedding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse import csr_matrix, diags
from torch import Tensor

ScorePairs = Callable[[Tensor], Tensor]  # [2, M] pairs → [M], the higher the likelier an edge
AT_ONCE = 4096  # pairs
SHORTER = 0.5  # Katz: how much less a path counts when it is one edge longer, as a share of what keeps the sum finite


def simple_scores(edge_index: Tensor, nodes: int) -> dict[str, ScorePairs]:
    """Common neighbours; the same, the rarer the more (Adamic and Adar); paths of up to three edges (Katz); degrees.

    >>> square = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
    >>> simple_scores(square, 4)["common-neighbours"](torch.tensor([[0, 0], [2, 1]])).tolist()
    [2.0, 0.0]
    """
    joined, rarer, degree = _neighbours(edge_index, nodes)
    # The largest eigenvalue is at most the largest mean of neighbours' degrees.
    most = max(float((joined @ degree / np.maximum(degree, 1)).max(initial=0)), 1.0)
    beta = SHORTER / most
    return {
        "common-neighbours": _in_blocks(lambda one, other: _sums(joined[one], joined[other])),
        "adamic-adar": _in_blocks(lambda one, other: _sums(rarer[one], joined[other])),
        "katz": _in_blocks(
            lambda one, other: _sums(joined[one], joined[other]) + beta * _sums(joined[one] @ joined, joined[other])
        ),
        "degrees": _in_blocks(lambda one, other: np.log1p(degree[one]) + np.log1p(degree[other])),
    }


def simple_scores_across(edge_index: Tensor, nodes: int) -> dict[str, ScorePairs]:
    """Of a graph with two sides, whose nodes share no neighbours across them: paths of three edges; the same, the rarer
    the nodes between the more; degrees.

    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> simple_scores_across(path, 4)["paths-of-three"](torch.tensor([[0], [3]])).tolist()
    [1.0]
    """
    joined, rarer, degree = _neighbours(edge_index, nodes)
    return {
        "paths-of-three": _in_blocks(lambda one, other: _sums(joined[one] @ joined, joined[other])),
        "rarer-paths-of-three": _in_blocks(lambda one, other: _sums(rarer[one] @ rarer, joined[other])),
        "degrees": _in_blocks(lambda one, other: np.log1p(degree[one]) + np.log1p(degree[other])),
    }


def _neighbours(edge_index: Tensor, nodes: int) -> tuple[csr_matrix, csr_matrix, np.ndarray]:
    """[nodes, nodes] of 0 and 1 with edges both ways; the same, columns of rare neighbours weighing more; degrees."""
    source, target = edge_index.cpu().numpy()
    apart = source != target
    joined = csr_matrix((np.ones(int(apart.sum())), (source[apart], target[apart])), shape=(nodes, nodes))
    joined = ((joined + joined.T) > 0).astype(np.float64).tocsr()
    degree = np.asarray(joined.sum(1)).ravel()
    return joined, (joined @ diags(1 / np.log(np.maximum(degree, 2)))).tocsr(), degree


def _sums(left: csr_matrix, right: csr_matrix) -> np.ndarray:
    return np.asarray(left.multiply(right).sum(1)).ravel()


def _in_blocks(score: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> ScorePairs:
    """The score of pairs, some thousand at a time."""

    def scores(pairs: Tensor) -> Tensor:
        first, second = pairs.cpu().numpy()
        blocks = [slice(begin, begin + AT_ONCE) for begin in range(0, len(first), AT_ONCE)]
        return torch.from_numpy(np.concatenate([np.empty(0), *(score(first[at], second[at]) for at in blocks)]))

    return scores
