"""Link prediction with edges the encoder has never seen: which of two pairs of nodes is an edge?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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

WAYS = ("hadamard", "concat")  # of one row for an edge
AUTO = "auto"  # of all ways to score a pair, the best one on validation
PLAIN = ("cosine", "dot")  # without a model
LINK_WAYS = (AUTO, *WAYS, *PLAIN)
ScorePairs = Callable[[Tensor], Tensor]  # [2, M] pairs → [M], the higher the likelier an edge
MIN_EDGES = 20


@dataclass(frozen=True)
class EdgeSplit:
    """Edges of a graph, once each, in three parts, and as many pairs that are not edges for each.

    Attributes:
        graph: the graph with the training edges alone; what an encoder may be trained on.
        train, val, test: [2, M] edges.
        train_pairs, val_pairs, test_pairs: [2, M] pairs that are not edges anywhere in the graph.
    """

    graph: Data
    train: Tensor
    val: Tensor
    test: Tensor
    train_pairs: Tensor
    val_pairs: Tensor
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


def split_edges(data: Data, share: float = 0.1, seed: int = 0, validation: float = 0.05) -> EdgeSplit:
    """Take a `share` of the edges away for the test and another for `validation`, both directions of each.

    Self-loops are left alone. The defaults are the published 85 / 5 / 10.
    """
    if not (0 < share < 1 and 0 < validation < 1 and share + validation < 1):
        raise ConfigError(f"shares of edges must be above 0 and below 1 together, not {share} and {validation}")
    nodes = int(data.x.size(0))
    ends = data.edge_index.numpy()
    loops = ends[0] == ends[1]
    once = np.unique(ends.min(0)[~loops] * nodes + ends.max(0)[~loops])
    if len(once) < MIN_EDGES:
        raise DataError(f"the graph has {len(once)} edges; link prediction needs at least {MIN_EDGES}")
    rng = np.random.Generator(np.random.PCG64(seed))
    rng.shuffle(once)
    sizes = [max(1, round(part * len(once))) for part in (share, validation)]
    test, val, train = np.split(once, np.cumsum(sizes))
    keep = np.isin(ends.min(0) * nodes + ends.max(0), train) | loops
    left = Data(x=data.x, edge_index=data.edge_index[:, torch.from_numpy(keep)])
    of_test, of_val, of_train = _no_edges(once, nodes, len(once), rng).split([*sizes, len(train)], dim=1)
    edges = {"train": _pairs(train, nodes), "val": _pairs(val, nodes), "test": _pairs(test, nodes)}
    return EdgeSplit(left, **edges, train_pairs=of_train, val_pairs=of_val, test_pairs=of_test)


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


def link_scores(
    z: Tensor, split: EdgeSplit, way: str = AUTO, most: int = 100_000, own: ScorePairs | None = None
) -> dict[str, float]:
    """ROC-AUC and average precision of the test edges, in percent, from embeddings `z` [N, d].

    "validation" is the ROC-AUC of the validation edges, to choose settings by.

    A pair is scored by a logistic regression on its row ("hadamard", "concat"; see `edge_embeddings`), by the "cosine"
    or the "dot" product of its ends, or by the method's "own" decoder; "auto" takes what is best on validation.
    """
    scorers: dict[str, Callable[[], ScorePairs]] = {
        **{name: partial(_regression, z, split, name, most) for name in WAYS},
        "cosine": lambda: _products(torch.nn.functional.normalize(z)),
        "dot": lambda: _products(z),
    }
    if own is not None:
        scorers["own"] = lambda: own
    if way != AUTO and way not in scorers:
        raise ConfigError(unknown("way to score links", way, [AUTO, *scorers]))
    names = [name for name in scorers if name != "concat"] if way == AUTO else [way]  # no better, and twice as wide
    tried = [scorers[name]() for name in names]
    on_val = [_scores_of(*_judged(score, split.val, split.val_pairs))["roc-auc"] for score in tried]
    best = tried[on_val.index(max(on_val))]
    return {**_scores_of(*_judged(best, split.test, split.test_pairs)), "validation": max(on_val)}


def _regression(z: Tensor, split: EdgeSplit, way: str, most: int) -> ScorePairs:
    few = torch.randperm(split.train.size(1), generator=torch.Generator().manual_seed(0))[:most]
    rows = [edge_embeddings(z, part[:, few], way) for part in (split.train, split.train_pairs)]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    model.fit(torch.cat(rows).numpy(), _truth(*rows))
    return lambda pairs: torch.from_numpy(model.decision_function(edge_embeddings(z, pairs, way).numpy()))


def _products(z: Tensor) -> ScorePairs:
    return lambda pairs: (z[pairs[0]] * z[pairs[1]]).sum(1)


def _judged(score: ScorePairs, edges: Tensor, pairs: Tensor) -> tuple[np.ndarray, np.ndarray]:
    found = [score(part) for part in (edges, pairs)]
    return _truth(*found), torch.cat(found).numpy()


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
