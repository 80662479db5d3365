"""Nodes: a linear probe on frozen embeddings by both rules, further checks of them, and the baselines."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from .. import kernels
from ..data import NodeDataset
from ..inference.embedding import NodeReading, propagated
from ..inference.large import embed_whole
from ..runtime.seed import preserved_randomness
from .clustering import cluster_scores
from .evaluator import Evaluator, MakeEncoder, Row, Scores, baseline, evaluates
from .linear_model import linear_model_score
from .linear_probe import linear_probes
from .neighbours import neighbour_score
from .netmf import netmf
from .supervised import supervised_scores
from .untrained import settled


@evaluates("node")
class NodeEvaluator(Evaluator):
    """The encoder is fixed; seeds vary the probe."""

    rules = ("last", "best-validation", "converged")
    dataset: NodeDataset

    def score(self, encoder: nn.Module, seeds: Sequence[int]) -> list[Row]:
        reading = NodeReading(self.settings.layers, self.settings.smooth, self.settings.l2)
        return self.score_rows(embed_whole(encoder, self.dataset, self.device, reading), seeds)

    def score_rows(self, per_graph: list[Tensor], seeds: Sequence[int]) -> list[Row]:
        """Linear probe by both rules, k-NN and, for single labels, a converged linear model and k-means, on one
        representation of every node."""
        return self.over_splits(lambda dataset: self._scores(dataset, per_graph, seeds))

    def _scores(self, dataset: NodeDataset, per_graph: list[Tensor], seeds: Sequence[int]) -> list[Scores]:
        settings = self.settings
        train, val, test = (dataset.gather(per_graph, split) for split in ("train", "val", "test"))
        classes = dataset.num_classes
        sizes = [int(mask.sum()) for _, mask in dataset.splits["train"]]
        probed = linear_probes(train, val, test, classes, settings, seeds, self.device, sizes)
        shared = {"knn": neighbour_score(train, test, classes)}
        if (
            settings.converged
            and not dataset.multilabel
            and (found := linear_model_score(train, val, test)) is not None
        ):
            shared |= found
        rows = []
        for seed, scores in zip(seeds, probed, strict=True):
            clusters = {} if dataset.multilabel else cluster_scores(*test, classes, seed)
            rows.append({**scores, **shared, **clusters})
        return rows


def walks_of(graph: Data, with_features: bool = False) -> Tensor:
    """NetMF of a graph; beside it, of the same mean length, its features averaged over two hops."""
    rows = netmf(graph.edge_index, len(graph.x))
    if not with_features:
        return rows
    both = rows, propagated(graph.x, kernels.edges_of(graph), 2)
    return torch.cat([view / view.square().sum(1).mean().sqrt().clamp(min=1e-12) for view in both], dim=1)


@baseline("node", "raw", fixed=True)
def raw(evaluator: NodeEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The features themselves."""
    if evaluator.dataset.on_disk:
        return evaluator.score_rows([evaluator.dataset.compressed().features], seeds)  # type: ignore[list-item]
    return evaluator.score_rows([graph.x for graph in evaluator.dataset.graphs], seeds)


@baseline("node", "averaged", fixed=True)
def averaged(evaluator: NodeEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The features averaged over neighbours, as a layer of a GCN without weights does: AX."""
    graphs = evaluator.dataset.graphs
    return evaluator.score_rows([propagated(graph.x, kernels.edges_of(graph), 1) for graph in graphs], seeds)


@baseline("node", "propagated", fixed=True)
def smoothed(evaluator: NodeEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The features averaged twice over neighbours, as two layers of a GCN without weights do: A²X."""
    graphs = evaluator.dataset.graphs
    return evaluator.score_rows([propagated(graph.x, kernels.edges_of(graph), 2) for graph in graphs], seeds)


@baseline("node", "netmf", fixed=True)
def walks(evaluator: NodeEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The position of nodes in the graph, without their features."""
    return evaluator.score_rows([walks_of(graph) for graph in evaluator.dataset.graphs], seeds)


@baseline("node", "netmf-propagated", fixed=True)
def walks_and_features(evaluator: NodeEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """Both side by side, each of the same mean length."""
    return evaluator.score_rows([walks_of(graph, with_features=True) for graph in evaluator.dataset.graphs], seeds)


@baseline("node", "untrained")
def untrained(evaluator: NodeEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The same encoder as it was initialised, another one for every seed."""
    rows = []
    for seed in seeds:
        with preserved_randomness(seed):
            encoder = settled(make_encoder(), evaluator.dataset, evaluator.device)
            rows += evaluator.score(encoder, [seed])
    return rows


@baseline("node", "supervised")
def supervised(evaluator: NodeEvaluator, make_encoder: MakeEncoder, seeds: Sequence[int]) -> list[Row]:
    """The same encoder trained with the labels."""

    def trained(dataset: NodeDataset) -> list[Scores]:
        found = []
        for seed in seeds:
            with preserved_randomness(seed):
                found.append(supervised_scores(make_encoder(), dataset, evaluator.settings, seed, evaluator.device))
        return found

    return evaluator.over_splits(trained)
