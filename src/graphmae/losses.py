"""Step 5: how far a reconstruction is from the features. Each loss takes (prediction [M, d], target [M, d])."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import kernels
from .layers import BagRows, Factored
from .registry import Registry
from .runtime.errors import ConfigError, DataError
from .runtime.promises import Promising

REGISTRY: Registry[nn.Module] = Registry("loss")
register, build, names = REGISTRY.register, REGISTRY.build, REGISTRY.names


class Loss(Promising, nn.Module):
    """Reconstructed and true features of the masked nodes in, a number out. Any `nn.Module` with `forward` will do.

    Attributes:
        leaves_out_zeros: rows of zeros do not count, so that batches can be filled up with them.
        takes_factored: whether a prediction may come as a product that is not multiplied out.
        records_steps: whether a step with it can be recorded on CUDA: nothing in it waits for the device.
        terms: how many rows the last result is the mean of, a number or a tensor on the device. Where several batches
            make one step, each counts by it; None: not known, and each counts by its nodes.
        left_out: a function that counts the rows of features that can never be scored; None: all can.
        check: a function that refuses features the loss cannot be computed on; None: any will do.
    """

    promises = {  # noqa: RUF012
        "forward": ("leaves_out_zeros", "takes_factored", "records_steps", "left_out", "check")
    }

    terms: Tensor | int | None = None
    leaves_out_zeros: bool = False
    takes_factored: bool = False
    records_steps: bool = False
    left_out: Any = None
    check: Any = None

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Both [M, d] → a scalar."""
        raise TypeError(f"{type(self).__name__} must define forward(prediction, target)")


@REGISTRY.register("scaled-cosine")
class ScaledCosineError(Loss):
    """mean_i (1 − cos(x_i, z_i))^γ, the paper's loss.

    A target of zeros has no direction, so it is left out of the mean.

    >>> x = torch.eye(3)
    >>> float(ScaledCosineError(gamma=2)(x, x))
    0.0
    """

    def __init__(self, gamma: float = 3.0) -> None:
        super().__init__()
        if not gamma >= 1:
            raise ConfigError(f"loss.gamma must be at least 1, not {gamma}")
        self.gamma = gamma

    takes_factored = True
    leaves_out_zeros = True
    records_steps = True

    def forward(self, prediction: Tensor | Factored, target: Tensor | BagRows) -> Tensor:
        if isinstance(prediction, Factored) and isinstance(target, BagRows):
            length = target.bags.length.index_select(0, target.rows)
            found = _root(prediction.squared_length())
            cosine = prediction.dot(target) / (_at_least(found) * _at_least(length))
        else:
            assert isinstance(prediction, Tensor) and isinstance(target, Tensor)
            cosine, length = kernels.cosine(prediction, target)
        # Rounding can push the cosine past 1; a fractional power of a negative number is NaN.
        error = (1 - cosine).clamp(min=0).pow(self.gamma)
        loss, self.terms = _mean_over(error, length > 0)
        return loss

    def left_out(self, x: Tensor) -> int:
        """How many rows of `x` could never be scored."""
        return int((x.abs().sum(-1) == 0).sum())


@REGISTRY.register("mse")
class MSE(Loss):
    """mean_i ‖x_i − z_i‖² / d."""

    records_steps = True

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        self.terms = len(prediction)
        return F.mse_loss(prediction, target)


@REGISTRY.register("cross-entropy")
class CrossEntropy(Loss):
    """Cross-entropy against one-hot features: −log softmax(z_i)[argmax x_i]. Rows of zeros are left out."""

    leaves_out_zeros = True
    records_steps = True

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        error = F.cross_entropy(prediction, target.argmax(-1), reduction="none")
        loss, self.terms = _mean_over(error, target.abs().sum(-1) > 0)
        return loss

    def left_out(self, x: Tensor) -> int:
        return int((x.abs().sum(-1) == 0).sum())

    def check(self, x: Tensor) -> None:
        """Refuse features that are not one-hot before training starts."""
        one_hot = ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) <= 1)
        if not one_hot.all():
            raise DataError(
                f"loss 'cross-entropy' needs one-hot features, but {int((~one_hot).sum())} of {len(x)} rows are not; "
                "use loss.name=scaled-cosine or mse"
            )


def _root(square: Tensor) -> Tensor:
    """√, with a gradient of 0 at 0, as a vector's length has."""
    positive = square > 0
    return torch.where(positive, square.where(positive, 1.0).sqrt(), 0.0)


def _at_least(length: Tensor) -> Tensor:
    return length.clamp(min=1e-12)


def _mean_over(error: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of the errors that are kept, and how many those are."""
    count = keep.sum()
    return torch.where(keep, error, 0.0).sum() / count.clamp(min=1), count
