"""The contracts our own parts pass, for parts of your own: call these from a test.

>>> from graphmae import encoders, testing
>>> testing.check_encoder(lambda in_channels: encoders.GCN(in_channels, hidden_channels=8))
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from . import decoders, encoders, kernels
from .batching import Batch
from .masking.nodes import MaskedNodes, NodeMask
from .methods import GraphMAE, Method

NODES, FEATURES = 7, 5
EDGES = torch.tensor([[0, 1, 1, 2, 3, 4, 0, 0], [1, 0, 2, 1, 3, 5, 1, 0]])  # loops, a multi-edge, isolated nodes
OTHER_EDGES = torch.tensor([[0, 2, 3], [2, 0, 1]])


def check_encoder(make: Callable[[int], nn.Module]) -> None:
    """`make(in_channels)` gives an encoder that can be trained, embedded with and saved."""
    encoder = make(FEATURES)
    x = torch.rand(NODES, FEATURES)
    assert int(encoder.in_channels) == FEATURES, "encoder.in_channels must be the width it was made for"  # type: ignore[arg-type]
    width = int(encoder.out_channels)  # type: ignore[arg-type]

    def encode(x: Tensor, edges: Tensor) -> Tensor:
        return kernels.encode(encoder, x, edges)

    out = encode(x, EDGES)
    assert out.shape == (NODES, width), f"forward gave {tuple(out.shape)}, out_channels says {(NODES, width)}"
    _check_gradients(encoder, out)
    encoder.eval()
    assert torch.equal(encode(x, EDGES), encode(x, EDGES)), "in eval mode the same input must give the same output"
    no_edges = torch.empty(2, 0, dtype=torch.long)
    assert torch.isfinite(encode(x, no_edges)).all(), "a graph without edges must give finite embeddings"
    order = torch.randperm(NODES)
    back = torch.empty_like(order).scatter_(0, order, torch.arange(NODES))
    moved = encode(x[order], back[EDGES])
    assert torch.allclose(moved, encode(x, EDGES)[order], atol=1e-4), "renumbering nodes must renumber embeddings"
    graphs = _different_graphs(x)
    rows = torch.cat([encode(graph.x, graph.graph) for graph in graphs])  # type: ignore[arg-type]
    both = _side_by_side(graphs)
    together = kernels.encode(encoder, both.x, both.edges(encoder))
    assert torch.allclose(together, rows, atol=1e-4), (
        "graphs that are side by side in a batch must not be mixed; an encoder that looks at all nodes takes the "
        "number of each node's graph as a parameter `batch`"
    )


def check_decoder(make: Callable[[int, int], nn.Module]) -> None:
    """`make(in_channels, out_channels)` gives a decoder that reconstructs the asked-for rows."""
    decoder = make(4, FEATURES)
    rows = torch.tensor([5, 0, 3])
    codes = torch.randn(NODES, 4)
    entrance = getattr(decoder, "entrance", None)
    out = kernels.encode(decoder, codes if entrance is None else entrance(codes), EDGES, rows=rows)
    assert out.shape == (3, FEATURES), f"forward gave {tuple(out.shape)} for 3 rows of {FEATURES} features"
    assert isinstance(getattr(decoder, "wants_remask", None), bool), "wants_remask must be True or False"
    _check_gradients(decoder, out)
    for encoder in (encoders.GAT(FEATURES, hidden_channels=4), _Foreign(FEATURES, 4)):
        _check_training(GraphMAE(encoder, make(4, FEATURES)), f"a GraphMAE with {type(decoder).__name__}")


def check_loss(make: Callable[[], nn.Module]) -> None:
    """`make()` gives a loss: a finite scalar, lower for a better prediction, with a gradient."""
    loss = make()
    target = torch.eye(FEATURES)
    guess = torch.rand(FEATURES, FEATURES, requires_grad=True)
    value = loss(guess, target)
    assert value.dim() == 0 and torch.isfinite(value), "a loss must be one finite number"
    value.backward()
    assert guess.grad is not None and torch.isfinite(guess.grad).all(), "the gradient must be finite"
    assert loss(10 * target, target) <= loss(-10 * target, target), "a right prediction must not cost more"


def check_mask(make: Callable[[], NodeMask]) -> None:
    """`make()` gives a masking rule: distinct nodes, each treated exactly one way, some left visible.

    The rule is asked as training asks it, with the edges and features of one graph, of several, and with seeds.
    """
    for num_nodes in (1, 2, 3, 50):
        x, ring = torch.rand(num_nodes, FEATURES), torch.arange(num_nodes)
        batch = Batch(x, torch.stack([ring, ring.roll(1)]))
        masked = _check_draw(make().draw_in(batch))
        assert len(masked) < num_nodes or num_nodes == 1, "at least one node must stay visible"
        if num_nodes == 50:
            seeds = torch.arange(10)
            inside = [node for node in _check_draw(make().draw_in(Batch(x, batch.graph, seeds=seeds))) if node < 10]
            assert 1 <= len(inside) < 10, "of the seeds of a batch some must be masked and some visible"
    graphs = torch.tensor([0, 0, 1, 2, 2, 2])
    edges = torch.tensor([[0, 1, 3, 4, 5, 2], [1, 0, 4, 3, 3, 2]])
    masked = _check_draw(make().draw_in(Batch(torch.rand(6, FEATURES), edges, graphs)))
    share = torch.bincount(graphs[masked], minlength=3)
    assert ((share >= 1) & (share <= torch.tensor([1, 1, 2]))).all(), "the rule must hold in every graph of a batch"
    decoder = decoders.Linear(4, FEATURES)
    _check_training(GraphMAE(encoders.GAT(FEATURES, hidden_channels=4), decoder, make()), "a GraphMAE with this rule")


def _check_draw(draw: MaskedNodes) -> list[int]:
    masked: list[int] = draw.masked.tolist()
    assert 1 <= len(set(masked)) == len(masked), "masked nodes must be distinct, and at least one"
    assert not set(masked) & set(draw.visible.tolist()), "a masked node must not be among the visible ones"
    treated = torch.cat([draw.token, draw.replaced, draw.kept]).tolist()
    assert sorted(treated) == sorted(masked), "every masked node needs exactly one treatment"
    assert len(draw.donors) == len(draw.replaced), "every replaced node needs one donor"
    return masked


def check_method(make: Callable[[int], Method]) -> None:
    """`make(in_channels)` gives a method whose loss trains its encoder, on one graph, on many, and on some nodes."""
    torch.manual_seed(0)
    model = make(FEATURES)
    x, name = torch.rand(NODES, FEATURES), type(model).__name__
    graphs = _different_graphs(x)
    side_by_side = _side_by_side(graphs)
    for what, batch in {
        "one graph": Batch(x, EDGES),
        "a graph without edges": Batch(x, EDGES[:, :0]),
        "a graph without differences": Batch(torch.ones_like(x), EDGES),
        "a node without others, and a graph": Batch(torch.cat([x, x[:1]]), EDGES, torch.tensor([*[0] * NODES, 1])),
        "two graphs": side_by_side,
        "some nodes that count": Batch(x, EDGES, seeds=torch.arange(NODES - 1)),
    }.items():
        model.zero_grad()
        for _ in range(8):  # a single draw on so small a graph may happen to say nothing
            loss = model(batch)
            assert loss.dim() == 0 and torch.isfinite(loss), f"{name}: the loss of {what} must be one finite number"
            loss.backward()
        learns = any(p.grad is not None and bool(p.grad.any()) for p in model.encoder.parameters())
        assert learns or "without" in what, f"{name}: the loss of {what} gives the encoder no gradient"
        if what == "one graph":
            still = [key for key, p in model.encoder.named_parameters() if p.requires_grad and p.grad is None]
            assert not still, f"{name}: {still[0]} of the encoder has no gradient: it is not trained"
    losses = []
    for _ in range(2):
        torch.manual_seed(1)
        losses.append(float(model(Batch(x, EDGES)).detach()))
    assert losses[0] == losses[1], f"{name}: the same random numbers must give the same loss"
    model.after_step()
    taught = [key for key, p in model.named_parameters() if not p.requires_grad and p.grad is not None]
    assert not taught, f"{name}: {taught[0]} takes no gradient, and has one"
    embedding = model.eval().encode(Batch(x, EDGES))
    assert torch.equal(embedding, model.encode(Batch(x, EDGES))), f"{name}.encode must give the same twice"
    rows = torch.cat([model.encode(graph) for graph in graphs])
    assert torch.allclose(model.encode(side_by_side), rows, atol=1e-5), f"{name}.encode must not mix graphs"
    order = torch.arange(NODES - 1, -1, -1)
    turned = model.encode(Batch(x[order], NODES - 1 - EDGES))
    assert torch.allclose(turned, embedding[order], atol=1e-5), f"{name}.encode must not depend on the order of nodes"
    assert embedding.shape == (NODES, int(model.encoder.out_channels)), f"{name}.encode must give one row per node"  # type: ignore[arg-type]
    assert model.parts["encoder"] is model.encoder
    if isinstance(model, GraphMAE) and type(model).loss is GraphMAE.loss:
        _check_steps(make)


def _check_steps(make: Callable[[int], Method]) -> None:
    """Without dropout the loss is that of the plain steps, on features that are dense and on bags of words."""
    width, nodes = 80, 60
    torch.manual_seed(0)
    model, edges = make(width).eval(), torch.randint(nodes, (2, 200))
    assert isinstance(model, GraphMAE)
    dense = torch.rand(nodes, width)
    for what, x in {"dense features": dense, "sparse features": dense * (torch.rand(nodes, width) < 0.04)}.items():
        losses = []
        for loss in (model.loss, model.plain_loss):
            torch.manual_seed(1)
            losses.append(loss(Batch(x, edges)).detach())
        assert torch.allclose(losses[0], losses[1], rtol=1e-4, atol=1e-6), (
            f"{type(model).__name__}: on {what} the loss is {float(losses[0]):.6g}, and by the plain steps "
            f"{float(losses[1]):.6g}: a part promises a shortcut that is not what its `forward` does"
        )


def _check_training(model: GraphMAE, what: str) -> None:
    """One loss on one graph and on several, with a gradient that is finite."""
    x = torch.rand(NODES, FEATURES)
    for batch in (Batch(x, EDGES), Batch(x, EDGES[:, :0]), _side_by_side(_different_graphs(x))):
        model.zero_grad()
        loss = model(batch)
        assert loss.dim() == 0 and torch.isfinite(loss), f"{what}: the loss must be one finite number"
        loss.backward()
        assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters()), (
            f"{what}: a gradient is not finite"
        )


def _different_graphs(x: Tensor) -> list[Batch]:
    """Two graphs that share nothing: softmax over two copies of one graph is that over one."""
    generator = torch.Generator().manual_seed(3)
    return [Batch(x, EDGES), Batch(3 * torch.rand(4, x.size(1), generator=generator), OTHER_EDGES)]


def _side_by_side(graphs: list[Batch]) -> Batch:
    sizes = torch.tensor([len(graph.x) for graph in graphs])
    edges = [kernels.plain(graph.graph) + first for graph, first in zip(graphs, sizes.cumsum(0) - sizes, strict=True)]
    numbers = torch.arange(len(graphs)).repeat_interleave(sizes)
    return Batch(torch.cat([graph.x for graph in graphs]), torch.cat(edges, dim=1), numbers)


class _Foreign(nn.Module):
    """An encoder with nothing that is ours."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.map = in_channels, out_channels, nn.Linear(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        code: Tensor = self.map(x)
        return code.index_add(0, edge_index[1], code[edge_index[0]])


def _check_gradients(module: nn.Module, out: Tensor) -> None:
    out.square().sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, f"the parameter {name} has no gradient: it is never used"
        assert torch.isfinite(parameter.grad).all(), f"the gradient of {name} is not finite"
