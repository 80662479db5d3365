"""The rows of a comparison table: pre-trained, and the three that keep it honest."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..config import Evaluation
from ..data import NodeDataset
from ..embedding import embed_graph
from ..runtime.seed import preserved_randomness
from .clustering import cluster_scores
from .linear_probe import linear_probe
from .neighbours import neighbour_score
from .supervised import supervised_scores


def representation_scores(
    dataset: NodeDataset, per_graph: list[Tensor], config: Evaluation, seed: int, device: torch.device
) -> dict[str, float]:
    """Linear probe by both rules, k-NN and (for single labels) k-means, on one representation of every node."""
    train, val, test = (dataset.gather(per_graph, split) for split in ("train", "val", "test"))
    classes = dataset.num_classes
    scores = linear_probe(train, val, test, classes, config, seed, device)
    scores["knn"] = neighbour_score(train, test, classes)
    if not dataset.multilabel:
        scores |= cluster_scores(*test, classes, seed)
    return scores


def judge(
    encoder: nn.Module,
    make_encoder: Callable[[], nn.Module],
    dataset: NodeDataset,
    config: Evaluation,
    seed: int,
    device: torch.device,
) -> dict[str, dict[str, float]]:
    """Scores of the pre-trained encoder and of every baseline asked for: row name → scores.

    `make_encoder` gives a fresh encoder of the same shape. Randomness outside is left alone.
    """
    rows: dict[str, dict[str, float]] = {}

    def embedded(module: nn.Module) -> list[Tensor]:
        return [embed_graph(module, graph, device) for graph in dataset.graphs]

    with preserved_randomness(seed):
        rows["pretrained"] = representation_scores(dataset, embedded(encoder), config, seed, device)
        if "raw" in config.baselines:
            raw = [graph.x for graph in dataset.graphs]
            rows["raw"] = representation_scores(dataset, raw, config, seed, device)
        if "untrained" in config.baselines:
            rows["untrained"] = representation_scores(dataset, embedded(make_encoder()), config, seed, device)
        if "supervised" in config.baselines:
            rows["supervised"] = supervised_scores(make_encoder(), dataset, config, seed, device)
    return rows
