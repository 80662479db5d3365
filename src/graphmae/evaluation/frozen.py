"""A linear model on frozen embeddings of molecules: what `graphmae embed` gives a user, scored on an assay."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from ..data.molecules import Assay
from ..inference.embedding import embed_graphs
from .many_targets import logistic, ridge
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
        known = x[train], y[train], strength
        weight, bias = ridge(*known) if is_regression else logistic(*known, STEPS)
        answers = x @ weight.t() + bias
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
