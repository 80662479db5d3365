"""A teacher takes no gradient, follows step by step, and begins where it should."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from graphmae import encoders, methods
from graphmae.batching import Batch
from graphmae.methods.teacher import Teacher


def test_it_follows_with_its_momentum() -> None:
    student = nn.Linear(1, 1, bias=False)
    teacher = Teacher(student, momentum=0.9)
    began = float(teacher.network.weight)
    with torch.no_grad():
        student.weight.fill_(10.0)
    teacher.follow(student)
    assert float(teacher.network.weight) == pytest.approx(0.9 * began + 1.0)
    assert not any(weight.requires_grad for weight in teacher.parameters())


def test_a_rising_momentum_ends_at_one() -> None:
    student = nn.Linear(1, 1, bias=False)
    teacher = Teacher(student, momentum=0.9, rising=True)
    teacher.prepare(4)
    with torch.no_grad():
        student.weight.add_(1.0)
    moved = []
    for _ in range(4):
        gap = float((student.weight - teacher.network.weight).detach())
        teacher.follow(student)
        moved.append(1 - float((student.weight - teacher.network.weight).detach()) / gap)
    assert moved == pytest.approx([0.1 * (1 + math.cos(math.pi * t / 4)) / 2 for t in (1, 2, 3, 4)], abs=1e-5)
    assert int(teacher.step) == 4


def test_bgrl_begins_with_another_teacher_and_gives_it_no_gradient() -> None:
    torch.manual_seed(0)
    model = methods.BGRL(encoders.GCN(5, hidden_channels=4, norm="batch", dropout=0.0))
    pairs = zip(model.encoder.blocks, model.teacher.network.blocks, strict=True)
    assert all(not torch.equal(a.conv.weight, b.conv.weight) for a, b in pairs)
    batch = Batch(torch.rand(9, 5), torch.arange(9).expand(2, -1))
    model(batch).backward()
    assert all(weight.grad is None for weight in model.teacher.parameters())
    before = [weight.clone() for weight in model.teacher.parameters()]
    model.prepare(10)
    model.after_step()
    assert int(model.teacher.step) == 1
    assert any(not torch.equal(a, b) for a, b in zip(before, model.teacher.parameters(), strict=True))


def test_graphmae2s_teacher_is_a_step_behind_at_momentum_0() -> None:
    from graphmae import decoders

    torch.manual_seed(0)
    model = methods.GraphMAE2(
        encoders.GAT(5, hidden_channels=8, heads=2), decoders.GAT(8, out_channels=5), momentum=0.0
    )
    batch = Batch(torch.rand(9, 5), torch.arange(9).expand(2, -1))
    for _ in range(2):
        before = [weight.clone() for weight in model.encoder.parameters()]
        model(batch)
        with torch.no_grad():  # what the optimiser does
            for weight in model.encoder.parameters():
                weight.add_(1.0)
        model.after_step()
        taught = model.teacher.network[0].parameters()
        assert all(torch.equal(a, b) for a, b in zip(taught, before, strict=True))
    model.eval()
    step = int(model.teacher.step)
    model(batch)
    assert int(model.teacher.step) == step  # a look at the loss moves nothing
