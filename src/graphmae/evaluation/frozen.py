"""A linear model on frozen embeddings of molecules: what `graphmae embed` gives a user, scored on an assay."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.molecules import Assay
from ..inference.embedding import embed_graphs
from .metrics import regression_errors, roc_auc

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # scikit-learn's C: the weight of the data against that of small weights
STEPS = 200


def frozen_scores(encoder: nn.Module, assay: Assay, readout: str, device: torch.device) -> dict[str, float]:
    """Embeddings standardised on the training molecules, one model per target; C is the one best on validation.

    The same by both rules, for there are no epochs.
    """
    rows = embed_graphs(encoder, assay.graphs(), readout.split("+"), device)
    train, val, test = (torch.from_numpy(assay.split[part]) for part in ("train", "val", "test"))
    spread, middle = torch.std_mean(rows[train], dim=0, correction=0)
    x = ((rows - middle) / torch.where(spread > 0, spread, 1.0)).to(device, torch.float64)
    y = torch.from_numpy(np.asarray(assay.targets)).to(device, torch.float64)
    truth = torch.from_numpy(np.asarray(assay.scored)).to(device)
    is_regression = assay.kind == "regression"
    tried: list[tuple[float, float, float]] = []  # (how good on validation, test score, mean absolute error)
    for strength in STRENGTHS:
        answers = (_ridge if is_regression else _logistic)(x[train], y[train], strength, x)
        if is_regression:
            squared, _ = regression_errors(answers[val], truth[val])
            error, absolute = regression_errors(answers[test], truth[test])
            tried.append((-float(squared), float(error), float(absolute)))
        else:
            on_val, on_test = (float(roc_auc(answers[part], truth[part]).nanmean()) for part in (val, test))
            tried.append((on_val, on_test, 0.0))
    quality, found, mae = max(tried, key=lambda scores: scores[0])  # the first, the smallest C, among equals
    validation = -quality if is_regression else quality
    out = {"last": found, "best-validation": found, "validation-last": validation, "validation-best": validation}
    return {**out, "mae": mae} if is_regression else out


def _logistic(x: Tensor, y: Tensor, strength: float, others: Tensor) -> Tensor:
    """Logits [len(others), targets] of logistic regressions, all targets at once; NaN in `y` [N, targets]: unknown."""
    known = ~y.isnan()
    count = known.sum(0).clamp(min=1)
    weight = torch.zeros(y.size(1), x.size(1), dtype=x.dtype, device=x.device, requires_grad=True)
    bias = torch.zeros(y.size(1), dtype=x.dtype, device=x.device, requires_grad=True)
    target = y.nan_to_num(0.0)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=STEPS, line_search_fn="strong_wolfe", tolerance_grad=1e-7)

    def loss() -> Tensor:
        optimizer.zero_grad()
        each = F.binary_cross_entropy_with_logits(x @ weight.t() + bias, target, reduction="none") * known
        total = ((each.sum(0) + weight.square().sum(1) / (2 * strength)) / count).sum()
        total.backward()
        return total

    optimizer.step(loss)
    with torch.no_grad():
        return others @ weight.t() + bias


def _ridge(x: Tensor, y: Tensor, strength: float, others: Tensor) -> Tensor:
    """Predictions [len(others), targets] of ridge regressions, each on the rows where its target is known."""
    out = []
    for target in y.t():
        rows, known = x[~target.isnan()], target[~target.isnan()]
        middle = known.mean() if len(known) else target.new_zeros(())
        gram = rows.t() @ rows + torch.eye(x.size(1), dtype=x.dtype, device=x.device) / strength
        out.append(others @ torch.linalg.solve(gram, rows.t() @ (known - middle)) + middle)
    return torch.stack(out, dim=1)
