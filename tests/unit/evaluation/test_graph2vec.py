from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from graphmae.config import Evaluation
from graphmae.data import GraphSet
from graphmae.evaluation import evaluator_for
from graphmae.evaluation.graph2vec import WIDTH, _learn, graph2vec
from graphmae.evaluation.svm import svm_scores

from .test_untrained import graphs
from .test_weisfeiler_lehman import graph


def shuffled(data: Data, generator: torch.Generator) -> Data:
    """The same graph with its nodes in another order."""
    place = torch.randperm(len(data.x), generator=generator)
    x = torch.empty_like(data.x)
    x[place] = data.x
    return Data(x=x, edge_index=place[data.edge_index])


def planted(count: int = 40) -> GraphSet:
    """Two kinds of graphs, all of one kind isomorphic: a ladder and a tree of 8 nodes each with one node label."""
    generator = torch.Generator().manual_seed(0)
    ladder = graph([0] * 8, [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (0, 4), (1, 5), (2, 6), (3, 7)])
    tree = graph([0] * 8, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (6, 7)])
    return GraphSet.from_list("planted", [shuffled((ladder, tree)[i % 2], generator) for i in range(count)])


def test_isomorphic_graphs_are_nearest_to_each_other() -> None:
    rows = graph2vec(planted(), seed=0, epochs=100)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    close = rows @ rows.T
    np.fill_diagonal(close, -np.inf)
    assert ((close.argmax(1) % 2) == np.arange(len(rows)) % 2).all()
    kind = np.arange(len(rows)) % 2
    same = (kind[:, None] == kind) & ~np.eye(len(rows), dtype=bool)
    assert close[same].mean() > close[kind[:, None] != kind].mean() + 0.2


def test_the_same_seed_gives_the_same_rows() -> None:
    one, again, other = (graph2vec(planted(), seed, epochs=3) for seed in (0, 0, 1))
    assert one.shape == (40, WIDTH) and np.array_equal(one, again) and not np.allclose(one, other)


def test_a_step_follows_the_gradient() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(2, 8, generator=generator, requires_grad=True)
    out = torch.randn(4, 8, generator=generator, requires_grad=True)
    words, others = np.array([2]), np.array([[0, 2, 3]])  # a random word that is the word itself is left out
    score = out[[2, 0, 3]] @ rows[1]
    loss = -torch.nn.functional.logsigmoid(score * torch.tensor([1.0, -1.0, -1.0])).sum()
    loss.backward()
    found = [rows.detach().numpy().copy(), out.detach().numpy().copy()]
    _learn(*found, np.array([1]), words, others, np.array([0.1], np.float32))
    for before, after in zip((rows, out), found, strict=True):
        assert before.grad is not None
        assert np.allclose(after, (before - 0.1 * before.grad).detach().numpy(), atol=1e-6)


def test_sets_without_a_word_that_occurs_often() -> None:
    rows = graph2vec(GraphSet.from_list("few", [graph([0], []), graph([1], [])]), seed=0)
    assert rows.shape == (2, WIDTH) and np.isfinite(rows).all()


def test_it_is_a_row_scored_as_any_other_embedding() -> None:
    settings = Evaluation(baselines=("graph2vec",), readout="mean+max")
    evaluator = evaluator_for(graphs(), settings, torch.device("cpu"))
    evaluator.prepare([3])  # it needs no encoder
    row = evaluator._known["graph2vec", 3]
    y = evaluator.dataset.y.numpy()
    assert row.scores["folds"] == svm_scores(graph2vec(evaluator.dataset, 3), y, 3)["folds"]
    assert row.folds["held"] == "last · mean · unscaled"
