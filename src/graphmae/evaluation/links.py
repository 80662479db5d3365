"""Link prediction with edges the encoder has never seen: which of two pairs of nodes is an edge?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torch_geometric.data import Data

from ..data.bipartite import TwoSides, find_two_sides
from ..data.edge_data import with_edges_of
from ..runtime.errors import ConfigError, DataError, unknown
from .linear_model import Logistic
from .simple_links import ScorePairs, simple_scores, simple_scores_across

WAYS = ("hadamard", "concat")  # of one row for an edge
COMBINED = "combined"
NEGATIVES = ("uniform", "hard")
HELD_OUT = ("random", "time")
AUTO = "auto"  # of all ways to score a pair, the best one on validation
PLAIN = ("cosine", "dot")  # without a model
LINK_WAYS = (AUTO, *WAYS, *PLAIN, COMBINED)
MIN_EDGES = 20
MOST_NUMBERS = 20_000_000  # it learns from
MAX_WIDTH = 2048  # of rows for a regression on their products


@dataclass(frozen=True)
class EdgeSplit:
    """Edges of a graph, once each, in three parts, and as many pairs that are not edges for each.

    Attributes:
        graph: the graph with the training edges alone; what an encoder may be trained on.
        train, val, test: [2, M] edges.
        train_pairs, val_pairs, test_pairs: [2, M] pairs that are not edges anywhere in the graph.
        sides: of a graph of two kinds of nodes; its pairs are between the two sides.
    """

    graph: Data
    train: Tensor
    val: Tensor
    test: Tensor
    train_pairs: Tensor
    val_pairs: Tensor
    test_pairs: Tensor
    sides: TwoSides | None = None


def edge_embeddings(z: Tensor, edges: Tensor, way: str = "hadamard") -> Tensor:
    """One row per edge, from its ends' rows: their product ("hadamard", the same both ways), or one after the other.

    >>> edge_embeddings(torch.ones(3, 4), torch.tensor([[0], [2]]), "concat").shape
    torch.Size([1, 8])
    """
    if way not in WAYS:
        raise ConfigError(unknown("edge embedding", way, WAYS))
    source, target = z[edges[0]], z[edges[1]]
    return source * target if way == "hadamard" else torch.cat([source, target], dim=1)


def split_edges(
    data: Data,
    share: float = 0.1,
    seed: int = 0,
    validation: float = 0.05,
    negatives: str = "uniform",
    held_out: str = "random",
) -> EdgeSplit:
    """Take a `share` of the edges away for the test and another for `validation`, both directions of each.

    Self-loops are left alone. The defaults are the published 85 / 5 / 10. Pairs that are not edges are drawn evenly
    ("uniform") or, for validation and test, among those that share a neighbour ("hard"). Where every edge goes between
    two sides, such as users and items, so do these pairs, and hard ones are three edges apart.

    `held_out` says which edges are taken: drawn at "random", or by "time": the newest (`data.edge_time`) are the test,
    those before them validation. Edges take their weights, features and times with them.
    """
    if held_out not in HELD_OUT:
        raise ConfigError(unknown("way to hold edges out", held_out, HELD_OUT))
    if held_out == "time" and "edge_time" not in data:
        raise DataError("edges have no times, so the newest cannot be held out; draw them at random")
    if negatives not in NEGATIVES:
        raise ConfigError(unknown("kind of negatives", negatives, NEGATIVES))
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
    if held_out == "time":
        once = once[np.argsort(-_times(data, once, nodes), kind="stable")]  # edges of one time stay shuffled
    sizes = [max(1, round(part * len(once))) for part in (share, validation)]
    test, val, train = np.split(once, np.cumsum(sizes))
    keep = np.isin(ends.min(0) * nodes + ends.max(0), train) | loops
    left = with_edges_of(data, torch.from_numpy(keep))
    sides = find_two_sides(data.edge_index, data.x)
    of_test, of_val, of_train = _no_edges(once, nodes, len(once), rng, sides).split([*sizes, len(train)], dim=1)
    if negatives == "hard":
        of_test, of_val = _close_pairs(once, nodes, sum(sizes), rng, sides).split(sizes, dim=1)
    edges = {"train": _pairs(train, nodes), "val": _pairs(val, nodes), "test": _pairs(test, nodes)}
    return EdgeSplit(left, **edges, train_pairs=of_train, val_pairs=of_val, test_pairs=of_test, sides=sides)


def _times(data: Data, keys: np.ndarray, nodes: int) -> np.ndarray:
    """[keys] when each edge was last made, either way round; before all others where that is not known."""
    ends, times = data.edge_index.numpy(), np.nan_to_num(data.edge_time.numpy(), nan=-np.inf)
    order = np.argsort(keys)
    found = np.full(len(keys), -np.inf)
    apart = ends[0] != ends[1]
    place = order[np.searchsorted(keys[order], (ends.min(0) * nodes + ends.max(0))[apart])]
    np.maximum.at(found, place, times[apart])
    return found


def _pairs(keys: np.ndarray, nodes: int) -> Tensor:
    return torch.from_numpy(np.stack(np.divmod(keys, nodes)))


def _no_edges(edges: np.ndarray, nodes: int, count: int, rng: np.random.Generator, sides: TwoSides | None) -> Tensor:
    """`count` pairs drawn evenly from all that are not edges."""
    if num_pairs(nodes, sides) - len(edges) < count:
        raise DataError("nearly all pairs of nodes are edges, so there is nothing to predict")
    found: np.ndarray = np.empty(0, dtype=np.int64)
    while len(found) < count:
        drawn = np.sort(
            rng.integers(nodes, size=(2, 2 * count)) if sides is None else sides.draw(2 * count, rng), axis=0
        )
        keys = (drawn[0] * nodes + drawn[1])[drawn[0] != drawn[1]]
        found = np.unique(np.concatenate([found, keys[~np.isin(keys, edges)]]))
    rng.shuffle(found)
    return _pairs(found[:count], nodes)


def num_pairs(nodes: int, sides: TwoSides | None) -> float:
    """How many pairs of nodes could be edges."""
    return nodes * (nodes - 1) / 2 if sides is None else sides.num_pairs


def _close_pairs(edges: np.ndarray, nodes: int, count: int, rng: np.random.Generator, sides: TwoSides | None) -> Tensor:
    """`count` pairs that are not edges and share a neighbour: two neighbours of a node, nodes drawn by their pairs.

    Between two sides, a neighbour of either end of an edge, edges drawn by their pairs.
    """
    ends = np.stack(np.divmod(edges, nodes))
    both = np.concatenate([ends, ends[::-1]], axis=1)
    order = np.argsort(both[0], kind="stable")
    column, degree = both[1][order], np.bincount(both[0], minlength=nodes)
    start = np.cumsum(degree) - degree
    weight = degree * np.maximum(degree - 1, 0) if sides is None else degree[ends[0]] * degree[ends[1]]
    if not weight.sum():
        raise DataError("no two nodes share a neighbour, so there are no hard pairs; take uniform ones")
    found: np.ndarray = np.empty(0, dtype=np.int64)
    for _ in range(50):
        drawn = rng.choice(len(weight), size=4 * count, p=weight / weight.sum())
        middle = (drawn, drawn) if sides is None else ends[:, drawn]
        first, second = (column[start[node] + rng.integers(degree[node])] for node in middle)
        low, high = np.minimum(first, second), np.maximum(first, second)
        keys = (low * nodes + high)[low != high]
        found = np.unique(np.concatenate([found, keys[~np.isin(keys, edges)]]))
        if len(found) >= count:
            rng.shuffle(found)
            return _pairs(found[:count], nodes)
    near = "share a neighbour" if sides is None else "are three edges apart"
    raise DataError(f"the graph has only {len(found)} pairs that {near} and are no edge; {count} are needed")


def link_scores(
    z: Tensor,
    split: EdgeSplit,
    way: str = AUTO,
    most: int = 100_000,
    own: ScorePairs | None = None,
    beside: Mapping[str, ScorePairs] | None = None,
) -> dict[str, float]:
    """ROC-AUC and average precision of the test edges, in percent, from embeddings `z` [N, d].

    "validation" is the ROC-AUC of the validation edges, to choose settings by.

    A pair is scored by a logistic regression on its row ("hadamard", "concat"; see `edge_embeddings`), by the "cosine"
    or the "dot" product of its ends, or by the method's "own" decoder; "auto" takes what is best on validation.
    "combined" weighs all of these and the scores `beside` them by a logistic regression on the validation edges; its
    validation score comes from folds.
    """
    scorers: dict[str, Callable[[], ScorePairs]] = {
        **{name: partial(_regression, z, split, name, most) for name in WAYS},
        "cosine": lambda: _products(torch.nn.functional.normalize(z)),
        "dot": lambda: _products(z),
    }
    if own is not None:
        scorers["own"] = lambda: own
    left_out = ("concat", "hadamard") if z.size(1) > MAX_WIDTH else ("concat",)  # no better, and twice as wide
    if beside:
        plain = [scorers[name]() for name in scorers if name not in left_out]
        scorers[COMBINED] = lambda: Combined([*plain, *beside.values()], split)
    if way != AUTO and way not in scorers:
        raise ConfigError(unknown("way to score links", way, [AUTO, *scorers]))
    names = [name for name in scorers if name not in left_out] if way == AUTO else [way]
    tried = [scorers[name]() for name in names]
    on_val = [
        score.validation if isinstance(score, Combined) else pair_score(score, split.val, split.val_pairs)["roc-auc"]
        for score in tried
    ]
    best = tried[on_val.index(max(on_val))]
    return {**pair_score(best, split.test, split.test_pairs), "validation": max(on_val)}


def pair_score(score: ScorePairs, edges: Tensor, pairs: Tensor) -> dict[str, float]:
    """ROC-AUC and average precision, in percent, of a score that tells edges from other pairs."""
    return _scores_of(*_judged(score, edges, pairs))


def simple_scores_of(split: EdgeSplit) -> dict[str, ScorePairs]:
    """The simple scores that fit the graph, from its training edges."""
    score = simple_scores if split.sides is None else simple_scores_across
    return score(split.graph.edge_index, len(split.graph.x))


def simple_rows(split: EdgeSplit) -> dict[str, dict[str, float]]:
    """What every simple score makes of the test edges, and all of them weighed together by the validation edges."""
    scores: dict[str, ScorePairs] = simple_scores_of(split)
    scores["simple-together"] = Combined(list(scores.values()), split)
    return {name: pair_score(score, split.test, split.test_pairs) for name, score in scores.items()}


class Combined:
    """Several scores of a pair as one: ranks among the validation pairs, weighed by a logistic regression on these."""

    def __init__(self, scores: Sequence[ScorePairs], split: EdgeSplit) -> None:
        self.scores = scores
        pairs = torch.cat([split.val, split.val_pairs], dim=1)
        raw = np.stack([score(pairs).double().numpy() for score in scores], axis=1)
        self.known = np.sort(raw, axis=0)
        rows, truth = self._ranks(raw), _truth(split.val[0], split.val_pairs[0])
        self.model = make_pipeline(StandardScaler(), Logistic(max_iter=500))
        held = cross_val_predict(self.model, rows, truth, cv=StratifiedKFold(5, shuffle=True, random_state=0),
                                 method="decision_function")  # fmt: skip
        self.validation = 100 * float(roc_auc_score(truth, held))
        self.model.fit(rows, truth)

    def _ranks(self, raw: np.ndarray) -> np.ndarray:
        columns = [
            (np.searchsorted(known, column) + np.searchsorted(known, column, side="right")) / (2 * len(known))
            for known, column in zip(self.known.T, raw.T, strict=True)
        ]
        ranks = np.stack(columns, axis=1)
        return np.hstack([ranks, ranks**2])

    def __call__(self, pairs: Tensor) -> Tensor:
        raw = np.stack([score(pairs).double().numpy() for score in self.scores], axis=1)
        return torch.from_numpy(self.model.decision_function(self._ranks(raw)))


def _regression(z: Tensor, split: EdgeSplit, way: str, most: int) -> ScorePairs:
    most = min(most, MOST_NUMBERS // z.size(1))
    few = torch.randperm(split.train.size(1), generator=torch.Generator().manual_seed(0))[:most]
    rows = [edge_embeddings(z, part[:, few], way) for part in (split.train, split.train_pairs)]
    model = make_pipeline(StandardScaler(), Logistic(max_iter=500))
    model.fit(torch.cat(rows).numpy(), _truth(*rows))
    return lambda pairs: torch.from_numpy(model.decision_function(edge_embeddings(z, pairs, way).numpy()))


def _products(z: Tensor) -> ScorePairs:
    return lambda pairs: (z[pairs[0]] * z[pairs[1]]).sum(1)


def _judged(score: ScorePairs, edges: Tensor, pairs: Tensor) -> tuple[np.ndarray, np.ndarray]:
    found = [score(part) for part in (edges, pairs)]
    return _truth(*found), torch.cat(found).numpy()


def _truth(edges: Tensor | np.ndarray, pairs: Tensor | np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones(len(edges)), np.zeros(len(pairs))])


def _scores_of(truth: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    return {
        "roc-auc": 100 * float(roc_auc_score(truth, scores)),
        "average-precision": 100 * float(average_precision_score(truth, scores)),
    }
