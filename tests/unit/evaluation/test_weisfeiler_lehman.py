from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphmae.data import GraphSet
from graphmae.evaluation.weisfeiler_lehman import wl_kernels


def graph(kinds: list[int], pairs: list[tuple[int, int]]) -> Data:
    both = [*pairs, *((b, a) for a, b in pairs)]
    edges = torch.tensor(both, dtype=torch.long).reshape(-1, 2).t()
    return Data(x=torch.eye(3)[torch.tensor(kinds)], edge_index=edges)


def test_counts_of_equal_neighbourhoods() -> None:
    path, star = graph([0, 0, 0], [(0, 1), (1, 2)]), graph([0, 0, 0, 0], [(0, 1), (0, 2), (0, 3)])
    graphs = GraphSet.from_list("two", [path, star])
    # Step 0: 3 and 4 nodes of one colour. Step 1: two leaves and a middle; three leaves and a hub.
    inside, across = (9 + 4 + 1, 16 + 9 + 1), 12 + 2 * 3
    kernel = wl_kernels(graphs, iterations=1)[-1]
    assert kernel[0, 1] == pytest.approx(across / np.sqrt(inside[0] * inside[1]))
    assert np.diagonal(kernel) == pytest.approx(1)


def test_self_loops_and_the_order_of_nodes_do_not_matter() -> None:
    one = graph([0, 1, 2, 1], [(0, 1), (1, 2), (2, 3)])
    same = graph([1, 2, 1, 0], [(3, 2), (2, 1), (1, 0)])
    graphs = GraphSet.from_list("same", [one, same, graph([2], [])])
    kernel = wl_kernels(graphs)[-1]
    assert kernel[0, 1] == pytest.approx(1)
    assert np.allclose(kernel, wl_kernels(graphs.with_self_loops())[-1])


def test_against_grakel() -> None:
    grakel = pytest.importorskip("grakel", reason="grakel is not installed")
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for n in range(3, 12):
        pairs = torch.randint(n, (2 * n, 2), generator=generator)
        pairs = {(min(a, b), max(a, b)) for a, b in pairs.tolist() if a != b}
        graphs.append(graph(torch.randint(3, (n,), generator=generator).tolist(), sorted(pairs)))
    theirs = [
        grakel.Graph(
            dict.fromkeys(map(tuple, g.edge_index.t().tolist()), 1),
            node_labels=dict(enumerate(g.x.argmax(1).tolist())),
        )
        for g in graphs
    ]
    kernel = grakel.WeisfeilerLehman(n_iter=5, base_graph_kernel=grakel.VertexHistogram, normalize=True)
    assert np.allclose(wl_kernels(GraphSet.from_list("some", graphs))[-1], kernel.fit_transform(theirs))
