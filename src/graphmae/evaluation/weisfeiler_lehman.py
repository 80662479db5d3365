"""The Weisfeiler–Lehman subtree kernel (Shervashidze et al. 2011): what counting neighbourhoods alone can do."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..data import GraphSet

ITERATIONS = 5


def wl_kernels(graphs: GraphSet, iterations: int = ITERATIONS) -> list[np.ndarray]:
    """For 0, 1, … steps [G, G], every graph of length 1: how many nodes of two graphs have equal neighbourhoods.

    Colours are refined on all graphs at once. Two multisets of colours are told apart by the sum of a random 64-bit
    number for each colour, which is wrong once in 2⁶⁴ times; self-loops are left out.
    """
    numbers = np.random.default_rng(0)
    first = graphs.first_node()
    source, target = ((side + first).numpy() for side in graphs.edge_index)
    other = source != target
    source, target = source[other], target[other]
    total, owner = len(graphs.x), np.repeat(np.arange(len(graphs)), graphs.node_ptr.diff().numpy())
    ahead = sparse.csr_matrix((np.ones(len(source), np.uint64), (target, source)), shape=(total, total))
    colour = np.unique(graphs.x.numpy().reshape(total, -1), axis=0, return_inverse=True)[1].ravel()
    kernel, found = np.zeros((len(graphs), len(graphs))), []
    for step in range(iterations + 1):
        counts = sparse.csr_matrix((np.ones(total), (owner, colour)), shape=(len(graphs), int(colour.max()) + 1))
        kernel = kernel + (counts @ counts.T).toarray()
        length = np.sqrt(np.diagonal(kernel))
        found.append(kernel / length[:, None] / length[None])
        if step < iterations:
            keys = numbers.integers(2**64, size=(2, int(colour.max()) + 1), dtype=np.uint64)
            with np.errstate(over="ignore"):
                colour = np.unique(keys[0][colour] + ahead @ keys[1][colour], return_inverse=True)[1]
    return found
