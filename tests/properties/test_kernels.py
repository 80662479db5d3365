"""Every implementation of every kernel agrees with the float64 reference, in values and all gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmae import kernels
from graphmae.kernels import reference
from graphmae.layers import NormAct

Pairs = list[tuple[int, int]]
graphs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
)


def adjacency_of(graph: tuple[int, Pairs], weighted: bool = False) -> kernels.Adjacency:
    n, pairs = graph
    ends = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T.contiguous()
    return kernels.Adjacency.from_edges(ends, n, torch.rand(len(pairs)) * 9 + 0.1 if weighted else None)


@st.composite
def views(draw: st.DrawFn) -> kernels.View:
    """Any graph (isolated nodes, multi-edges, no edges, one node), any edges left out, any nodes wanted and given;
    with and without weights of edges."""
    adj = adjacency_of(draw(graphs), draw(st.booleans()))
    edges = adj.col.numel()
    flags = st.lists(st.booleans(), min_size=edges, max_size=edges).map(lambda k: torch.tensor(k, dtype=torch.bool))
    keep = draw(st.none() | flags)
    adj = adj if keep is None else adj.kept(keep)
    some = st.lists(st.integers(0, adj.num_rows - 1), unique=True, min_size=1).map(torch.tensor)
    rows, nodes = draw(st.none() | some), draw(st.none() | some)
    return kernels.View(adj, rows, nodes)


def agree(fast: torch.Tensor, slow: torch.Tensor, inputs: tuple[torch.Tensor, ...], scale: float = 1.0) -> None:
    """Equal to rounding, in outputs and gradients; `scale` is how large the scores of a softmax can be."""
    grad = torch.randn_like(slow)
    mine = (fast, *torch.autograd.grad(fast, inputs, grad.to(fast.dtype), allow_unused=True))
    theirs = (slow, *torch.autograd.grad(slow, inputs, grad, allow_unused=True))
    for a, b in zip(mine, theirs, strict=True):
        assert a is not None
        expected = torch.zeros_like(a) if b is None else b
        assert torch.allclose(a.double(), expected.double(), atol=1e-5 * max(1.0, scale**2 / 10), rtol=1e-4)


@settings(max_examples=100, deadline=None)
@given(views(), st.integers(1, 3), st.integers(1, 9), st.booleans())
def test_aggregate(view: kernels.View, heads: int, channels: int, weighted: bool) -> None:
    x = torch.randn(view.given.numel(), heads, channels, requires_grad=True)
    weight = torch.randn(view.adj.col.numel(), heads, requires_grad=True) if weighted else None
    inputs = (x, weight) if weight is not None else (x,)
    slow = reference.aggregate(view, x.double(), None if weight is None else weight.double())
    with kernels.use("cpu"):
        agree(kernels.aggregate(view, x, weight), slow, inputs)


@settings(max_examples=100, deadline=None)
@given(views(), st.integers(1, 3), st.integers(1, 9), st.booleans(), st.floats(0.1, 20))
def test_attend(view: kernels.View, heads: int, channels: int, shared: bool, scale: float) -> None:
    x = torch.randn(view.given.numel(), 1 if shared else heads, channels, requires_grad=True)
    vectors = (scale * torch.randn(2, heads, channels)).requires_grad_()
    bias = torch.randn(heads, channels, requires_grad=True)
    slow = reference.attend(view, x.double(), vectors.double(), 0.2, 0.0, bias.double())
    with kernels.use("cpu"):
        agree(kernels.attend(view, x, vectors, 0.2, 0.0, training=False, bias=bias), slow, (x, vectors, bias), scale)


@pytest.mark.parametrize("shared", [False, True])
def test_attention_dropout_is_the_same_in_the_gradients(shared: bool) -> None:
    torch.manual_seed(0)
    adj = kernels.adjacency(torch.randint(6, (2, 40)), 6)
    view = kernels.View(adj, torch.tensor([4, 0, 2]), torch.tensor([5, 4, 1, 0]))
    x = torch.randn(4, 1 if shared else 3, 5, dtype=torch.double, requires_grad=True)
    vectors = torch.randn(2, 3, 5, dtype=torch.double, requires_grad=True)

    def attended(x: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)
        with kernels.use("cpu"):
            return kernels.attend(view, x, vectors, 0.2, 0.4, training=True)

    assert not torch.allclose(attended(x, vectors), kernels.attend(view, x, vectors, 0.2, 0.4, training=False))
    assert torch.autograd.gradcheck(attended, (x, vectors))


@pytest.mark.parametrize("choice", ["reference", "cpu"])
def test_attention_dropout_drops_its_share_of_the_edges(choice: str) -> None:
    torch.manual_seed(0)
    adj = kernels.adjacency(torch.stack([torch.arange(4000), torch.zeros(4000, dtype=torch.long)]), 4000)
    x = torch.ones(4000, 2, 3, requires_grad=True)
    with kernels.use(choice):
        out = kernels.attend(kernels.View(adj), x, torch.zeros(2, 2, 3), 0.2, 0.4, training=True)
    assert float(out[0].detach().mean()) == pytest.approx(1, abs=0.05)
    out[0].sum().backward()
    assert float((x.grad == 0).float().mean()) == pytest.approx(0.4, abs=0.05)
    assert float(x.grad.sum()) == pytest.approx(float(out[0].detach().sum()), rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(graphs, st.integers(1, 70), st.data())
def test_lookup(graph: tuple[int, Pairs], channels: int, data: st.DataObject) -> None:
    adj = adjacency_of(graph)
    value = torch.randn(adj.col.numel())
    rows = torch.tensor(data.draw(st.lists(st.integers(0, graph[0] - 1), max_size=20)), dtype=torch.long)
    table = torch.randn(graph[0], channels, requires_grad=True)
    slow = reference.lookup(adj, value, rows, table.double(), 0.0)
    with kernels.use("cpu"):
        agree(kernels.lookup(adj, value, rows, table), slow, (table,))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(1, 7), st.sampled_from(["sum", "mean", "max"]))
def test_pool(sizes: list[int], channels: int, how: str) -> None:
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    x = torch.randn(int(ptr[-1]), channels, requires_grad=True)
    with kernels.use("cpu"):
        agree(kernels.pool(x, ptr, how), reference.pool(x.double(), ptr, how), (x,))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(1, 20), st.floats(-100, 100), st.sampled_from([0.0, 0.25, 1.0]))
def test_batch_norm(rows: int, channels: int, offset: float, slope: float) -> None:
    x = (torch.randn(rows, channels) + offset).requires_grad_()
    weight, bias = torch.randn(channels, requires_grad=True), torch.randn(channels, requires_grad=True)
    below = torch.tensor([slope], requires_grad=True)
    inputs = (x, weight, bias, below)
    slow, mean, var = reference.batch_norm(*(t.double() for t in inputs), 1e-5, None)
    with kernels.use("cpu"):
        fast, fast_mean, fast_var = kernels.batch_norm(*inputs, 1e-5)
    assert torch.allclose(fast_mean.double(), mean, rtol=1e-5, atol=1e-4)
    assert torch.allclose(fast_var.double(), var, rtol=1e-3, atol=1e-4)
    if float(var.min()) > 1e-2:  # else dividing by it magnifies rounding
        straight = torch.ones(1, dtype=torch.double)
        before = reference.batch_norm(*(t.detach().double() for t in inputs[:3]), straight, 1e-5, None)[0]
        # On either side of the kink the gradient differs: entries close to it get none.
        agree_loosely(fast, slow, inputs, torch.randn_like(slow) * (before.abs() > 1e-3))


def agree_loosely(fast: torch.Tensor, slow: torch.Tensor, inputs: tuple[torch.Tensor, ...], grad: torch.Tensor) -> None:
    for a, b in zip(
        (fast, *torch.autograd.grad(fast, inputs, grad.to(fast.dtype))),
        (slow, *torch.autograd.grad(slow, inputs, grad)),
        strict=True,
    ):
        assert (a - b).norm() <= 1e-3 * b.norm() + 1e-3


def test_batch_norm_is_torch_s() -> None:
    torch.manual_seed(0)
    x, theirs = torch.randn(20, 6) * 3 + 2, torch.nn.BatchNorm1d(6)
    ours = NormAct("batch", 6, "relu")
    for _ in range(3):
        expected, got = theirs(x).relu(), ours(x)
    assert torch.allclose(got, expected, atol=1e-5)
    assert torch.allclose(ours.norm.running_mean, theirs.running_mean, atol=1e-6)
    assert torch.allclose(ours.norm.running_var, theirs.running_var, atol=1e-5)
    assert torch.allclose(ours.eval()(x), theirs.eval()(x).relu(), atol=1e-5)


def test_padding_rows_do_not_count_in_a_batch_norm() -> None:
    x = torch.randn(7, 3)
    padded = torch.cat([x, torch.full((4, 3), 100.0)])
    arguments = (torch.rand(3), torch.rand(3), torch.tensor([0.25]), 1e-5)
    short, long = (reference.batch_norm(t, *arguments, v)[0] for t, v in ((x, None), (padded, torch.tensor(7))))
    assert torch.allclose(long[:7], short, atol=1e-6)
    assert (long[7:] == 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 20), st.integers(1, 40))
def test_cosine(rows: int, channels: int) -> None:
    z, x = torch.randn(rows, channels), torch.randn(rows, channels)
    z[: rows // 3], x[rows // 2 :: 2] = 0, 0  # rows of zeros have no direction
    z.requires_grad_()
    with kernels.use("cpu"):
        fast, length = kernels.cosine(z, x)
    slow, expected = reference.cosine(z.double(), x.double(), 1e-12)
    assert torch.allclose(length.double(), expected, rtol=1e-5)
    grad = torch.randn_like(slow)
    (a,), (b,) = torch.autograd.grad(fast, z, grad.float()), torch.autograd.grad(slow, z, grad)
    assert torch.allclose(fast.double(), slow, atol=1e-6)
    norm = z.detach().double().norm(dim=1, keepdim=True)
    rounding = torch.where(norm > 0, 1e-6 / norm, 0.0)  # a short vector turns easily
    assert ((a - b).abs() <= 1e-4 * b.abs() + 1e-5 + rounding).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 50), st.integers(1, 9), st.floats(-1, 1))
def test_prelu(rows: int, channels: int, slope: float) -> None:
    x, below = torch.randn(rows, channels, requires_grad=True), torch.tensor([slope], requires_grad=True)
    with kernels.use("cpu"):
        agree(kernels.prelu(x, below), reference.prelu(x.double(), below.double()), (x, below))


@settings(max_examples=60, deadline=None)
@given(views())
def test_a_view_needs_the_wanted_nodes_and_their_senders(view: kernels.View) -> None:
    wanted = set(view.wanted.tolist())
    edges = zip(view.adj.col.tolist(), view.adj.row.tolist(), strict=True)
    assert set(view.needed.tolist()) == wanted | {j for j, i in edges if i in wanted}


@settings(max_examples=60, deadline=None)
@given(graphs, st.data())
def test_a_thinned_graph_is_the_graph_of_its_edges(graph: tuple[int, Pairs], data: st.DataObject) -> None:
    adj = adjacency_of(graph)
    keep = torch.tensor(
        data.draw(st.lists(st.booleans(), min_size=len(graph[1]), max_size=len(graph[1]))), dtype=torch.bool
    )
    adj.chunks  # noqa: B018 - once known, they are carried over
    thin, new = adj.kept(keep), kernels.Adjacency.from_edges(adj.edge_index[:, keep], graph[0])
    for a, b in ((thin.crow, new.crow), (thin.row, new.row), (thin.col, new.col)):
        assert torch.equal(a, b)
    assert torch.equal(thin.transpose[0], new.transpose[0])
    assert torch.equal(thin.col[thin.transpose[1].long()], new.col[new.transpose[1].long()])
    assert torch.equal(thin.receivers, thin.row[thin.transpose[1].long()])
    for mine, fresh in zip(thin.chunks, new.chunks, strict=True):
        assert int((mine.end - mine.begin).sum()) == int((fresh.end - fresh.begin).sum()) == int(keep.sum())


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
