"""Link prediction with edges the encoder has never seen: which of two pairs of nodes is an edge?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torch_geometric.data import Data

from ..runtime.errors import ConfigError, DataError, unknown

WAYS = ("hadamard", "concat")
MIN_EDGES = 20


@dataclass(frozen=True)
class EdgeSplit:
    """Edges of a graph, once each, in two parts, and as many pairs that are not edges for each.

    Attributes:
        graph: the graph without the test edges; what an encoder may be trained on.
        train, test: [2, M] edges.
        train_pairs, test_pairs: [2, M] pairs that are not edges anywhere in the graph.
    """

    graph: Data
    train: Tensor
    test: Tensor
    train_pairs: Tensor
    test_pairs: Tensor


def edge_embeddings(z: Tensor, edges: Tensor, way: str = "hadamard") -> Tensor:
    """One row per edge, from its ends' rows: their product ("hadamard", the same both ways), or one after the other.

    >>> edge_embeddings(torch.ones(3, 4), torch.tensor([[0], [2]]), "concat").shape
    torch.Size([1, 8])
    """
    if way not in WAYS:
        raise ConfigError(unknown("edge embedding", way, WAYS))
    source, target = z[edges[0]], z[edges[1]]
    return source * target if way == "hadamard" else torch.cat([source, target], dim=1)


def split_edges(data: Data, share: float = 0.1, seed: int = 0) -> EdgeSplit:
    """Take a `share` of the edges away, both directions of each, self-loops left alone."""
    nodes = int(data.x.size(0))
    ends = data.edge_index.numpy()
    loops = ends[0] == ends[1]
    once = np.unique(ends.min(0)[~loops] * nodes + ends.max(0)[~loops])
    if len(once) < MIN_EDGES:
        raise DataError(f"the graph has {len(once)} edges; link prediction needs at least {MIN_EDGES}")
    rng = np.random.Generator(np.random.PCG64(seed))
    rng.shuffle(once)
    held = max(1, round(share * len(once)))
    test, train = once[:held], once[held:]
    keep = ~np.isin(ends.min(0) * nodes + ends.max(0), test) | loops
    left = Data(x=data.x, edge_index=data.edge_index[:, torch.from_numpy(keep)])
    pairs = _no_edges(once, nodes, len(once), rng)
    return EdgeSplit(left, _pairs(train, nodes), _pairs(test, nodes), pairs[:, held:], pairs[:, :held])


def _pairs(keys: np.ndarray, nodes: int) -> Tensor:
    return torch.from_numpy(np.stack(np.divmod(keys, nodes)))


def _no_edges(edges: np.ndarray, nodes: int, count: int, rng: np.random.Generator) -> Tensor:
    """`count` pairs drawn evenly from all that are not edges."""
    if nodes * (nodes - 1) / 2 - len(edges) < count:
        raise DataError("nearly all pairs of nodes are edges, so there is nothing to predict")
    found: np.ndarray = np.empty(0, dtype=np.int64)
    while len(found) < count:
        drawn = np.sort(rng.integers(nodes, size=(2, 2 * count)), axis=0)
        keys = (drawn[0] * nodes + drawn[1])[drawn[0] != drawn[1]]
        found = np.unique(np.concatenate([found, keys[~np.isin(keys, edges)]]))
    rng.shuffle(found)
    return _pairs(found[:count], nodes)


def link_scores(z: Tensor, split: EdgeSplit, way: str = "hadamard", most: int = 100_000) -> dict[str, float]:
    """ROC-AUC and average precision, in percent, of a logistic regression on embeddings of the training edges."""
    few = torch.randperm(split.train.size(1), generator=torch.Generator().manual_seed(0))[:most]
    rows = [edge_embeddings(z, part[:, few], way) for part in (split.train, split.train_pairs)]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    model.fit(torch.cat(rows).numpy(), _truth(*rows))
    tested = [edge_embeddings(z, part, way) for part in (split.test, split.test_pairs)]
    return _scores_of(_truth(*tested), model.decision_function(torch.cat(tested).numpy()))


def common_neighbours(split: EdgeSplit) -> dict[str, float]:
    """The row that needs no learning: how many neighbours two nodes share, the rarer the more."""
    nodes = int(split.graph.x.size(0))
    row, column = (part.numpy() for part in split.graph.edge_index)
    apart = row != column
    joined = csr_matrix((np.ones(apart.sum()), (row[apart], column[apart])), shape=(nodes, nodes))
    joined = ((joined + joined.T) > 0).astype(np.float64)
    degree = np.asarray(joined.sum(1)).ravel()
    weighted = joined.multiply(1 / np.log(np.maximum(degree, 2) + 1e-9)).tocsr()  # Adamic and Adar
    both = [
        np.asarray(weighted[part[0].numpy()].multiply(joined[part[1].numpy()]).sum(1)).ravel()
        for part in (split.test, split.test_pairs)
    ]
    return _scores_of(_truth(*both), np.concatenate(both))


def _truth(edges: Tensor | np.ndarray, pairs: Tensor | np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones(len(edges)), np.zeros(len(pairs))])


def _scores_of(truth: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    return {
        "roc-auc": 100 * float(roc_auc_score(truth, scores)),
        "average-precision": 100 * float(average_precision_score(truth, scores)),
    }
