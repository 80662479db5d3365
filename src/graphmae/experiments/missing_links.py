"""The most likely missing edges of a graph, with scores that were checked on edges hidden from the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch_geometric.data import Data

from .. import evaluation
from ..config import Recipe
from ..data.bipartite import TwoSides
from ..evaluation.linear_model import Logistic
from ..inference.embedding import embed_graph, pair_scorer
from ..inference.pairs import PairEvidence, candidates, joined, keys_of, pairs_of
from ..methods import Method
from ..runtime.device import numerics
from ..runtime.errors import DataError
from ..training import quiet
from ..training.progress import Display
from . import pretrain as pretraining

HIDDEN = 0.1  # of the edges, to learn from and to check by
MAX_PAIRS = 200_000  # candidates that are learned from
RANDOM_PAIRS = 20_000  # a percentile is counted among
BIN = 50  # candidates a score is an average over, at least
MIN_FOR_TREES = 1000  # hidden edges among the candidates
Look = Callable[[Data], tuple[PairEvidence, np.ndarray, csr_matrix]]


@dataclass(frozen=True)
class MissingLinks:
    """Pairs of nodes [2, k], the most likely first.

    Attributes:
        score: [k], in percent: with 10 % of the edges hidden, so many of the candidates rated this high were hidden
            edges.
        percentile: [k], in percent: so many random pairs without an edge are rated lower.
        checked: with 10 % of the edges hidden, the share of hidden edges among as many highest-rated candidates.
        by_chance: the same among random pairs.
    """

    pairs: np.ndarray
    score: np.ndarray
    percentile: np.ndarray
    checked: float
    by_chance: float


def predict(
    recipe: Recipe,
    dataset: Any,
    device: torch.device,
    k: int,
    node: int | None = None,
    seed: int = 0,
    display: Display = quiet,
) -> MissingLinks:
    """Hide 10 % of the edges, pre-train on the others, learn to tell hidden edges from other pairs, rate candidates.

    Candidates are pairs with shared neighbours and pairs near each other by their embeddings, the best of each node; of
    one `node`, all others. In a graph with two sides all are pairs of the two, three steps apart or near.

    A pair is rated from what `PairEvidence` holds, by a logistic regression or by boosted trees, whichever orders
    hidden edges better on pairs it was not fitted on; the same pairs give the score.
    """
    split = evaluation.split_edges(dataset.single_graph(), HIDDEN / 2, seed, HIDDEN / 2)
    seen = dataset.with_graph(split.graph)
    model = pretraining.pretrain_once(recipe, seen, seed, device, display=display, label="links, 10 % of edges hidden")
    with numerics(device), torch.no_grad():
        return rated(partial(seen_by, model, device, split.sides), dataset, split, k, node, seed)


def rated(look: Look, dataset: Any, split: evaluation.EdgeSplit, k: int, node: int | None, seed: int) -> MissingLinks:
    """The `k` pairs rated highest, by what `look` sees of a graph; `split` says which edges are hidden at first."""
    graph, held = dataset.single_graph(), torch.cat([split.val, split.test], dim=1).numpy()
    nodes = int(graph.x.size(0))
    evidence, pool, _ = look(dataset.with_graph(split.graph).single_graph())
    pool = pool[:, np.random.default_rng(seed).permutation(pool.shape[1])[:MAX_PAIRS]]
    hidden = np.isin(keys_of(pool[0], pool[1], nodes), keys_of(held[0], held[1], nodes))
    rate, held_out = _fitted(evidence(pool), hidden)
    share_at = _calibrated(held_out, hidden)
    evidence, pool, adjacency = look(graph)
    asked = pool if node is None else pairs_of(node, adjacency, split.sides)
    found = rate(evidence(asked))
    best = np.argsort(-found, kind="stable")[:k]
    usual = np.sort(rate(evidence(_random_pairs(adjacency, seed, split.sides))))
    top = np.argsort(-held_out, kind="stable")[:k]
    return MissingLinks(
        asked[:, best],
        100 * share_at(found[best]),
        100 * np.searchsorted(usual, found[best]) / len(usual),
        100 * float(hidden[top].mean()),
        100 * held.shape[1] / (evaluation.num_pairs(nodes, split.sides) - split.train.size(1)),
    )


def seen_by(
    model: Method, device: torch.device, sides: TwoSides | None, graph: Data
) -> tuple[PairEvidence, np.ndarray, csr_matrix]:
    """What a model sees of a graph: evidence for pairs, candidates, and the adjacency matrix."""
    z = embed_graph(model.reader, graph, device)
    adjacency = joined(graph.edge_index.numpy(), len(z))
    own = pair_scorer(model.cpu(), embed_graph(model.encoder, model.as_seen(graph), device))
    return PairEvidence(adjacency, graph.x, z, own, sides), candidates(adjacency, z, sides=sides), adjacency


def _random_pairs(adjacency: Any, seed: int, sides: TwoSides | None) -> np.ndarray:
    nodes, rng = adjacency.shape[0], np.random.default_rng(seed)
    pairs = rng.integers(nodes, size=(2, RANDOM_PAIRS)) if sides is None else sides.draw(RANDOM_PAIRS, rng)
    free = (pairs[0] != pairs[1]) & (np.asarray(adjacency[pairs[0], pairs[1]]).ravel() == 0)
    return pairs[:, free]


def _fitted(rows: np.ndarray, hidden: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """(rows of evidence → ratings, the ratings of these rows by models fitted on the other half)."""
    if hidden.sum() < 4:
        raise DataError("hardly any of the hidden edges is between nodes that are near each other")
    kinds: list[Callable[[], Any]] = [lambda: make_pipeline(StandardScaler(), Logistic(max_iter=300))]
    if hidden.sum() >= MIN_FOR_TREES:
        kinds.append(lambda: _trees(rows.shape[1]))
    half = np.zeros(len(hidden), dtype=bool)
    half[hidden.nonzero()[0][::2]] = half[(~hidden).nonzero()[0][::2]] = True
    tried = []
    for make in kinds:
        ratings = np.empty(len(hidden))
        for part in (half, ~half):
            ratings[part] = make().fit(rows[~part], hidden[~part]).decision_function(rows[part])
        tried.append(ratings)
    best = int(np.argmax([average_precision_score(hidden, ratings) for ratings in tried]))
    final = kinds[best]().fit(rows, hidden)
    return final.decision_function, tried[best]


def _calibrated(ratings: np.ndarray, hidden: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """From ratings to the share of hidden edges among candidates rated about so, higher for every higher rating.

    Candidates are taken 50 at a time, and more where the share would fall otherwise; between the means of such bins the
    share is interpolated. Above the middle of the highest bin it rises by at most one standard error of the bin's share
    (Wilson's), below the lowest it goes towards 0.
    """
    order = np.argsort(-ratings, kind="stable")
    bins = [order[begin : begin + BIN] for begin in range(0, max(len(order) - BIN, 0) + 1, BIN)][::-1]
    where, share = (np.array([values[part].mean() for part in bins]) for values in (ratings, hidden))
    level = IsotonicRegression().fit(where, share).predict(where)
    runs = np.split(np.arange(len(bins)), np.flatnonzero(np.diff(level) > 0) + 1)
    middle = np.array([where[run].mean() for run in runs])
    height = np.array([level[run[0]] for run in runs])
    lowest, highest = (np.concatenate([bins[i] for i in runs[end]]) for end in (0, -1))
    if height[0] == 0:  # of so many candidates none: the share is below one of them
        height[0] = min([0.5 / len(lowest), *(height[1:2] / 2)])
    if height[-1] == 1:
        height[-1] = max([1 - 0.5 / len(highest), *((1 + height[-2:-1]) / 2)])
    top, size = height[-1], len(highest)
    spread = np.sqrt(top * (1 - top) / size + 0.25 / size**2)
    room = (top + 0.5 / size + spread) / (1 + 1 / size) - top
    widths = [float(np.std(ratings[part])) or 1.0 for part in (lowest, highest)]

    def share_at(found: np.ndarray) -> np.ndarray:
        below, above = np.maximum(middle[0] - found, 0), np.maximum(found - middle[-1], 0)
        inside = np.interp(found, middle, height)
        return (inside + room * above / (above + widths[1])) * widths[0] / (below + widths[0])

    return share_at


def _trees(width: int) -> HistGradientBoostingClassifier:
    """More of any evidence but the degrees (columns 4 and 5) never makes an edge less likely."""
    rising = [int(i not in (4, 5)) for i in range(width)]
    return HistGradientBoostingClassifier(
        max_iter=80, max_leaf_nodes=15, min_samples_leaf=50, monotonic_cst=rising, random_state=0
    )
