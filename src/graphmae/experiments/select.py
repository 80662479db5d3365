"""Settings chosen by a few labels: short pre-trainings and sets of views, compared by cross-validation on these labels.

Only labels a probe may learn from take part, the training and validation nodes; scores on the others stay fair.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from .. import methods
from ..config import Recipe
from ..data import NodeDataset
from ..data.splits import with_split
from ..encoders import Composed
from ..evaluation.linear_model import Logistic
from ..inference.embedding import embed_graph
from ..methods import Method
from ..runtime.errors import InputError
from ..training import quiet
from ..training.progress import Display
from . import pretrain as pretraining
from .folder import RunFolder

logger = logging.getLogger("graphmae")
# Settings that are tried beside the recipe's own, which comes first.
SETTINGS: tuple[tuple[str, ...], ...] = (
    (),
    ("method.name=joint",),
    ("method.name=cca-ssg",),
    ("encoder.name=gcn", "decoder.name=gcn"),
)
EPOCHS = 50  # of each short pre-training, at most
FOLDS = 5
MOST_LABELS = 2_000
ERRORS = 2  # standard errors by which another setting must be better than the recipe's own
STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Selected:
    """The recipe that was chosen; why, in a sentence; and every setting with its score."""

    recipe: Recipe
    reason: str
    trials: list[dict[str, Any]]


def select(
    recipe: Recipe,
    dataset: NodeDataset,
    seed: int,
    device: torch.device,
    *,
    folder: RunFolder | None = None,
    display: Display = quiet,
) -> Selected:
    """Of `SETTINGS` and sets of views, what a linear model does best with in five folds of the labels it may see.

    The recipe's own setting stays unless another is better by two standard errors of the difference. With a
    folder the trials are kept there, and not run again by a run that goes on.
    """
    rows, labels = _labels(dataset)
    asked = {"recipe": recipe.to_dict(), "seed": seed, "labels": len(rows)}
    if folder is not None and (known := folder.read_trials()) is not None and known.get("asked") == asked:
        return Selected(recipe.override(*known["chosen"]), known["reason"], known["trials"])
    trials: list[dict[str, Any]] = []
    for number, setting in enumerate(SETTINGS):
        short = recipe.override(*setting, f"train.epochs={min(EPOCHS, recipe.train.epochs)}", "train.patience=0")
        methods.check(short)
        label = f"setting {number + 1} of {len(SETTINGS)}"
        model = pretraining.pretrain_once(short, dataset, seed, device, display=display, label=label)
        tried = [
            {"settings": list(setting), "views": views, "score": 100 * float(folds.mean()), "folds": folds.tolist()}
            for views, folds in _views_tried(_blocks(model, dataset, rows), labels)
        ]
        trials += tried
        top = max(tried, key=_score)
        name = " ".join(setting) or "as chosen by the data"
        logger.info(
            "  %s: %.1f %% with all views, %.1f %% with %s", name, tried[0]["score"], top["score"], _shown(top["views"])
        )
    best = max(trials, key=_score)
    gain = np.array(best["folds"]) - np.array(trials[0]["folds"])
    if gain.mean() <= ERRORS * gain.std(ddof=1) / len(gain) ** 0.5:
        best = trials[0]
    chosen = list(best["settings"])
    if recipe.embedding.views:
        chosen.append(f"embedding.views={list(best['views'])}")
    reason = (
        f"{' '.join(best['settings']) or 'the recipe chosen by the data'} with {_shown(best['views'])}: "
        f"{best['score']:.1f} % in {FOLDS} folds of {len(rows):,} labels, {trials[0]['score']:.1f} % without a choice; "
        f"best of {len(trials)}, so score it on other labels"
    )
    if folder is not None:
        folder.write_trials({"criterion": "cross-validation", "asked": asked, "chosen": chosen, "reason": reason,
                             "trials": trials})  # fmt: skip
    return Selected(recipe.override(*chosen), reason, trials)


def _labels(dataset: NodeDataset) -> tuple[Tensor, np.ndarray]:
    """([L] nodes whose labels may be used, their classes): at most `MOST_LABELS`, of classes enough for all folds."""
    split: Any = with_split(dataset)
    split.check_labels()
    if split.task != "node" or split.multilabel:
        raise InputError(f"{dataset.name}: settings are selected by classes of single nodes, and this has others")
    if split.further_splits:
        raise InputError(
            f"{dataset.name} has {1 + len(split.further_splits)} splits, and test nodes of one are training nodes of "
            "another: give one split to select settings by (train_mask[:, 0] and so on)"
        )
    y = split.single_graph().y
    mask = split.splits["train"][0][1] | split.splits["val"][0][1]
    rows = mask.nonzero().flatten()
    counts = torch.bincount(y[rows])
    rows = rows[counts[y[rows]] >= FOLDS]
    if len(y[rows].unique()) < 2:
        raise InputError(
            f"{dataset.name}: {int(mask.sum())} labels are too few to select settings by: two classes need "
            f"{FOLDS} each among the training and validation nodes (20 % of all labels)"
        )
    if len(rows) > MOST_LABELS:
        rows = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))[:MOST_LABELS]]
    return rows, y[rows].numpy()


def _blocks(model: Method, dataset: NodeDataset, rows: Tensor) -> dict[str, np.ndarray]:
    """The embedding of these nodes, view by view; what was learned is "learned"."""
    graph = dataset.single_graph()
    if model.views is None:
        return {"learned": embed_graph(model.encoder, graph)[rows].numpy()}
    whole = embed_graph(Composed(model.encoder, model.views), graph)[rows].numpy()
    blocks, begin = {}, 0
    for name, width in zip((*model.views.names, "learned"), model.views.widths, strict=True):
        blocks[name] = whole[:, begin : begin + width]
        begin += width
    return blocks


def _views_tried(blocks: dict[str, np.ndarray], labels: np.ndarray) -> list[tuple[list[str], np.ndarray]]:
    """All views first; then one after the other is left out, as long as that is better. What was learned stays."""
    views = [name for name in blocks if name != "learned"]
    best = _folds(blocks, views, labels)
    tried = [(views, best)]
    while views:
        fewer = [[name for name in views if name != left_out] for left_out in views]
        found = [(each, _folds(blocks, each, labels)) for each in fewer]
        tried += found
        views, score = max(found, key=lambda one: one[1].mean())
        if score.mean() <= best.mean():
            break
        best = score
    return tried


def _folds(blocks: dict[str, np.ndarray], views: Sequence[str], labels: np.ndarray) -> np.ndarray:
    """[FOLDS] accuracy of a logistic regression, with the strength that is best over all folds."""
    x = np.hstack([blocks[name] for name in (*views, "learned")]).astype(np.float64)
    x /= np.sqrt(np.square(x).sum(1).mean()) or 1.0
    accuracy = np.zeros((len(STRENGTHS), FOLDS))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(x, labels)):
        model = Logistic(max_iter=200, warm_start=True)
        for number, strength in enumerate(STRENGTHS):
            model.set_params(C=strength).fit(x[train], labels[train])
            accuracy[number, fold] = model.score(x[test], labels[test])
    found: np.ndarray = accuracy[int(accuracy.mean(1).argmax())]
    return found


def _score(trial: dict[str, Any]) -> float:
    return float(trial["score"])


def _shown(views: Sequence[str]) -> str:
    return " + ".join([*views, "learned"])
