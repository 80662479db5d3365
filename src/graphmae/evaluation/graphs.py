"""The rows of a comparison table for whole graphs. Every row is scored twice: as the recipe reads an embedding (layers,
readout, scaling), and as the row itself chooses to, inside each fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from .. import kernels
from ..config import Evaluation
from ..data import GraphSet
from ..encoders import StackedEncoder
from ..inference.embedding import READOUTS, embed_graphs, every_layer
from ..runtime.errors import DataError
from ..runtime.seed import preserved_randomness
from .svm import MANY, FoldScores, Pooled, Reading, kernel_folds, summary, svm_folds
from .untrained import settle_norms
from .weisfeiler_lehman import ITERATIONS, wl_kernels

Scores = dict[str, float]


class GraphRows(NamedTuple):
    """Scores of every row, and what its folds found."""

    rows: dict[str, Scores]
    folds: dict[str, dict[str, Any]]


def judge_graphs(
    encoder: nn.Module,
    make_encoder: Callable[[], nn.Module],
    graphs: GraphSet,
    config: Evaluation,
    seed: int,
    device: torch.device,
) -> GraphRows:
    """The pre-trained encoder and every baseline asked for: row name → scores.

    `seed` shuffles the folds and initialises the untrained encoder. Randomness outside is left alone.
    """
    if graphs.y is None:
        raise DataError(f"{graphs.name} has no labels (y), so it cannot be evaluated")
    labels = graphs.y.numpy()
    out = GraphRows({}, {})

    def score(row: str, pooled: Pooled, layers: str = "last") -> None:
        held = Reading(layers, config.readout, config.standardize)
        readings = pooled.readings() if config.choose or config.rule == "chosen" else [held]
        _record(out, row, svm_folds(pooled, labels, seed, readings, held), held)

    with preserved_randomness(seed):
        layers = encoder.output if isinstance(encoder, StackedEncoder) else "last"
        score("pretrained", pooled_layers(encoder, graphs, device), layers)
        if "raw" in config.baselines:
            score("raw", pooled_features(graphs))
        if "untrained" in config.baselines:
            fresh = settle_norms(make_encoder(), graphs, device)
            score("untrained", pooled_layers(fresh, graphs, device), layers)
        if "wl" in config.baselines:
            given = {Reading("-", f"{steps} steps"): kernel for steps, kernel in enumerate(_wl(graphs))}
            held = Reading("-", f"{ITERATIONS} steps")
            _record(out, "wl", kernel_folds(given, labels, seed, held), held)
    return out


def _record(out: GraphRows, row: str, folds: Sequence[FoldScores], held: Reading) -> None:
    """`folds` is the recipe's reading, `chosen` the row's own choice; what each fold chose and by what is kept."""
    out.rows[row] = summary(folds, held)
    if len(folds[0].inner) > 1:
        mine = summary(folds)
        out.rows[row] |= {"chosen": mine["folds"], "inner-chosen": mine["inner"]}
    out.folds[row] = {
        "held": str(held),
        "held-test": [_percent(fold.test[held]) for fold in folds],
        "held-inner": [_percent(fold.inner[held]) for fold in folds],
        "chosen": [str(fold.chosen) for fold in folds],
        "chosen-test": [_percent(fold.test[fold.chosen]) for fold in folds],
        "chosen-inner": [_percent(fold.inner[fold.chosen]) for fold in folds],
        "inner": {str(name): [_percent(fold.inner[name]) for fold in folds] for name in folds[0].inner},
    }


def _percent(share: float) -> float:
    return round(100 * share, 4)


@lru_cache(maxsize=1)
def _wl(graphs: GraphSet) -> list[np.ndarray]:
    """The kernels of a set do not depend on the seed."""
    return [kernel.astype(np.float32 if len(graphs) > MANY else np.float64) for kernel in wl_kernels(graphs)]


def pooled_layers(encoder: nn.Module, graphs: GraphSet, device: torch.device) -> Pooled:
    """Every layer of the encoder under every readout."""
    with every_layer(encoder) as count:
        rows = embed_graphs(encoder, graphs, READOUTS, device)
    return _apart(rows, count)


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
