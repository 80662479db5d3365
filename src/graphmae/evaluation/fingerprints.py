"""What every model of molecules has to compare with: fingerprints and a linear model, or a forest."""

from __future__ import annotations

import hashlib
import logging
import time

import numpy as np
import scipy.sparse
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from ..data.molecules import Assay
from .many_targets import MOSTLY_ZERO
from .metrics import regression_errors, roc_auc

FINGERPRINT_ROWS = ("ecfp-linear", "ecfp-forest")
TREES = 100
MANY_ROWS = 5_000  # above which forests are grown on what is not zero alone, where few values are not
logger = logging.getLogger("graphmae")


def fingerprint_scores(assay: Assay, row: str) -> dict[str, float]:
    """One model per target, fitted on the training molecules; the same by both rules, for there are no epochs.

    Made once for a set, its targets and its split, and kept beside the molecules.
    """
    text = repr((row, TREES, assay.kind, assay.names)).encode()
    parts = (assay.split[part].tobytes() for part in ("train", "val", "test"))
    digest = hashlib.sha256(b"".join([text, assay.targets.tobytes(), *parts])).hexdigest()[:16]
    validation, test, absolute = assay.store.derived(f"{row}-{digest}", lambda: _scores(assay, row)).tolist()
    scores = {"last": test, "best-validation": test, "validation-last": validation, "validation-best": validation}
    return scores if assay.kind == "classification" else {**scores, "mae": absolute}


def _scores(assay: Assay, row: str) -> np.ndarray:
    """[validation, test, mean absolute error on test]."""
    bits = assay.fingerprints()
    features = scipy.sparse.csr_matrix(bits) if row == "ecfp-linear" else bits
    train = assay.split["train"]
    out = np.full(assay.targets.shape, np.nan)
    others = np.concatenate([assay.split["val"], assay.split["test"]])
    shown = time.monotonic()
    for column, values in enumerate(assay.targets.T):
        known = train[~np.isnan(values[train])]
        if len(np.unique(values[known])) < 2:
            out[others, column] = 0.0 if not len(known) else values[known[0]]
            continue
        model = _model(row, assay.kind)
        model.fit(features[known] if row == "ecfp-linear" else by_column(features[known]), values[known])
        rows = features[others]
        out[others, column] = model.predict_proba(rows)[:, 1] if assay.kind == "classification" else model.predict(rows)
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            logger.info("%s, %s: %d of %d targets", assay.name, row, column + 1, len(assay.names))
    guess, truth = torch.from_numpy(out), torch.from_numpy(assay.scored)
    found = []
    for part in ("val", "test"):
        rows = torch.from_numpy(assay.split[part])
        if assay.kind == "regression":
            squared, absolute = regression_errors(guess[rows], truth[rows])
            found.append(float(squared))
        else:
            found.append(float(roc_auc(guess[rows], truth[rows]).nanmean()))
    return np.array([*found, float(absolute) if assay.kind == "regression" else np.nan])


def by_column(x: np.ndarray) -> np.ndarray | scipy.sparse.csc_matrix:
    """The same table as forests read it fastest: by column, and of many rows that are mostly zero only what is not.

    For 40,000 fingerprints that is five to ten times faster, for 1,500 it would be slower. Classes get the same trees.
    Forests of numbers break ties between columns differently, so their trees are others.
    """
    if len(x) > MANY_ROWS and np.count_nonzero(x) < x.size * MOSTLY_ZERO:
        return scipy.sparse.csc_matrix(x)
    return np.asfortranarray(x)


def _model(row: str, kind: str) -> LogisticRegression | Ridge | RandomForestClassifier | RandomForestRegressor:
    if row == "ecfp-linear":
        return LogisticRegression(solver="liblinear") if kind == "classification" else Ridge()
    forest = RandomForestClassifier if kind == "classification" else RandomForestRegressor
    return forest(TREES, n_jobs=-1, random_state=0)
