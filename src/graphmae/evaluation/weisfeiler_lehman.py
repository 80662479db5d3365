"""The Weisfeiler–Lehman subtree kernel (Shervashidze et al. 2011): what counting neighbourhoods alone can do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from ..data import GraphSet

ITERATIONS = 5


def wl_colours(graphs: GraphSet, iterations: int) -> Iterator[np.ndarray]:
    """For 0, 1, … steps [N]: a number for each node, equal where the neighbourhoods of so many steps are.

    Colours are refined on all graphs at once. Two multisets of colours are told apart by the sum of a random 64-bit
    number for each colour, which is wrong once in 2⁶⁴ times; self-loops are left out.
    """
    numbers = np.random.default_rng(0)
    first = graphs.first_node()
    source, target = ((side + first).numpy() for side in graphs.edge_index)
    other = source != target
    source, target, total = source[other], target[other], len(graphs.x)
    ahead = sparse.csr_matrix((np.ones(len(source), np.uint64), (target, source)), shape=(total, total))
    colour = np.unique(graphs.x.numpy().reshape(total, -1), axis=0, return_inverse=True)[1].ravel()
    yield colour
    for _ in range(iterations):
        keys = numbers.integers(2**64, size=(2, int(colour.max()) + 1), dtype=np.uint64)
        with np.errstate(over="ignore"):
            colour = np.unique(keys[0][colour] + ahead @ keys[1][colour], return_inverse=True)[1]
        yield colour


def wl_kernels(graphs: GraphSet, iterations: int = ITERATIONS) -> list[np.ndarray]:
    """For 0, 1, … steps [G, G], every graph of length 1: how many nodes of two graphs have equal neighbourhoods."""
    owner = np.repeat(np.arange(len(graphs)), graphs.node_ptr.diff().numpy())
    kernel, found = np.zeros((len(graphs), len(graphs))), []
    for colour in wl_colours(graphs, iterations):
        counts = sparse.csr_matrix((np.ones(len(owner)), (owner, colour)), shape=(len(graphs), int(colour.max()) + 1))
        kernel = kernel + (counts @ counts.T).toarray()
        length = np.sqrt(np.diagonal(kernel))
        found.append(kernel / length[:, None] / length[None])
    return found
