"""A norm and the activation after it: one module, because together they are one pass over the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

from .. import kernels
from ..runtime.errors import ConfigError, unknown

norms: dict[str, Callable[[int], nn.Module]] = {
    "none": lambda channels: nn.Identity(),
    "batch": nn.BatchNorm1d,
    "layer": nn.LayerNorm,
}
activations: dict[str, Callable[[], nn.Module]] = {
    "none": nn.Identity,
    "prelu": nn.PReLU,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "leaky-relu": nn.LeakyReLU,
    "tanh": nn.Tanh,
}


_again = ContextVar("_again", default=False)


@contextmanager
def computing_again() -> Iterator[None]:
    """A block that repeats a forward pass for its gradients: averages of batch norms are not moved once more."""
    before = _again.set(True)
    try:
        yield
    finally:
        _again.reset(before)


class PReLU(nn.PReLU):
    """torch.nn.PReLU, computed by our kernel."""

    def forward(self, x: Tensor) -> Tensor:
        return kernels.prelu(x, self.weight)


class NormAct(nn.Module):
    """activation(norm(x)).

    Attributes:
        slope: [1] of the activation below zero where it is a constant.
        add_up: a function, with a gradient, that adds up numbers over several processes; a batch norm then looks at the
            rows of all of them. None: there is one process, or each has statistics of its own.

    >>> NormAct("batch", 8, "prelu")(torch.randn(5, 8)).shape
    torch.Size([5, 8])
    """

    slope: Tensor | None
    add_up: Callable[[Tensor], Tensor] | None = None

    def __init__(self, norm: str, channels: int, activation: str) -> None:
        super().__init__()
        if norm not in norms:
            raise ConfigError(unknown("norm", norm, norms))
        if activation not in activations:
            raise ConfigError(unknown("activation", activation, activations))
        self.norm, self.activation = norms[norm](channels), activations[activation]()
        # Below zero these three are a line, and fit into the norm's own pass.
        constant = {"relu": 0.0, "none": 1.0}.get(activation)
        self.is_linear_below = constant is not None or activation == "prelu"
        self.register_buffer("slope", None if constant is None else torch.tensor([constant]), persistent=False)

    @property
    def takes_shift(self) -> bool:
        """Whether a bias before it and a dropout after it fit into the same pass."""
        plain = isinstance(self.norm, nn.Identity) and isinstance(self.activation, nn.PReLU | nn.ReLU)
        return plain or (isinstance(self.norm, nn.LayerNorm) and self.is_linear_below)

    def forward(
        self, x: Tensor, valid: Tensor | None = None, shift: Tensor | None = None, dropout: float = 0.0
    ) -> Tensor:
        """`x` [N, channels]; rows after `valid` (a number on the device) only pad.

        `shift` [channels] is added first; `dropout` follows, in either mode.
        """
        norm, p = self.norm, dropout
        if self.takes_shift and isinstance(norm, nn.LayerNorm):
            return kernels.layer_norm(x, norm.weight, norm.bias, self._slope(x), norm.eps, shift, p)
        if self.takes_shift:
            return kernels.prelu(x, self._slope(x), shift, p)
        x = x if shift is None else x + shift
        if isinstance(norm, nn.BatchNorm1d) and self.training:
            return kernels.dropout(self._batch_norm(norm, x, valid), p, training=True)
        x = norm(x)
        x = kernels.prelu(x, self.activation.weight) if isinstance(self.activation, nn.PReLU) else self.activation(x)
        return kernels.dropout(x, p, training=True)

    def _slope(self, x: Tensor) -> Tensor:
        """[1] what the activation multiplies with below zero; 1 where it is applied afterwards."""
        if isinstance(self.activation, nn.PReLU):
            return self.activation.weight
        return x.new_ones(1) if self.slope is None else self.slope

    def _batch_norm(self, norm: nn.BatchNorm1d, x: Tensor, valid: Tensor | None) -> Tensor:
        if self.add_up is not None:
            return self._norm_of_all(norm, x, self.add_up)
        if x.size(0) < 2:
            raise ConfigError("batch norm needs at least two nodes to train on; use norm = 'layer' or larger batches")
        assert norm.running_mean is not None and norm.running_var is not None and norm.momentum is not None
        running = None if _again.get() else (norm.running_mean, norm.running_var, norm.momentum)
        slope = self._slope(x)
        out, _, _ = kernels.batch_norm(x, norm.weight, norm.bias, slope, norm.eps, valid, running)
        return out if self.is_linear_below else self.activation(out)

    def _norm_of_all(self, norm: nn.BatchNorm1d, x: Tensor, add_up: Callable[[Tensor], Tensor]) -> Tensor:
        """The same over the rows of several processes: their mean first, then their variance around it."""
        assert norm.running_mean is not None and norm.running_var is not None and norm.momentum is not None
        sums = add_up(torch.cat([x.sum(0), x.new_full((1,), len(x))]))
        count = sums[-1].detach()
        mean = sums[:-1] / count
        centred = x - mean
        variance = add_up(centred.square().sum(0)) / count
        if not _again.get():
            with torch.no_grad():
                norm.running_mean.lerp_(mean, norm.momentum)
                norm.running_var.lerp_(variance * (count / (count - 1).clamp(min=1)), norm.momentum)
        out = centred * (variance + norm.eps).rsqrt() * norm.weight + norm.bias
        return kernels.prelu(out, self._slope(x)) if self.is_linear_below else self.activation(out)
