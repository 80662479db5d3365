"""Accuracy, micro-F1 and ROC-AUC in percent; errors of numbers in their own units."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..runtime.compiled import compiled


def score(logits: Tensor, y: Tensor) -> Tensor:
    """Accuracy for class numbers [N], micro-F1 for label matrices [N, C]; a 0-d tensor on the same device.

    `logits` [N, C], or of several classifiers [S, N, C], which gives [S].

    >>> float(score(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0])))
    50.0
    """
    if y.dim() == 1:
        return 100 * (logits.argmax(-1) == y).double().mean(-1)
    guess, truth = logits > 0, y > 0
    hits = (guess & truth).sum((-2, -1)).double()
    return 100 * 2 * hits / (guess.sum((-2, -1)) + truth.sum()).clamp(min=1)


def classification_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy for class numbers, binary cross-entropy for label matrices."""
    return F.cross_entropy(logits, y) if y.dim() == 1 else F.binary_cross_entropy_with_logits(logits, y)


def roc_auc(scores: Tensor, y: Tensor) -> Tensor:
    """[T] area under the ROC curve of every target: `scores` and `y` [N, T], NaN in `y` where nothing is known.

    Ties count half; NaN for targets without both classes.

    >>> roc_auc(torch.tensor([[0.1], [0.4], [0.35], [0.8]]), torch.tensor([[0.0], [0.0], [1.0], [1.0]])).tolist()
    [75.0]
    """
    found = _areas(*(part.detach().double().t().contiguous().cpu().numpy() for part in (scores, y)))
    return torch.from_numpy(found).to(scores.device)


@compiled
def _areas(scores: Any, y: Any) -> Any:
    """[T] from [T, N]: how often a score of a one is above that of a zero, in percent. Only what is known is sorted."""
    out = np.empty(len(scores))
    for target in range(len(scores)):
        known = y[target] == y[target]
        values, ones = scores[target][known], y[target][known] == 1
        order = np.argsort(values)
        doubled, begin = 0, 0  # twice the sum of the places of ones, from 1 on; equal scores share theirs
        while begin < len(order):
            end, count = begin, 0
            while end < len(order) and (end == begin or values[order[end]] == values[order[begin]]):
                count += ones[order[end]]
                end += 1
            doubled += count * (begin + end + 1)
            begin = end
        above, total = float(ones.sum()), float(len(ones))
        pairs = above * (total - above)
        out[target] = 100 * (doubled / 2 - above * (above + 1) / 2) / pairs if pairs else np.nan
    return out


def regression_errors(guess: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """(root mean squared error, mean absolute error), each a mean over targets: [N, T], NaN where unknown."""
    known = ~y.isnan()
    error, count = (guess - y).double().where(known, 0.0), known.sum(0)
    some = count > 0
    squared, absolute = error.square().sum(0) / count, error.abs().sum(0) / count
    return squared.sqrt()[some].mean(), absolute[some].mean()


def by_rule(validation: list[Tensor], test: list[Tensor], lower_is_better: bool = False) -> dict[str, float]:
    """Test score at the last epoch and at the best validation epoch, with their validation scores."""
    val, tests = torch.stack(validation).tolist(), torch.stack(test).tolist()
    best = (min if lower_is_better else max)(range(len(val)), key=val.__getitem__)
    return {
        "last": tests[-1],
        "best-validation": tests[best],
        "validation-last": val[-1],
        "validation-best": val[best],
    }
