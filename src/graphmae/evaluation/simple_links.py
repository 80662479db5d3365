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
    source, target = edge_index.cpu().numpy()
    apart = source != target
    joined = csr_matrix((np.ones(int(apart.sum())), (source[apart], target[apart])), shape=(nodes, nodes))
    joined = ((joined + joined.T) > 0).astype(np.float64).tocsr()
    degree = np.asarray(joined.sum(1)).ravel()
    rarer = (joined @ diags(1 / np.log(np.maximum(degree, 2)))).tocsr()
    # The largest eigenvalue is at most the largest mean of neighbours' degrees.
    most = max(float((joined @ degree / np.maximum(degree, 1)).max(initial=0)), 1.0)
    beta = SHORTER / most

    def between(left: csr_matrix, pairs: Tensor) -> Tensor:
        first, second = pairs.cpu().numpy()
        parts = [slice(begin, begin + AT_ONCE) for begin in range(0, len(first), AT_ONCE)]
        found = [np.asarray(left[first[p]].multiply(joined[second[p]]).sum(1)).ravel() for p in parts]
        return torch.from_numpy(np.concatenate([np.empty(0), *found]))

    def katz(pairs: Tensor) -> Tensor:
        first, second = pairs.cpu().numpy()
        found = []
        for begin in range(0, len(first), AT_ONCE):
            here = joined[first[begin : begin + AT_ONCE]]
            there = joined[second[begin : begin + AT_ONCE]]
            two = np.asarray(here.multiply(there).sum(1)).ravel()
            three = np.asarray((here @ joined).multiply(there).sum(1)).ravel()
            found.append(two + beta * three)
        return torch.from_numpy(np.concatenate([np.empty(0), *found]))

    def degrees(pairs: Tensor) -> Tensor:
        first, second = pairs.cpu().numpy()
        return torch.from_numpy(np.log1p(degree[first]) + np.log1p(degree[second]))

    return {
        "common-neighbours": lambda pairs: between(joined, pairs),
        "adamic-adar": lambda pairs: between(rarer, pairs),
        "katz": katz,
        "degrees": degrees,
    }
