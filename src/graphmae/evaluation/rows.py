"""The rows of a comparison table for nodes: the pre-trained encoder and its baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ..config import Evaluation
from ..data import NodeDataset
from ..inference.embedding import embed_graph
from ..runtime.seed import preserved_randomness
from .clustering import cluster_scores
from .linear_model import linear_model_score
from .linear_probe import linear_probes
from .neighbours import neighbour_score
from .supervised import supervised_scores
from .untrained import settle_norms

Scores = dict[str, float]


def representation_scores(
    dataset: NodeDataset, per_graph: list[Tensor], config: Evaluation, seeds: Sequence[int], device: torch.device
) -> list[Scores]:
    """Linear probe by both rules, k-NN and, for single labels, a converged linear model and k-means, on one
    representation of every node."""
    train, val, test = (dataset.gather(per_graph, split) for split in ("train", "val", "test"))
    classes = dataset.num_classes
    sizes = [int(mask.sum()) for _, mask in dataset.splits["train"]]
    found = linear_probes(train, val, test, classes, config, seeds, device, sizes)
    nearest = neighbour_score(train, test, classes)
    wanted = config.converged and not dataset.multilabel
    converged = linear_model_score(train, val, test) if wanted else None
    for seed, scores in zip(seeds, found, strict=True):
        scores["knn"] = nearest
        if converged is not None:
            scores["converged"] = converged
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
    raw: list[Scores] | None = None,
) -> list[dict[str, Scores]]:
    """For every seed, the scores of the pre-trained encoder and of every baseline asked for: row name → scores.

    `make_encoder` gives a fresh encoder of the same shape; `raw` are the scores of the raw features where they are
    known. Randomness outside is left alone.
    """

    def embedded(module: nn.Module) -> list[Tensor]:
        return [embed_graph(module, graph, device) for graph in dataset.graphs]

    found = {"pretrained": representation_scores(dataset, embedded(encoder), config, seeds, device)}
    if "raw" in config.baselines:
        found["raw"] = raw_scores(dataset, config, seeds, device) if raw is None else raw
    tables: list[dict[str, Scores]] = [
        {name: rows[number] for name, rows in found.items()} for number in range(len(seeds))
    ]
    for table, seed in zip(tables, seeds, strict=True):
        with preserved_randomness(seed):
            if "untrained" in config.baselines:
                fresh = embedded(settle_norms(make_encoder(), dataset, device))
                table["untrained"] = representation_scores(dataset, fresh, config, [seed], device)[0]
            if "supervised" in config.baselines:
                table["supervised"] = supervised_scores(make_encoder(), dataset, config, seed, device)
    return tables


def raw_scores(dataset: NodeDataset, config: Evaluation, seeds: Sequence[int], device: torch.device) -> list[Scores]:
    """The features themselves, one probe per seed."""
    return representation_scores(dataset, [graph.x for graph in dataset.graphs], config, seeds, device)


def judge(
    encoder: nn.Module,
    make_encoder: Callable[[], nn.Module],
    dataset: NodeDataset,
    config: Evaluation,
    seed: int,
    device: torch.device,
    raw: Scores | None = None,
) -> dict[str, Scores]:
    """The table of one seed."""
    known = None if raw is None else [raw]
    return judge_seeds(encoder, make_encoder, dataset, config, [seed], device, known)[0]
