"""Adam and the two published schedules."""

from __future__ import annotations

import math

import torch
from torch import nn


def make_optimizer(module: nn.Module, lr: float, weight_decay: float) -> torch.optim.Adam:
    """Adam(0.9, 0.999, 1e-8) with L2 weight decay on every parameter, as published.

    On CUDA it is one fused kernel whose rate lives on the device, so that a recorded step can read it.
    """
    parameters = list(module.parameters())
    if parameters and parameters[0].is_cuda:
        rate = torch.tensor(lr, device=parameters[0].device)
        return torch.optim.Adam(parameters, lr=rate, weight_decay=weight_decay, fused=True, capturable=True)
    return torch.optim.Adam(parameters, lr=lr, weight_decay=weight_decay, fused=bool(parameters))


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Change the learning rate in place."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def schedule_factor(schedule: str, epoch: int, epochs: int) -> float:
    """What the learning rate is multiplied with in `epoch` (from 0): cosine decay without warm-up, or 1.

    >>> schedule_factor("cosine", 0, 100), schedule_factor("cosine", 50, 100)
    (1.0, 0.5)
    """
    return 0.5 * (1 + math.cos(math.pi * epoch / epochs)) if schedule == "cosine" else 1.0
