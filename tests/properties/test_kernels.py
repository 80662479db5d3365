"""Every implementation of every kernel agrees with the float64 reference, in values and all gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmae import kernels
from graphmae.kernels import reference

graphs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
)


def adjacency_of(graph: tuple[int, list[tuple[int, int]]]) -> kernels.Adjacency:
    n, pairs = graph
    return kernels.adjacency(torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T.contiguous(), n)


def agree(fast: torch.Tensor, slow: torch.Tensor, inputs: tuple[torch.Tensor, ...]) -> None:
    grad = torch.randn_like(slow)
    mine = (fast, *torch.autograd.grad(fast, inputs, grad.to(fast.dtype), allow_unused=True))
    theirs = (slow, *torch.autograd.grad(slow, inputs, grad, allow_unused=True))
    for a, b in zip(mine, theirs, strict=True):
        if b is not None and a is not None:
            assert torch.allclose(a.double(), b.double(), atol=1e-5, rtol=1e-4)


@settings(max_examples=60, deadline=None)
@given(graphs, st.integers(1, 3), st.integers(1, 9), st.booleans())
def test_aggregate(graph: tuple[int, list[tuple[int, int]]], heads: int, channels: int, weighted: bool) -> None:
    adj = adjacency_of(graph)
    x = torch.randn(graph[0], heads, channels, requires_grad=True)
    weight = torch.randn(len(graph[1]), heads, requires_grad=True) if weighted else None
    inputs = (x, weight) if weight is not None else (x,)
    slow = reference.aggregate(adj, x.double(), None if weight is None else weight.double())
    with kernels.use("cpu"):
        agree(kernels.aggregate(adj, x, weight), slow, inputs)


@settings(max_examples=60, deadline=None)
@given(graphs, st.integers(1, 3), st.floats(0.1, 50))
def test_row_softmax(graph: tuple[int, list[tuple[int, int]]], heads: int, scale: float) -> None:
    adj = adjacency_of(graph)
    logits = (scale * torch.randn(len(graph[1]), heads)).requires_grad_()
    with kernels.use("cpu"):
        agree(kernels.row_softmax(adj, logits), reference.row_softmax(adj, logits.double()), (logits,))


@settings(max_examples=40, deadline=None)
@given(graphs, st.data())
def test_a_restricted_graph_holds_the_edges_of_its_rows(
    graph: tuple[int, list[tuple[int, int]]], data: st.DataObject
) -> None:
    adj = adjacency_of(graph)
    rows = torch.tensor(data.draw(st.lists(st.integers(0, graph[0] - 1), unique=True, min_size=1)))
    part, edges = adj.restrict(rows)
    assert part.num_rows == len(rows)
    assert torch.equal(rows[part.row], adj.row[edges])
    assert torch.equal(part.col, adj.col[edges])
    assert len(edges) == sum(int((adj.row == r).sum()) for r in rows)


@pytest.mark.parametrize("choice", ["reference", "cpu"])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_drops_its_share_and_keeps_the_mean(choice: str, p: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(400, 500, requires_grad=True)
    with kernels.use(choice):
        out = kernels.dropout(x, p, training=True)
    assert float((out == 0).float().mean()) == pytest.approx(p, abs=0.01)
    assert float(out.detach().mean()) == pytest.approx(1, abs=0.03)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())
    with kernels.use(choice):
        assert kernels.dropout(x, p, training=False) is x


def test_dropout_rows_and_columns_are_independent() -> None:
    torch.manual_seed(0)
    kept = (kernels.dropout(torch.ones(500, 500), 0.3, training=True) > 0).float() - 0.7
    neighbours = (kept[:, 1:] * kept[:, :-1]).mean().abs(), (kept[1:] * kept[:-1]).mean().abs()
    assert max(neighbours) < 0.005
    again = (kernels.dropout(torch.ones(500, 500), 0.3, training=True) > 0).float() - 0.7
    assert (kept * again).mean().abs() < 0.005


def test_dropout_does_not_depend_on_the_number_of_threads() -> None:
    import numba

    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        torch.manual_seed(0)
        results.append(kernels.dropout(torch.ones(300, 50), 0.4, training=True))
    assert torch.equal(results[0], results[1])


def test_the_sorted_structure_is_built_once_and_rebuilt_after_a_change() -> None:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    first = kernels.adjacency(edge_index, 2)
    assert kernels.adjacency(edge_index, 2) is first
    edge_index[0, 0] = 1
    assert kernels.adjacency(edge_index, 2) is not first
    assert kernels.adjacency(edge_index, 2).col.tolist() == [1, 1]


def test_an_edge_to_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="names node 5"):
        kernels.adjacency(torch.tensor([[0], [5]]), 3)


def test_without_numba_the_reference_runs_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, package: str) -> None:
        raise ImportError(name)

    kernels._fast.cache_clear()
    monkeypatch.setattr("graphmae.kernels.importlib.import_module", missing)
    try:
        with pytest.warns(RuntimeWarning, match="numba is missing") as caught:
            for _ in range(3):
                kernels.dropout(torch.ones(3), 0.5, training=True)
        assert len(caught) == 1
    finally:
        kernels._fast.cache_clear()
