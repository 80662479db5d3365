"""The rows of a comparison table: pre-trained, and the three that keep it honest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ..config import Evaluation
from ..data import NodeDataset
from ..embedding import embed_graph
from ..runtime.seed import preserved_randomness
from .clustering import cluster_scores
from .linear_probe import linear_probes
from .neighbours import neighbour_score
from .supervised import supervised_scores

Scores = dict[str, float]


def representation_scores(
    dataset: NodeDataset, per_graph: list[Tensor], config: Evaluation, seeds: Sequence[int], device: torch.device
) -> list[Scores]:
    """Linear probe by both rules, k-NN and (for single labels) k-means, on one representation of every node."""
    train, val, test = (dataset.gather(per_graph, split) for split in ("train", "val", "test"))
    classes = dataset.num_classes
    found = linear_probes(train, val, test, classes, config, seeds, device)
    nearest = neighbour_score(train, test, classes)
    for seed, scores in zip(seeds, found, strict=True):
        scores["knn"] = nearest
        if not dataset.multilabel:
            scores |= cluster_scores(*test, classes, seed)
    return found


def judge_seeds(
    encoder: nn.Module,
    make_encoder: Callable[[], nn.Module],
    dataset: NodeDataset,
    config: Evaluation,
    seeds: Sequence[int],
    device: torch.device,
) -> list[dict[str, Scores]]:
    """For every seed, the scores of the pre-trained encoder and of every baseline asked for: row name → scores.

    `make_encoder` gives a fresh encoder of the same shape. Randomness outside is left alone.
    """

    def embedded(module: nn.Module) -> list[Tensor]:
        return [embed_graph(module, graph, device) for graph in dataset.graphs]

    same_for_all = {"pretrained": embedded(encoder)}
    if "raw" in config.baselines:
        same_for_all["raw"] = [graph.x for graph in dataset.graphs]
    tables: list[dict[str, Scores]] = [{} for _ in seeds]
    for name, rows in same_for_all.items():
        for table, scores in zip(tables, representation_scores(dataset, rows, config, seeds, device), strict=True):
            table[name] = scores
    for table, seed in zip(tables, seeds, strict=True):
        with preserved_randomness(seed):
            if "untrained" in config.baselines:
                fresh = embedded(make_encoder())
                table["untrained"] = representation_scores(dataset, fresh, config, [seed], device)[0]
            if "supervised" in config.baselines:
                table["supervised"] = supervised_scores(make_encoder(), dataset, config, seed, device)
    return tables


def judge(
    encoder: nn.Module,
    make_encoder: Callable[[], nn.Module],
    dataset: NodeDataset,
    config: Evaluation,
    seed: int,
    device: torch.device,
) -> dict[str, Scores]:
    """The table of one seed."""
    return judge_seeds(encoder, make_encoder, dataset, config, [seed], device)[0]
