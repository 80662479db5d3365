"""NetMF (Qiu et al., WSDM 2018): what random-walk embeddings factorise, factorised: no features, no training.

What a user would try first for the shape of a graph, and so what an embedding is compared with.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from ..runtime.seed import preserved_randomness

WINDOW, WIDTH = 5, 128
MAX_DENSE = 20_000  # nodes; beyond it walks are two steps long, and the matrix stays sparse


def netmf(edge_index: Tensor, nodes: int, width: int = WIDTH) -> Tensor:
    """[nodes, width]: the main directions of log max(1, vol/T Σ_{r ≤ T} (D⁻¹A)^r D⁻¹); edges count both ways.

    >>> netmf(torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), 4, width=2).shape
    torch.Size([4, 2])
    """
    source, target = edge_index.cpu().numpy()
    keep = source != target
    ones = np.ones(int(keep.sum()), dtype=np.float32)
    adjacency = sparse.csr_matrix((ones, (source[keep], target[keep])), shape=(nodes, nodes))
    adjacency = adjacency.maximum(adjacency.T)
    adjacency.data[:] = 1
    degree = np.maximum(np.asarray(adjacency.sum(1)).ravel(), 1).astype(np.float32)
    step = (sparse.diags(1 / degree) @ adjacency).tocsr()
    volume = float(degree.sum())
    if nodes <= MAX_DENSE:
        walk = step.toarray()
        total = walk.copy()
        for _ in range(WINDOW - 1):
            walk = step @ walk
            total += walk
        total *= volume / WINDOW / degree
        matrix = torch.from_numpy(np.log(np.maximum(total, 1, out=total), out=total))
    else:
        near = ((step + step @ step) @ sparse.diags(volume / 2 / degree)).tocoo()
        logs = np.log(np.maximum(near.data, 1))
        places = torch.from_numpy(np.stack([near.row, near.col]).astype(np.int64))
        matrix = torch.sparse_coo_tensor(places, torch.from_numpy(logs.astype(np.float32)), (nodes, nodes)).coalesce()
    kept = min(width, nodes)
    with preserved_randomness(0):
        left, values, _ = torch.svd_lowrank(matrix, min(kept + 10, nodes), niter=2)
    return torch.nn.functional.pad(left[:, :kept] * values[:kept].sqrt(), (0, width - kept))
