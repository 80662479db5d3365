"""Accuracy, micro-F1 and ROC-AUC in percent; errors of numbers in their own units."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


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
    # What is not known goes after everything else, where it changes no rank.
    ranked = scores.double().where(~y.isnan(), torch.inf).t().contiguous()
    order = ranked.sort(dim=1).values
    rank = torch.searchsorted(order, ranked) + torch.searchsorted(order, ranked, right=True) + 1
    ones = (y == 1).t()
    num_ones, num_zeros = ones.sum(1), (y == 0).sum(0)
    above = (rank * ones).sum(1).double() / 2 - num_ones * (num_ones + 1) / 2
    return 100 * above / (num_ones * num_zeros)


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
