"""Mixed precision, activation checkpointing and the connection between processes, on a CUDA device."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

import graphmae as gm
from graphmae import decoders, encoders, kernels
from graphmae.batching import Batch
from graphmae.config import Train
from graphmae.encoders import checkpointed
from graphmae.masking.nodes import MaskedNodes, NodeMask
from graphmae.methods import GraphMAE, Method
from graphmae.runtime.device import autocasting, numerics
from graphmae.training import Journal, Ranks, Trainer, pretrain_model

pytestmark = pytest.mark.gpu
CUDA = torch.device("cuda")


def batch_of(nodes: int, width: int) -> Batch:
    torch.manual_seed(1)
    edges = torch.randint(nodes, (2, 8 * nodes), device=CUDA)
    return Batch(torch.rand(nodes, width, device=CUDA), kernels.adjacency(edges, nodes))


class Halves(NodeMask):
    """Every other node."""

    def draw_in(self, batch: Batch) -> MaskedNodes:
        return MaskedNodes.of(torch.arange(0, len(batch.x), 2, device=CUDA), len(batch.x))


def model_of(layers: int = 3, norm: str = "layer", width: int = 64, dropout: float = 0.3) -> GraphMAE:
    torch.manual_seed(0)
    encoder = encoders.GAT(64, hidden_channels=width, heads=4, num_layers=layers, norm=norm, dropout=dropout)
    return GraphMAE(encoder, decoders.GAT(width, out_channels=64), Halves()).to(CUDA)


def gradients(model: nn.Module, batch: Batch) -> dict[str, Tensor]:
    torch.manual_seed(2)
    model(batch).backward()
    found = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    model.zero_grad()
    return found


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_checkpointed_activations_give_the_same_gradients_with_dropout(norm: str) -> None:
    batch = batch_of(500, 64)
    plain, again = model_of(norm=norm), model_of(norm=norm)
    want = gradients(plain, batch)
    with checkpointed(again):
        got = gradients(again, batch)
    for name, value in want.items():
        assert (got[name] - value).norm() <= 1e-4 * value.norm() + 1e-6, name
    for (name, want_buffer), got_buffer in zip(plain.named_buffers(), again.buffers(), strict=True):
        assert torch.allclose(want_buffer, got_buffer, atol=1e-6), name


def test_checkpointed_activations_take_less_memory() -> None:
    model, batch = model_of(layers=8, width=512), batch_of(50_000, 64)
    peaks = []
    for kept in (True, False):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        if kept:
            gradients(model, batch)
        else:
            with checkpointed(model):
                gradients(model, batch)
        peaks.append(torch.cuda.max_memory_allocated() - before)
    assert peaks[1] < 0.6 * peaks[0], peaks


class Foreign(nn.Module):
    """An encoder of torch's own layers, before one of our kernels."""

    takes_adjacency = True

    def __init__(self) -> None:
        super().__init__()
        self.in_channels, self.out_channels = 64, 64
        self.map = nn.Linear(64, 64)
        self.seen: list[torch.dtype] = []

    def forward(self, x: Tensor, edge_index: kernels.Adjacency) -> Tensor:
        x = self.map(x)
        self.seen.append(x.dtype)
        return kernels.aggregate(kernels.view(edge_index, len(x)), x.unsqueeze(1)).squeeze(1)


def test_autocast_reaches_foreign_layers_and_not_our_kernels() -> None:
    torch.manual_seed(0)
    model = GraphMAE(Foreign(), decoders.GAT(64, out_channels=64), Halves()).to(CUDA)
    batch = batch_of(300, 64)
    with numerics(CUDA, "float32"):
        torch.manual_seed(1)  # the same dropout in both
        want = float(model(batch))
    with numerics(CUDA, "amp-bf16"), autocasting(CUDA, "amp-bf16"):
        torch.manual_seed(1)
        got = model(batch)
        got.backward()
    assert model.encoder.seen[-1] == torch.bfloat16
    assert got.dtype == torch.float32 and float(got) == pytest.approx(want, rel=0.02)
    assert all(torch.isfinite(w.grad).all() for w in model.parameters() if w.grad is not None)


@pytest.mark.parametrize("change", ["precision", "checkpoint_activations", "accumulate"])
def test_training_with_each_option_learns(change: str) -> None:
    data = gm.data.load("synthetic", num_nodes=300)
    options = {"precision": "amp-bf16"} if change == "precision" else {change: 2 if change == "accumulate" else True}
    torch.manual_seed(0)
    encoder = encoders.GAT(data.in_channels, hidden_channels=32, heads=4)
    model: Method = GraphMAE(encoder, decoders.GAT(32, out_channels=data.in_channels, bias="trained"))
    train = Train(epochs=40, lr=1e-2, **options)  # type: ignore[arg-type]
    losses: list[dict[str, float]] = []
    with numerics(CUDA, train.precision):
        pretrain_model(model, data, train, CUDA, journal=Journal(log=losses.append))
    assert len(losses) == 40 and losses[-1]["loss"] < 0.8 * losses[0]["loss"]


@pytest.fixture
def nccl() -> Iterator[Ranks]:
    """A group of one process over NCCL that takes itself for one of two: gradients are not divided by two again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    dist.init_process_group("nccl", rank=0, world_size=1)
    yield Ranks(0, 2, dist.group.WORLD, dist.new_group(backend="gloo"))
    dist.destroy_process_group()


def test_gradients_go_through_nccl(nccl: Ranks) -> None:
    batch, found = batch_of(400, 64), {}
    for name, ranks in (("alone", Ranks()), ("nccl", nccl)):
        model = model_of(norm="batch", dropout=0.0)
        kept: dict[str, Tensor] = {}

        def keep(model: GraphMAE = model, kept: dict[str, Tensor] = kept) -> None:
            kept |= {key: weight.grad.clone() for key, weight in model.named_parameters() if weight.grad is not None}

        trainer = Trainer(
            model, lambda model, batch: model(batch), torch.optim.SGD(model.parameters(), lr=0.0), terms=model.terms,
            ranks=ranks, in_step=keep,
        )  # fmt: skip
        loss = trainer.fit([batch], 1).loss
        found[name] = loss, kept
    assert found["nccl"][0] == pytest.approx(found["alone"][0], rel=1e-5)
    for key, value in found["alone"][1].items():
        assert (found["nccl"][1][key] / 2 - value).norm() <= 1e-3 * value.norm() + 1e-6, key
