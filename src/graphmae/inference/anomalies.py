"""How unusual a node is: how little its features fit its surroundings, next to nodes with as much to go by."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import SplineTransformer, StandardScaler
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from ..data import Dataset
from ..methods import GraphMAE
from .reconstruction import reconstruct

MIN_PAIRS = 5000  # of a node and another's features, to learn from
KNOTS, ROWS_PER_KNOT = 6, 300  # of the curves that say what is usual


def anomaly_scores(
    model: GraphMAE,
    data: Data | Dataset,
    device: torch.device | str = "cpu",
    rounds: int = 5,
    share: float | None = None,
    expected: Tensor | None = None,
) -> Tensor:
    """[num_nodes]: how little a node's features fit its surroundings; 0 is usual, above 2 rare.

    Three things say what to expect of a node: the reconstruction while it is hidden (mean of `rounds` draws; `share` as
    in `reconstruct`), the mean of its neighbours, and that of theirs. A logistic regression learns from their cosines
    with the features to tell a node's own features from those of another node: its answer for the own ones, turned
    round, says how much they look like another node's. From it is taken what is usual for nodes of the same degree and
    with as many features that are not 0, and the rest is divided by the usual deviation.

    NaN for nodes without any feature. Of tables, in the order of their rows. `expected` is what
    `expected_directions` gave, where it was needed before.
    """
    if isinstance(data, Dataset):
        graph = data.sorted_by_id().single_graph()
        return data.from_sorted(anomaly_scores(model, graph, device, rounds, share, expected))
    x = F.normalize(data.x)
    joined = neighbour_mean(data.edge_index.numpy(), len(x))
    if expected is None:
        expected = expected_directions(model, data, device, rounds, share)
    evidence = _evidence(expected, x, joined)
    there = (data.x != 0).any(1).numpy()
    misfit = _misfit(evidence[0], evidence[1:], there)
    degree, content = np.diff(joined.indptr), (data.x != 0).sum(1).numpy()
    out = np.full(len(x), np.nan)
    out[there] = corrected(misfit[there], np.stack([degree[there], content[there]], axis=1))
    return torch.from_numpy(out).float()


def neighbour_mean(edge_index: np.ndarray, nodes: int) -> csr_matrix:
    """[nodes, nodes]: the mean over a node's neighbours, itself aside; edges count both ways, once each."""
    apart = edge_index[0] != edge_index[1]
    ends = np.hstack([edge_index[:, apart], edge_index[::-1, apart]])
    joined = csr_matrix((np.ones(ends.shape[1], dtype=np.float32), (ends[0], ends[1])), shape=(nodes, nodes))
    joined.data[:] = np.repeat(1 / np.maximum(np.diff(joined.indptr), 1), np.diff(joined.indptr))
    return joined


def expected_directions(
    model: GraphMAE, data: Data, device: torch.device | str = "cpu", rounds: int = 5, share: float | None = None
) -> Tensor:
    """[num_nodes, features]: the sum of `rounds` reconstructions, each row of length 1, of nodes that were hidden."""
    total = torch.zeros_like(data.x)
    for seed in range(rounds):
        total += F.normalize(reconstruct(model, data, device, share, seed))
    return total


def _evidence(expected: Tensor, x: Tensor, joined: csr_matrix) -> list[np.ndarray]:
    """[num_nodes, 3] cosines, first with a node's own features, then with those of nodes drawn at random."""
    near = joined @ x.numpy()
    far = joined @ near - np.asarray(joined.multiply(joined.T).sum(1)) * x.numpy()  # a walk back says nothing new
    generator, features = torch.Generator().manual_seed(0), _centred(x)
    draws = [torch.randperm(len(x), generator=generator) for _ in range(-(-MIN_PAIRS // len(x)))]
    columns: list[list[np.ndarray]] = [[] for _ in range(1 + len(draws))]
    for view in (expected, torch.from_numpy(near), torch.from_numpy(np.asarray(far, dtype=np.float32))):
        said = _centred(view)
        for column, order in zip(columns, [torch.arange(len(x)), *draws], strict=True):
            column.append((said * features[order]).sum(1).numpy())
    return [np.stack(column, axis=1) for column in columns]


def _centred(rows: Tensor) -> Tensor:
    """What all rows share says nothing about one of them."""
    rows = F.normalize(rows)
    return F.normalize(rows - rows.mean(0))


def _misfit(own: np.ndarray, others: list[np.ndarray], there: np.ndarray) -> np.ndarray:
    """[num_nodes]: the log odds that the features are another node's."""
    wrong = np.concatenate([other[there] for other in others])
    scale = StandardScaler().fit(np.concatenate([own[there], wrong]))
    weight = np.r_[np.ones(there.sum()), np.full(len(wrong), there.sum() / len(wrong))]
    regression = LogisticRegression().fit(
        scale.transform(np.concatenate([own[there], wrong])), np.arange(len(weight)) >= there.sum(), weight
    )
    return np.asarray(regression.decision_function(scale.transform(own)))


def corrected(scores: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Scores less what is usual for nodes alike in `known` [nodes, 2], in units of the usual deviation there.

    >>> degree = np.arange(1000.0)
    >>> rest = corrected(degree**2, np.stack([degree, degree], axis=1))
    >>> bool(abs(np.corrcoef(rest, degree)[0, 1]) < 0.05)
    True
    """
    ranks = np.stack([rankdata(column) / len(known) for column in known.T], axis=1)
    one, two = np.split(SplineTransformer(max(2, min(KNOTS, len(known) // ROWS_PER_KNOT))).fit_transform(ranks), 2, 1)
    both = np.hstack([one, two])
    if len(known) > KNOTS * ROWS_PER_KNOT:
        both = np.hstack([both, (one[:, :, None] * two[:, None]).reshape(len(one), -1)])
    bounded = np.clip(scores, *np.quantile(scores, (0.02, 0.98)))  # a few strange nodes do not say what is usual
    rest = scores - Ridge(1.0).fit(both, bounded).predict(both)
    size = np.abs(rest)
    usual = Ridge(1.0).fit(both, np.minimum(size, np.quantile(size, 0.98))).predict(both)
    floor = max(0.3 * float(np.median(usual)), 1e-12)
    return np.asarray(rest / (1.25 * np.maximum(usual, floor)))  # of a normal distribution, 1.25 of these is one σ
