"""Adam and the published schedules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from .. import kernels

LARGE = 2**15  # numbers in a tensor that is worth a launch of its own


class DeviceAdam(torch.optim.Adam):
    """torch's fused Adam on CUDA, in which large tensors are updated by the whole device; the state is the same."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        large = [
            (tensor, tensor.grad, self._state(tensor), group)
            for group in self.param_groups
            for tensor in group["params"]
            if tensor.grad is not None and _is_large(tensor)
        ]
        if large:
            torch._foreach_add_([state["step"] for _, _, state, _ in large], 1)
        for tensor, grad, state, group in large:
            moments = state["exp_avg"], state["exp_avg_sq"], state["step"]
            settings = group["lr"], group["weight_decay"], group["betas"], group["eps"]
            kernels.adam_step(tensor, grad.contiguous(), *moments, *settings)
            tensor.grad = None  # torch's own step passes over it
        super().step(closure)
        for tensor, grad, _, _ in large:
            tensor.grad = grad

    def _state(self, tensor: Tensor) -> dict[str, Tensor]:
        state = self.state[tensor]
        if not state:
            state["step"] = torch.zeros((), device=tensor.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(tensor), torch.zeros_like(tensor)
        return state


def _is_large(tensor: Tensor) -> bool:
    return tensor.numel() >= LARGE and tensor.is_contiguous() and tensor.dtype == torch.float32


def make_optimizer(module: nn.Module, lr: float, weight_decay: float, name: str = "adam") -> torch.optim.Optimizer:
    """Adam(0.9, 0.999, 1e-8) with L2 weight decay on every parameter, as published; "adamw" decays beside it.

    Parameters that take no gradient, as a teacher's, are left out. On CUDA the rate lives on the device, so that a
    recorded step can read it.
    """
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    group = {"params": weights, "initial_lr": lr}  # the rate a schedule multiplies, exactly
    kind: type[torch.optim.Adam] = torch.optim.AdamW if name == "adamw" else torch.optim.Adam
    if weights and weights[0].is_cuda:
        rate = torch.tensor(lr, device=weights[0].device)
        kind = DeviceAdam if kernels.has("cuda") and name == "adam" else kind
        return kind([group], lr=rate, weight_decay=weight_decay, fused=True, capturable=True)
    return kind([group], lr=lr, weight_decay=weight_decay, fused=bool(weights))


def set_rates(optimizer: torch.optim.Optimizer, rates: Sequence[float]) -> None:
    """Change the learning rate of every group of parameters in place."""
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def make_schedule(name: str, epochs: int, steps_per_epoch: int = 1, warmup: int = 0) -> Callable[[int], float]:
    """Number of finished steps → what the learning rate is multiplied with; as published it changes between epochs.

    "cosine" decays to 0; "step" is 0.3 times what it was after every 30 epochs, as published for BACE; "constant"
    is 1. In the first `warmup` epochs the rate rises evenly, step by step.

    >>> cosine = make_schedule("cosine", epochs=100)
    >>> cosine(0), cosine(50), make_schedule("step", 100, steps_per_epoch=2)(60)
    (1.0, 0.5, 0.3)
    """

    def factor(step: int) -> float:
        if step < warmup * steps_per_epoch:
            return step / (warmup * steps_per_epoch)
        epoch, length = step // steps_per_epoch - warmup, epochs - warmup
        if name == "step":
            return float(0.3 ** (epoch // 30))
        return 0.5 * (1 + math.cos(math.pi * epoch / length)) if name == "cosine" else 1.0

    return factor
