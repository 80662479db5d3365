"""Layers that are computed again for their gradients give the same gradients, and take less memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from graphmae import decoders, encoders, kernels
from graphmae.batching import Batch
from graphmae.encoders import checkpointed
from graphmae.methods import GraphMAE
from graphmae.runtime.device import autocasting, numerics

CPU = torch.device("cpu")


def batch_of(nodes: int, width: int = 16) -> Batch:
    generator = torch.Generator().manual_seed(1)
    edges = torch.randint(nodes, (2, 6 * nodes), generator=generator)
    return Batch(torch.rand(nodes, width, generator=generator), kernels.adjacency(edges, nodes))


def model_of(name: str, **options: Any) -> GraphMAE:
    torch.manual_seed(0)
    encoder = encoders.build(name, in_channels=16, **{"hidden_channels": 8, "num_layers": 3, "dropout": 0.4, **options})
    return GraphMAE(encoder, decoders.GAT(encoder.hidden_channels, out_channels=16))


def gradients(model: nn.Module, batch: Batch) -> dict[str, Tensor]:
    torch.manual_seed(2)
    model(batch).backward()
    found = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    model.zero_grad()
    return found


@pytest.mark.parametrize("fast", ["auto", "reference"])
@pytest.mark.parametrize(
    ("name", "options"),
    [("gat", {"heads": 2, "norm": "layer"}), ("gcn", {"norm": "batch"}), ("gin", {"norm": "batch"})],
)
def test_gradients_and_averages_are_the_same_with_dropout(name: str, options: dict[str, Any], fast: str) -> None:
    batch, plain, again = batch_of(40), model_of(name, **options), model_of(name, **options)
    with kernels.use(fast):
        want = gradients(plain, batch)
        with checkpointed(again):
            got = gradients(again, batch)
            follows = torch.rand(1)
    assert torch.equal(follows, _after(plain, batch, fast))  # the generator stands where it would have
    assert set(got) == set(want)
    for key in want:
        assert torch.equal(got[key], want[key]), key
    for (key, want_buffer), got_buffer in zip(plain.named_buffers(), again.buffers(), strict=True):
        assert torch.equal(want_buffer, got_buffer), key


def _after(model: nn.Module, batch: Batch, fast: str) -> Tensor:
    with kernels.use(fast):
        before = {name: buffer.clone() for name, buffer in model.named_buffers()}
        gradients(model, batch)
        for name, buffer in model.named_buffers():
            buffer.copy_(before[name])
    return torch.rand(1)


def bytes_kept_for_the_gradients(model: nn.Module, batch: Batch) -> int:
    """Counted, not watched: what a process holds depends on which tests ran in it before."""
    kept: dict[int, Tensor] = {}

    def pack(saved: Tensor) -> Tensor:
        kept[saved.untyped_storage().data_ptr()] = saved
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        model(batch)
    return sum(saved.untyped_storage().nbytes() for saved in kept.values())


def test_it_takes_less_memory() -> None:
    model, batch = model_of("gcn", hidden_channels=128, num_layers=12), batch_of(6000)
    plain = bytes_kept_for_the_gradients(model, batch)
    with checkpointed(model):
        again = bytes_kept_for_the_gradients(model, batch)
    assert again < 0.7 * plain, (plain, again)


class Foreign(nn.Module):
    """An encoder of torch's own layers, before one of our kernels."""

    takes_adjacency = True

    def __init__(self) -> None:
        super().__init__()
        self.in_channels = self.out_channels = 16
        self.map = nn.Linear(16, 16)
        self.seen: list[torch.dtype] = []

    def forward(self, x: Tensor, edge_index: kernels.Adjacency) -> Tensor:
        x = self.map(x)
        self.seen.append(x.dtype)
        return kernels.aggregate(kernels.view(edge_index, len(x)), x.unsqueeze(1)).squeeze(1)


def test_autocast_reaches_foreign_layers_and_our_kernels_stay_in_float32() -> None:
    torch.manual_seed(0)
    model, batch, losses = GraphMAE(Foreign(), decoders.GAT(16, out_channels=16)), batch_of(60), []
    for precision in ("float32", "amp-bf16"):
        with numerics(CPU, precision), autocasting(CPU, precision):
            torch.manual_seed(3)
            losses.append(model(batch))
    losses[1].backward()
    assert model.encoder.seen == [torch.float32, torch.bfloat16]
    assert losses[1].dtype == torch.float32
    want, got = (float(loss.detach()) for loss in losses)
    assert got == pytest.approx(want, rel=0.02) and got != want
    assert all(bool(torch.isfinite(w.grad).all()) for w in model.parameters() if w.grad is not None)
