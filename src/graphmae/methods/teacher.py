"""A slowly moving copy of a network, for methods that predict what it says."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn

from .. import kernels


def another(network: nn.Module) -> nn.Module:
    """A network of the same shape with initial weights of its own."""
    made = copy.deepcopy(network)
    for part in made.modules():
        if callable(reset := getattr(part, "reset_parameters", None)):
            reset()
    return made


class Teacher(nn.Module):
    """`network` as it was a while ago: after every step w ← m·w + (1 − m)·(the student's weight).

    With `rising`, m goes from `momentum` to 1 along a cosine over all T steps: m_t = 1 − (1 − m) (1 + cos(πt/T)) / 2.
    Its weights take no gradient; its batch norms have statistics of their own. How many steps it has followed is kept
    with its weights, so that a resumed training goes on exactly.

    Args:
        fresh: begin with weights of its own, not the student's.
    """

    step: torch.Tensor
    steps: torch.Tensor

    def __init__(self, student: nn.Module, momentum: float, rising: bool = False, fresh: bool = False) -> None:
        super().__init__()
        network = another(student) if fresh else copy.deepcopy(student)
        self.network = network.requires_grad_(False)
        self.momentum, self.rising = momentum, rising
        self.register_buffer("step", torch.zeros(()))
        self.register_buffer("steps", torch.ones(()))

    def prepare(self, steps: int) -> None:
        self.steps.fill_(steps)

    @torch.no_grad()
    def follow(self, student: nn.Module) -> None:
        """One move towards the student. Nothing here waits for the device, so it can be recorded."""
        self.step += 1
        away = self.step.new_full((), 1 - self.momentum)
        if self.rising:
            away = away * (1 + torch.cos(math.pi * self.step / self.steps)) / 2
        for mine, theirs in zip(self.network.parameters(), student.parameters(), strict=True):
            mine.lerp_(theirs, away.to(mine.dtype))

    def forward(self, x: torch.Tensor, edges: torch.Tensor | kernels.Adjacency) -> torch.Tensor:
        with torch.no_grad():
            return kernels.encode(self.network, x, edges)
