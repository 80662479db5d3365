"""The Triton kernels in Triton's interpreter, against the float64 reference; tests/gpu does it on a real device."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import torch
from graphmae import kernels
from graphmae.kernels import cuda, reference

def adj_of(count):
    return kernels.adjacency(torch.arange(count).expand(2, -1), count)


torch.manual_seed(0)
for nodes, edges, heads, channels in [(7, 20, 2, 5), (5, 0, 1, 3), (3, 120, 2, 33), (1, 40, 1, 1), (4, 9, 3, 260)]:
    ends = torch.randint(nodes, (2, edges))
    adj = kernels.adjacency(ends, nodes)  # some rows fall into several pieces
    heavy = kernels.Adjacency.from_edges(ends, nodes, torch.rand(edges) * 9 + 0.1)
    some = torch.randperm(nodes)[: max(1, nodes // 2)]
    given = torch.arange(min(1, nodes - 1), nodes)
    thin = adj.kept(torch.rand(edges) < 0.7)
    if edges > 100:  # of a long row, the first piece is dropped whole
        thin = adj.kept(torch.arange(edges) - adj.crow[adj.row.long()].long() >= 32)
    weighed = kernels.View(heavy), kernels.View(heavy.kept(torch.rand(edges) < 0.7), some, given)
    for view in (kernels.View(adj), kernels.View(thin, some), kernels.View(thin, some, given), *weighed):
        x = torch.randn(view.given.numel(), heads, channels, requires_grad=True)
        grad = torch.randn(view.num_rows, heads, channels)
        weight = torch.randn(view.adj.col.numel(), heads, requires_grad=True)
        vectors = torch.randn(2, heads, channels, requires_grad=True)
        shared = torch.randn(view.given.numel(), 1, channels, requires_grad=True)
        bias = torch.randn(heads, channels, requires_grad=True)
        own, table = torch.randn(view.num_rows, 5), torch.randn(5, channels, requires_grad=True)
        for inputs, call in (
            ((x,), lambda m, d: m.aggregate(view, d(x), None)),
            ((x, table), lambda m, d: m.aggregate(view, d(x), None, d(own), d(table))),
            ((x, weight), lambda m, d: m.aggregate(view, d(x), d(weight))),
            ((x, vectors, bias), lambda m, d: m.attend(view, d(x), d(vectors), 0.2, 0.0, d(bias))),
            ((shared, vectors), lambda m, d: m.attend(view, d(shared), d(vectors), 0.2, 0.0)),
        ):
            fast, slow = call(cuda, lambda t: t), call(reference, lambda t: t.double())
            got = (fast, *torch.autograd.grad(fast, inputs, grad, allow_unused=True))
            want = (slow, *torch.autograd.grad(slow, inputs, grad.double(), allow_unused=True))
            for a, b in zip(got, want, strict=True):
                b = torch.zeros_like(a) if b is None else b
                assert torch.allclose(a.double(), b.double(), atol=1e-4, rtol=1e-4), (a, b)
for rows, real, channels in [(70, 61, 5), (40, 40, 130), (3, 2, 1)]:
    inputs = [torch.randn(rows, channels) + 3, torch.randn(channels), torch.randn(channels), torch.tensor([0.25])]
    inputs, grad = [t.requires_grad_() for t in inputs], torch.randn(rows, channels)
    valid = torch.tensor(real, dtype=torch.int32)
    results = []
    for module, d in ((cuda, lambda t: t), (reference, lambda t: t.double())):
        running = (d(torch.ones(channels)), d(torch.ones(channels)), 0.1)
        out = module.batch_norm(*(d(t) for t in inputs), 1e-5, valid, running)
        results.append((*out, *running[:2], *torch.autograd.grad(out[0], inputs, d(grad))))
    for a, b in zip(*results, strict=True):
        assert torch.allclose(a.double(), b.double(), atol=1e-3, rtol=1e-3), (a, b)
for rows, channels in [(9, 5), (40, 300), (1, 1)]:
    x, shift, weight, bias = torch.randn(rows, channels), *torch.randn(3, channels)
    inputs = [t.requires_grad_() for t in (x, shift, weight, bias, torch.tensor([0.3]))]
    grad = torch.randn(rows, channels)
    for norm in (True, False):
        results = []
        for module, d in ((cuda, lambda t: t), (reference, lambda t: t.double())):
            a, s, w, b, slope = (d(t) for t in inputs)
            out = module.layer_norm(a, w, b, slope, 1e-5, s, 0.0) if norm else module.prelu(a, slope, s, 0.0)
            wanted = inputs if norm else (inputs[0], inputs[1], inputs[4])
            results.append((out, *torch.autograd.grad(out, wanted, d(grad))))
        for a, b in zip(*results, strict=True):
            assert torch.allclose(a.double(), b.double(), atol=1e-4, rtol=1e-3), (norm, a, b)
x = torch.rand(60, 50).add(1).requires_grad_()
out = cuda.prelu(x, torch.ones(1), None, 0.3)
(gx,) = torch.autograd.grad(out, x, torch.ones_like(out))
assert torch.equal(out == 0, gx == 0) and 0.2 < float((out == 0).float().mean()) < 0.4
assert torch.allclose(out[out != 0], (x / 0.7)[out != 0])
rows = torch.tensor([3, 0, 3])
assert torch.equal(cuda.dropped_rows(x.detach(), rows, 2, 0.0), reference.dropped_rows(x.detach(), rows, 2, 0.0))
drawn = cuda.dropped_rows(x.detach(), rows, 200, 0.25)
assert 0.2 < float((drawn == 0).float().mean()) < 0.3 and torch.allclose(drawn[drawn != 0][-1], torch.tensor(4 / 3))
for rows, channels in ((1, 1), (70, 65), (130, 3)):
    a, b = torch.randn(2, rows, channels)
    assert torch.allclose(cuda.column_sums(a, b), (a * b).sum(0), atol=1e-4)
    assert torch.allclose(cuda.column_sums(a, None), a.sum(0), atol=1e-4)
torch.manual_seed(3)
ours = torch.randn(1500).requires_grad_()
theirs = ours.detach().clone().requires_grad_()
optimizer = torch.optim.Adam([theirs], lr=0.01, weight_decay=0.1)
mean, square, step, lr = torch.zeros(1500), torch.zeros(1500), torch.zeros(()), torch.tensor(0.01)
for _ in range(5):
    theirs.grad = torch.randn(1500)
    step += 1
    cuda.adam_step(ours.detach(), theirs.grad, mean, square, step, lr, 0.1, (0.9, 0.999), 1e-8)
    optimizer.step()
    assert torch.allclose(ours, theirs, atol=1e-6), (ours - theirs).abs().max()
for count in (257, 300, 512):
    order, first, second = cuda.parted(count, 100, torch.device("cpu"))
    assert torch.equal(order, torch.cat([first, second])) and len(first) == 100
    for nodes in (order, first, second):
        view = kernels.View(adj_of(count), nodes, nodes)
        expected = torch.full((count,), -1).scatter_(0, nodes, torch.arange(len(nodes)))
        assert torch.equal(view.position.long(), expected) and torch.equal(view.place.long(), expected)
        assert torch.equal(view.wanted.long(), nodes)
    assert torch.equal(order.sort().values, torch.arange(count)) and not torch.equal(order, order.sort().values)
for rows, channels in [(7, 33), (3, 1), (1, 1500)]:
    z, x, grad = torch.randn(rows, channels), torch.randn(rows, channels), torch.randn(rows)
    z[0] = 0
    z.requires_grad_()
    (fast, found), (slow, length) = cuda.cosine(z, x, 1e-12), reference.cosine(z.double(), x.double(), 1e-12)
    assert torch.allclose(found.double(), length, rtol=1e-4)
    assert torch.allclose(fast.double(), slow, atol=1e-5)
    (a,), (b,) = torch.autograd.grad(fast, z, grad), torch.autograd.grad(slow, z, grad.double())
    assert torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-4)
from torch_geometric.data import Data
from graphmae.data import GraphSet
from graphmae.batching import GraphStore

parts = [(1, 0), (5, 12), (40, 70), (3, 3), (2, 0)]
graphs = [Data(x=torch.zeros(n, 1), edge_index=torch.randint(n, (2, m))) for n, m in parts]
plain = GraphSet.from_list("some", graphs)
codes = torch.stack([torch.randint(130, (51,)), torch.randint(3, (51,))], 1)
sums = torch.randint(9, (51, 5), dtype=torch.uint8)
for made in (
    GraphSet("two", codes, (130, 3), plain.edge_index, plain.node_ptr, plain.edge_ptr, edge_sums=sums),
    GraphSet("one", codes[:, 0], 130, plain.edge_index, plain.node_ptr, plain.edge_ptr),
):
    store = GraphStore(made)
    for ids, room in (([2, 0, 4, 3], (50, 80)), ([1], (6, 12)), ([4, 4, 0], (70, 1))):
        ids = torch.tensor(ids)
        fast, slow = cuda.take_padded(store.packed, ids, *room), store._gathered(ids, *room, pads=True)
        for name in fast.__dataclass_fields__:
            a, b = getattr(fast, name), getattr(slow, name)
            assert (a is None and b is None) or (a.dtype == b.dtype and torch.equal(a, b)), (name, a, b)
sizes, starts = torch.tensor([5, 1, 17, 2]), torch.tensor([0, 5, 6, 23, 25])
counts = torch.arange(18, dtype=torch.int32) // 2
batch, seen = torch.repeat_interleave(torch.arange(5), torch.tensor([5, 1, 17, 2, 9])), torch.zeros(34)
for _ in range(60):
    chosen = cuda.chosen_within(sizes, starts, counts, 34)
    assert torch.zeros(5, dtype=torch.long).index_add(0, batch, chosen.long()).tolist() == [2, 0, 8, 1, 0]
    seen += chosen
assert (seen[:5] > 8).all() and (seen[:5] < 40).all() and (seen[6:23] > 12).all() and seen[25:].sum() == 0
print("agree")
"""


def test_the_kernels_in_the_interpreter() -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        env={"TRITON_INTERPRET": "1", "PATH": ""},
        timeout=600,
    )
    assert done.stdout.strip() == "agree", done.stderr
