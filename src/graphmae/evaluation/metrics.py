"""Accuracy and micro-F1, in percent."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def score(logits: Tensor, y: Tensor) -> Tensor:
    """Accuracy for class numbers [N], micro-F1 for label matrices [N, C]; a 0-d tensor on the same device.

    >>> float(score(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0])))
    50.0
    """
    if y.dim() == 1:
        return 100 * (logits.argmax(1) == y).double().mean()
    guess, truth = logits > 0, y > 0
    hits = (guess & truth).sum().double()
    return 100 * 2 * hits / (guess.sum() + truth.sum()).clamp(min=1)


def classification_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy for class numbers, binary cross-entropy for label matrices."""
    return F.cross_entropy(logits, y) if y.dim() == 1 else F.binary_cross_entropy_with_logits(logits, y)


def by_rule(validation: list[Tensor], test: list[Tensor]) -> dict[str, float]:
    """Test score at the last epoch and at the best validation epoch, with their validation scores."""
    val, tests = torch.stack(validation).tolist(), torch.stack(test).tolist()
    best = max(range(len(val)), key=val.__getitem__)
    return {
        "last": tests[-1],
        "best-validation": tests[best],
        "validation-last": val[-1],
        "validation-best": val[best],
    }
