"""Whole graphs: a support vector machine in ten folds, and the baselines.

Every row is scored twice: as the recipe reads an embedding (layers, readout, scaling), and as the row itself chooses
to, inside each fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import nn

from .. import kernels
from ..config import Evaluation
from ..data import GraphSet
from ..inference.embedding import READOUTS, embed_graphs, with_every_layer
from ..runtime.errors import DataError
from ..runtime.seed import preserved_randomness
from .evaluator import Evaluator, MakeEncoder, Row, baseline, evaluates
from .graph2vec import graph2vec
from .svm import MANY, FoldScores, Pooled, Reading, check_folds, kernel_folds, summary, svm_folds
from .untrained import settled
from .weisfeiler_lehman import ITERATIONS, wl_kernels


@evaluates("graph")
class GraphEvaluator(Evaluator):
    """A support vector machine in ten folds; the seed shuffles them."""

    rules = ("folds", "chosen")
    dataset: GraphSet

    def __init__(self, dataset: GraphSet, settings: Evaluation, device: torch.device) -> None:
        if dataset.y is None:
            raise DataError(f"{dataset.name} has no labels (y), so it cannot be evaluated")
        self.labels = dataset.y.numpy()
        check_folds(self.labels)
        super().__init__(dataset, settings, device)

    def score(self, encoder: nn.Module, seeds: Sequence[int]) -> list[Row]:
        pooled = pooled_layers(encoder, self.dataset, self.device)
        return [self.score_rows(pooled, seed, layers_of(encoder)) for seed in seeds]

    def score_rows(self, pooled: Pooled, seed: int, layers: str = "last", readout: str = "") -> Row:
        """One representation of every graph, read as the recipe says (or by `readout`) and as each fold chooses."""
        held = Reading(layers, readout or self.settings.readout, self.settings.standardize)
        chooses = self.settings.choose or self.settings.rule == "chosen"
        readings = pooled.readings() if chooses else [held]
        return _row(svm_folds(pooled, self.labels, seed, readings, held), held)


@baseline("graph", "raw")
def raw(evaluator: GraphEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The features themselves, pooled."""
    pooled = pooled_features(evaluator.dataset)
    return [evaluator.score_rows(pooled, seed) for seed in seeds]


@baseline("graph", "untrained")
def untrained(evaluator: GraphEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The same encoder as it was initialised, another one for every seed."""
    rows = []
    for seed in seeds:
        with preserved_randomness(seed):
            rows += evaluator.score(settled(make_encoder(), evaluator.dataset, evaluator.device), [seed])
    return rows


@baseline("graph", "wl")
def weisfeiler_lehman(evaluator: GraphEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The Weisfeiler–Lehman subtree kernel."""
    kernels_of = {Reading("-", f"{steps} steps"): kernel for steps, kernel in enumerate(_wl(evaluator.dataset))}
    held = Reading("-", f"{ITERATIONS} steps")
    return [_row(kernel_folds(kernels_of, evaluator.labels, seed, held), held) for seed in seeds]


@baseline("graph", "graph2vec", fixed=True)
def graph_to_vector(evaluator: GraphEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """Rows learned from Weisfeiler–Lehman words, for each seed anew."""
    rows = ((seed, graph2vec(evaluator.dataset, seed)) for seed in seeds)  # of graphs: there is nothing to pool
    return [evaluator.score_rows(Pooled({"mean": found[None]}), seed, readout="mean") for seed, found in rows]


def layers_of(encoder: nn.Module) -> str:
    """Which layers are the encoder's embedding."""
    return str(encoder.output) if getattr(encoder, "num_outputs", 0) else "last"


def _row(folds: Sequence[FoldScores], held: Reading) -> Row:
    """`folds` is the recipe's reading, `chosen` the row's own choice; what each fold chose and by what is kept."""
    scores = summary(folds, held)
    if len(folds[0].inner) > 1:
        own = summary(folds)
        scores |= {"chosen": own["folds"], "inner-chosen": own["inner"]}
    details: dict[str, Any] = {
        "held": str(held),
        "held-test": [_percent(fold.test[held]) for fold in folds],
        "held-inner": [_percent(fold.inner[held]) for fold in folds],
        "chosen": [str(fold.chosen) for fold in folds],
        "chosen-test": [_percent(fold.test[fold.chosen]) for fold in folds],
        "chosen-inner": [_percent(fold.inner[fold.chosen]) for fold in folds],
        "inner": {str(name): [_percent(fold.inner[name]) for fold in folds] for name in folds[0].inner},
    }
    return Row(scores, details)


def _percent(share: float) -> float:
    return round(100 * share, 4)


@lru_cache(maxsize=1)
def _wl(graphs: GraphSet) -> list[np.ndarray]:
    """The kernels of a set do not depend on the seed."""
    return [kernel.astype(np.float32 if len(graphs) > MANY else np.float64) for kernel in wl_kernels(graphs)]


def pooled_layers(encoder: nn.Module, graphs: GraphSet, device: torch.device) -> Pooled:
    """Every layer of the encoder under every readout."""
    deep, count = with_every_layer(encoder)
    return _apart(embed_graphs(deep, graphs, READOUTS, device), count)


def pooled_features(graphs: GraphSet, chunk: int = 256) -> Pooled:
    """The features themselves under every readout."""
    rows = []
    for first in range(0, len(graphs), chunk):
        ptr = graphs.node_ptr[first : first + chunk + 1]
        x = graphs.features(slice(int(ptr[0]), int(ptr[-1])))
        rows.append(torch.cat([kernels.pool(x, ptr - ptr[0], way) for way in READOUTS], dim=1))
    return _apart(torch.cat(rows), 1)


def _apart(rows: torch.Tensor, layers: int) -> Pooled:
    """[graphs, readouts · layers · channels] → the blocks."""
    parts = rows.view(len(rows), len(READOUTS), layers, -1).permute(1, 2, 0, 3).numpy()
    return Pooled(dict(zip(READOUTS, parts, strict=True)))
