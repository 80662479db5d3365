"""A graph handed over in memory that says two things, or something nothing can be computed with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

import graphmae as gm
from graphmae.batching import Batch
from graphmae.runtime.errors import DataError, InputError

NODES = 20


def ring(**changes: Any) -> Data:
    generator = torch.Generator().manual_seed(0)
    ends = torch.stack([torch.arange(NODES), (torch.arange(NODES) + 1) % NODES])
    graph = Data(x=torch.rand(NODES, 6, generator=generator), edge_index=torch.cat([ends, ends.flip(0)], 1))
    for key, value in changes.items():
        graph[key] = value
    return graph


def weights(**changes: float) -> Tensor:
    """One for each of the 40 edges, all different; `e3=-1.0` changes that of edge 3."""
    values = torch.linspace(0.5, 1.5, 2 * NODES)
    for edge, value in changes.items():
        values[int(edge[1:])] = value
    return values


def small_model() -> gm.GraphMAE:
    torch.manual_seed(0)
    return gm.GraphMAE(gm.encoders.GAT(6, hidden_channels=8, heads=2), gm.decoders.GAT(8, 6))


def pretrain(graph: Any, **options: Any) -> Any:
    return gm.pretrain(small_model(), graph, 1, progress=False, **options)


REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "too few nodes": ("num_nodes says 5", lambda: ring(num_nodes=5)),
    "too many nodes": ("num_nodes says 100", lambda: ring(num_nodes=100)),
    "one weight is NaN": ("edge 3, from node 3 to node 4, has nan", lambda: ring(edge_weight=weights(e3=torch.nan))),
    "one weight is infinite": (r"edge 7\b.*inf", lambda: ring(edge_weight=weights(e7=torch.inf))),
    "a weight below 0": (r"edge 25\b.*-1", lambda: ring(edge_weight=weights(e25=-1.0))),
    "a weight of 0": (r"edge 2\b.*has 0", lambda: ring(edge_weight=weights(e2=0.0))),
    "too few weights": (r"edge_weight.*40 edges.*\[5\]", lambda: ring(edge_weight=weights()[:5])),
    "weights in two columns": (r"edge_weight.*\[40, 2\]", lambda: ring(edge_weight=torch.ones(40, 2))),
    "weights in a list": ("edge_weight.*list", lambda: ring(edge_weight=weights().tolist())),
    "sparse features": (r"x.*sparse.*to_dense", lambda: ring(x=torch.rand(NODES, 6).to_sparse())),
    "compressed features": (r"x.*sparse.*to_dense", lambda: ring(x=torch.rand(NODES, 6).to_sparse_csr())),
    "a list of features": (r"x.*list", lambda: ring(x=torch.rand(NODES, 6).tolist())),
    "no features": ("x must be", lambda: Data(edge_index=ring().edge_index, num_nodes=NODES)),
    "features without numbers": ("x .*meta has none", lambda: ring(x=torch.rand(NODES, 6, device="meta"))),
    "a sparse matrix for edges": ("edge_index.*sparse", lambda: ring(edge_index=torch.eye(NODES).to_sparse())),
    "a list of edges": ("edge_index.*list", lambda: ring(edge_index=ring().edge_index.tolist())),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_graph_that_contradicts_itself_is_refused(case: str) -> None:
    """Loops for 5 of 20 nodes, or all weights left aside for one NaN: other embeddings, and not a word."""
    sentence, make = REFUSED[case]
    for data in (make(), [make(), make()]):
        with pytest.raises(DataError, match=sentence):
            pretrain(data)


def test_weights_and_a_number_of_nodes_that_agree_are_taken() -> None:
    """A refusal that went too far would refuse ordinary graphs."""
    assert torch.equal(gm.embed(pretrain(ring()), ring()), gm.embed(pretrain(ring(num_nodes=NODES)), ring()))
    weighted = [gm.embed(pretrain(ring(edge_weight=w)), ring(edge_weight=w)) for w in (weights(), weights().double())]
    assert torch.equal(*weighted)
    assert not torch.equal(weighted[0], gm.embed(pretrain(ring()), ring()))
    column = ring(edge_weight=weights().unsqueeze(1))
    assert torch.equal(gm.embed(pretrain(column), column), weighted[0])
    same = ring(edge_weight=torch.full((2 * NODES,), 3.0))  # what says nothing changes nothing
    assert torch.equal(gm.embed(pretrain(same), same), gm.embed(pretrain(ring()), ring()))


def test_a_sparse_matrix_in_a_pair_is_its_edges() -> None:
    """(x, torch's sparse adjacency) is as good as SciPy's, and ended in a traceback."""
    graph, size = ring(), (NODES, NODES)
    expected = gm.data.open((graph.x, graph.edge_index)).graphs[0].edge_index
    ones = torch.ones(2 * NODES)
    for matrix in (
        sp.coo_matrix((ones.numpy(), graph.edge_index.numpy()), shape=size),
        torch.sparse_coo_tensor(graph.edge_index, ones, size, check_invariants=True),
        torch.sparse_coo_tensor(graph.edge_index, ones, size, check_invariants=True).to_sparse_csr(),
    ):
        found = gm.data.open((graph.x, matrix)).graphs[0].edge_index
        assert sorted(found.t().tolist()) == sorted(expected.t().tolist())


@pytest.mark.parametrize(
    ("sentence", "edges"),
    [
        ("sparse", torch.eye(NODES).to_sparse()),
        ("list", [[0, 1], [1, 0]]),
        (r"\[2, edges\]", torch.eye(NODES).long()),
        ("whole numbers", torch.tensor([[0.5], [1.0]])),
    ],
    ids=["sparse", "list", "square", "fractions"],
)
def test_edges_that_are_none_are_refused_by_a_model(sentence: str, edges: Any) -> None:
    """model(x, edges) with an adjacency matrix: a message of PyTorch's backends, or fractions cut to other nodes."""
    x = ring().x
    for use in (small_model(), small_model().encoder):
        with pytest.raises(DataError, match=sentence):
            use(x, edges)


@pytest.mark.parametrize(
    ("sentence", "owner"),
    [
        ("ascending", [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]),
        ("12 nodes", [0, 0, 1]),
        ("whole numbers", [0.0] * 6 + [1.0] * 6),
        ("from 0 up", [-1] * 6 + [0] * 6),
    ],
)
def test_nodes_of_several_graphs_in_disorder_are_refused(sentence: str, owner: list[float]) -> None:
    """`batch` that is not sorted: at rate 0.5, 5, 2 and 0 nodes of 6, 3 and 3 were masked, without a word."""
    x, edges, numbers = torch.rand(12, 6), torch.tensor([[0, 3], [3, 0]]), torch.tensor(owner)
    with pytest.raises(InputError, match=sentence):
        small_model()(x, edges, numbers)
    with pytest.raises(InputError, match=sentence):
        Batch(x, edges, numbers)


@pytest.mark.parametrize("seed", range(50))
def test_one_wrong_number_in_any_place_is_found(seed: int) -> None:
    """Any weight of any graph in any type: the sentence names the edge. Without the wrong one, the graph is taken."""
    rng = np.random.default_rng(seed)
    nodes, edges = int(rng.integers(2, 30)), int(rng.integers(2, 90))
    ends = torch.from_numpy(rng.integers(nodes, size=(2, edges)))
    weight = torch.from_numpy(rng.uniform(0.1, 5, edges)).to([torch.float64, torch.float32, torch.float16][seed % 3])
    graph = Data(x=torch.from_numpy(rng.normal(size=(nodes, 3))).float(), edge_index=ends, edge_weight=weight)
    opened = gm.data.open(graph).graphs[0]
    loops = ends[0] == ends[1]
    assert torch.equal(opened.edge_weight[: int((~loops).sum())], weight[~loops].float())
    place = int(rng.integers(edges))
    graph.edge_weight = weight.clone()
    graph.edge_weight[place] = [torch.nan, torch.inf, -torch.inf, 0.0, -float(weight[place])][seed % 5]
    with pytest.raises(DataError, match=f"and 1 have none \\(the first: edge {place}, "):
        gm.data.open(graph)
    wrong = nodes + int(rng.choice([-1, 1, 1000]))
    with pytest.raises(DataError, match=f"num_nodes says {wrong}, and x has {nodes} rows"):
        gm.data.open(Data(x=graph.x, edge_index=ends, num_nodes=wrong))


@pytest.mark.parametrize("seed", range(50))
def test_a_batch_is_taken_where_it_is_in_order_and_nowhere_else(seed: int) -> None:
    """Random numbers of graphs, some of them skipped; one exchange of two nodes is enough to be refused."""
    rng = np.random.default_rng(seed)
    owner = torch.from_numpy(np.sort(rng.integers(6, size=int(rng.integers(2, 20)))))
    x, edges = torch.rand(len(owner), 3), torch.zeros(2, 1, dtype=torch.long)
    assert Batch(x, edges, owner).num_graphs == int(owner[-1]) + 1
    one, other = rng.choice(len(owner), 2, replace=False)
    owner[[one, other]] = owner[[other, one]]
    if bool((owner.diff() < 0).any()):
        with pytest.raises(InputError, match="ascending"):
            Batch(x, edges, owner)
    else:
        Batch(x, edges, owner)


def test_the_rate_of_a_mask_holds_in_every_graph_of_a_batch() -> None:
    """What the refusal above protects, for nodes in order."""
    owner = torch.repeat_interleave(torch.tensor([6, 2, 4]))
    batch = Batch(torch.rand(12, 6), torch.tensor([[0], [1]]), owner)
    masked = gm.masking.RandomNodeMask(rate=0.5).draw_in(batch).masked
    assert torch.bincount(owner[masked], minlength=3).tolist() == [3, 1, 2]


CALLERS = """
import random, numpy as np, torch
from torch_geometric.data import Data
import graphmae as gm
random.seed(1); np.random.seed(1); torch.manual_seed(1)
data = Data(x=torch.rand(9, 4), edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))
def state(): return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
before = state()
gm.pretrain("auto", data, 1, progress=False)
assert [a == b for a, b in zip(before, state())] == [True] * 3, [a == b for a, b in zip(before, state())]
"""


def test_the_callers_random_numbers_go_on_after_a_training() -> None:
    """In a new process: the first import of what prints tables drew a number of Python's generator."""
    done = subprocess.run([sys.executable, "-c", CALLERS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
