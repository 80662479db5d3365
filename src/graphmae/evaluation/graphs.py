"""The rows of a comparison table for whole graphs: every representation under the same readout, scaling and folds."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from .. import kernels
from ..config import Evaluation
from ..data import GraphSet
from ..embedding import embed_graphs
from ..runtime.errors import DataError
from ..runtime.seed import preserved_randomness
from .svm import svm_scores
from .weisfeiler_lehman import wl_kernel

Scores = dict[str, float]


def judge_graphs(
    encoder: nn.Module,
    make_encoder: Callable[[], nn.Module],
    graphs: GraphSet,
    config: Evaluation,
    seed: int,
    device: torch.device,
) -> dict[str, Scores]:
    """Scores of the pre-trained encoder and of every baseline asked for: row name → scores.

    `seed` shuffles the folds and initialises the untrained encoder. Randomness outside is left alone.
    """
    if graphs.y is None:
        raise DataError(f"{graphs.name} has no labels (y), so it cannot be evaluated")
    labels, readouts = graphs.y.numpy(), config.readout.split("+")

    def scored(rows: torch.Tensor) -> Scores:
        return _scores(svm_scores(rows.numpy(), labels, seed, standardize=config.standardize))

    with preserved_randomness(seed):
        table = {"pretrained": scored(embed_graphs(encoder, graphs, readouts, device))}
        if "raw" in config.baselines:
            table["raw"] = scored(pooled_features(graphs, readouts))
        if "untrained" in config.baselines:
            table["untrained"] = scored(embed_graphs(make_encoder(), graphs, readouts, device))
        if "wl" in config.baselines:
            table["wl"] = _scores(svm_scores(wl_kernel(graphs), labels, seed, precomputed=True))
    return table


def _scores(found: Scores) -> Scores:
    return {"folds": found["accuracy"], "over-folds": found["over-folds"], "inner": found["inner"]}


def pooled_features(graphs: GraphSet, readouts: list[str], chunk: int = 256) -> torch.Tensor:
    """[len(graphs), in_channels · readouts]: the features themselves, pooled."""
    rows = []
    for first in range(0, len(graphs), chunk):
        ptr = graphs.node_ptr[first : first + chunk + 1]
        x = graphs.features(slice(int(ptr[0]), int(ptr[-1])))
        rows.append(torch.cat([kernels.pool(x, ptr - ptr[0], way) for way in readouts], dim=1))
    return torch.cat(rows)
