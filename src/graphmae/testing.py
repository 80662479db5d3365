"""The contracts our own parts pass, for parts of your own: call these from a test.

>>> from graphmae import encoders, testing
>>> testing.check_encoder(lambda in_channels: encoders.GCN(in_channels, hidden_channels=8))
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .batching import Batch
from .masking.nodes import NodeMask
from .methods import Method

NODES, FEATURES = 7, 5
EDGES = torch.tensor([[0, 1, 1, 2, 3, 4, 0, 0], [1, 0, 2, 1, 3, 5, 1, 0]])  # loops, a multi-edge, isolated nodes


def check_encoder(make: Callable[[int], nn.Module]) -> None:
    """`make(in_channels)` gives an encoder that can be trained, embedded with and saved."""
    encoder = make(FEATURES)
    x = torch.rand(NODES, FEATURES)
    assert int(encoder.in_channels) == FEATURES, "encoder.in_channels must be the width it was made for"  # type: ignore[arg-type]
    width = int(encoder.out_channels)  # type: ignore[arg-type]
    out = encoder(x, EDGES)
    assert out.shape == (NODES, width), f"forward gave {tuple(out.shape)}, out_channels says {(NODES, width)}"
    _check_gradients(encoder, out)
    encoder.eval()
    assert torch.equal(encoder(x, EDGES), encoder(x, EDGES)), "in eval mode the same input must give the same output"
    no_edges = torch.empty(2, 0, dtype=torch.long)
    assert torch.isfinite(encoder(x, no_edges)).all(), "a graph without edges must give finite embeddings"
    order = torch.randperm(NODES)
    back = torch.empty_like(order).scatter_(0, order, torch.arange(NODES))
    moved = encoder(x[order], back[EDGES])
    assert torch.allclose(moved, encoder(x, EDGES)[order], atol=1e-4), "renumbering nodes must renumber embeddings"


def check_decoder(make: Callable[[int, int], nn.Module]) -> None:
    """`make(in_channels, out_channels)` gives a decoder that reconstructs the asked-for rows."""
    decoder = make(4, FEATURES)
    rows = torch.tensor([5, 0, 3])
    codes = torch.randn(NODES, 4)
    entrance = getattr(decoder, "entrance", None)
    out = decoder(codes if entrance is None else entrance(codes), EDGES, rows=rows)
    assert out.shape == (3, FEATURES), f"forward gave {tuple(out.shape)} for 3 rows of {FEATURES} features"
    assert isinstance(decoder.wants_remask, bool), "wants_remask must be True or False"
    _check_gradients(decoder, out)


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
    """`make()` gives a masking rule: distinct nodes, each treated exactly one way, some left visible."""
    for num_nodes in (1, 2, 3, 50):
        draw = make().draw(num_nodes)
        masked = draw.masked.tolist()
        assert 1 <= len(set(masked)) == len(masked), "masked nodes must be distinct, and at least one"
        assert len(masked) < num_nodes or num_nodes == 1, "at least one node must stay visible"
        treated = torch.cat([draw.token, draw.replaced, draw.kept]).tolist()
        assert sorted(treated) == sorted(masked), "every masked node needs exactly one treatment"
        assert len(draw.donors) == len(draw.replaced), "every replaced node needs one donor"
    batch = torch.tensor([0, 0, 1, 2, 2, 2])
    share = torch.bincount(batch[make().draw(6, "cpu", batch).masked], minlength=3)
    assert ((share >= 1) & (share <= torch.tensor([1, 1, 2]))).all(), "the rule must hold in every graph of a batch"


def check_method(make: Callable[[int], Method]) -> None:
    """`make(in_channels)` gives a method whose loss trains its encoder, on one graph, on many, and on some nodes."""
    torch.manual_seed(0)
    model = make(FEATURES)
    x, name = torch.rand(NODES, FEATURES), type(model).__name__
    side_by_side = Batch(
        torch.cat([x, x]), torch.cat([EDGES, EDGES + NODES], dim=1), torch.arange(2).repeat_interleave(NODES)
    )
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
    twice = model.encode(side_by_side)
    assert torch.allclose(twice, torch.cat([embedding] * 2), atol=1e-5), f"{name}.encode must not mix graphs"
    order = torch.arange(NODES - 1, -1, -1)
    turned = model.encode(Batch(x[order], NODES - 1 - EDGES))
    assert torch.allclose(turned, embedding[order], atol=1e-5), f"{name}.encode must not depend on the order of nodes"
    assert embedding.shape == (NODES, int(model.encoder.out_channels)), f"{name}.encode must give one row per node"  # type: ignore[arg-type]
    assert model.parts["encoder"] is model.encoder


def _check_gradients(module: nn.Module, out: Tensor) -> None:
    out.square().sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, f"the parameter {name} has no gradient: it is never used"
        assert torch.isfinite(parameter.grad).all(), f"the gradient of {name} is not finite"
