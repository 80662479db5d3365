"""Link prediction: edges held out are nowhere in what is trained on."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import graphmae as gm
from graphmae.evaluation import edge_embeddings, link_scores, pair_score, simple_scores, split_edges
from graphmae.runtime.errors import ConfigError, DataError


@given(st.integers(15, 60), st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_nothing_of_the_test_edges_is_left(nodes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 60), generator=generator)
    data = Data(x=torch.eye(nodes), edge_index=torch.cat([edges, edges.flip(0), torch.arange(nodes).expand(2, -1)], 1))
    split = split_edges(data, 0.2, seed)
    left = {tuple(pair) for pair in split.graph.edge_index.T.tolist()}
    held = {tuple(pair) for pair in split.test.T.tolist()}
    assert not held & left and not {(b, a) for a, b in held} & left
    assert {(i, i) for i in range(nodes)} <= left
    every = {tuple(sorted(pair)) for pair in edges.T.tolist()}
    for pairs in (split.train_pairs, split.test_pairs):
        assert not {tuple(sorted(pair)) for pair in pairs.T.tolist()} & every
    assert split.test.size(1) == split.test_pairs.size(1) and split.train.size(1) == split.train_pairs.size(1)
    parts = [{tuple(pair) for pair in part.T.tolist()} for part in (split.train, split.val, split.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == len({pair for pair in every if pair[0] != pair[1]})
    assert not {pair for a, b in parts[1] for pair in ((a, b), (b, a))} & left


def test_the_newest_edges_are_held_out_with_what_is_known_of_them() -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(40, (2, 150), generator=generator)
    edges = edges[:, edges[0] < edges[1]].unique(dim=1)
    count = edges.size(1)
    times = torch.randperm(count, generator=generator).double()
    times[:3] = torch.nan  # when these were made is not known: they count as old
    data = Data(x=torch.eye(40), edge_index=torch.cat([edges, edges.flip(0)], dim=1), edge_time=times.repeat(2))
    data.edge_weight, data.edge_attr = times.nan_to_num().add(1).float().repeat(2), times.unsqueeze(1).repeat(2, 1)
    split = split_edges(data, 0.2, validation=0.1, held_out="time")
    when = {tuple(pair): float(time) for pair, time in zip(edges.T.tolist(), times.nan_to_num(nan=-1), strict=True)}
    train, val, test = (
        [when[tuple(pair)] for pair in part.T.tolist()] for part in (split.train, split.val, split.test)
    )
    assert max(train) < min(val) <= max(val) < min(test) and len(test) == round(0.2 * count) and train.count(-1) == 3
    left = split.graph
    assert left.edge_weight.tolist() == [max(when[min(a, b), max(a, b)], 0) + 1 for a, b in left.edge_index.T.tolist()]
    assert len(left.edge_attr) == len(left.edge_time) == left.edge_index.size(1) == 2 * len(train)
    assert not torch.equal(split.test, split_edges(data, 0.2, validation=0.1).test)
    with pytest.raises(ConfigError, match="unknown way to hold edges out 'new'"):
        split_edges(data, held_out="new")
    with pytest.raises(DataError, match="edges have no times"):
        split_edges(Data(x=data.x, edge_index=data.edge_index), held_out="time")


def test_a_graph_in_two_halves_is_predicted() -> None:
    group = torch.arange(100) % 2
    source = torch.randint(100, (1500,), generator=torch.Generator().manual_seed(0))
    target = torch.randint(50, (1500,), generator=torch.Generator().manual_seed(1)) * 2 + group[source]
    data = Data(x=torch.nn.functional.one_hot(group).float(), edge_index=torch.stack([source, target]))
    split = split_edges(data)
    simple = simple_scores(split.graph.edge_index, 100)
    shared = pair_score(simple["adamic-adar"], split.test, split.test_pairs)["roc-auc"]
    assert link_scores(data.x, split)["roc-auc"] > 65 and shared > 65
    both = link_scores(torch.randn(100, 8), split, "combined", beside=simple)
    assert both["roc-auc"] > shared - 5 and both["validation"] > 60  # rows of noise do not hide the simple scores
    assert gm.edge_embeddings(data.x, split.test, "concat").shape == (split.test.size(1), 4)


def test_hard_pairs_share_a_neighbour() -> None:
    ends = torch.randint(60, (2, 300), generator=torch.Generator().manual_seed(0))
    data = Data(x=torch.eye(60), edge_index=torch.cat([ends, ends.flip(0)], dim=1))
    split = split_edges(data, negatives="hard")
    joined = torch.zeros(60, 60)
    joined[data.edge_index[0], data.edge_index[1]] = 1
    joined.fill_diagonal_(0)
    for pairs in (split.val_pairs, split.test_pairs):
        assert ((joined @ joined)[pairs[0], pairs[1]] > 0).all() and (joined[pairs[0], pairs[1]] == 0).all()
    with pytest.raises(ConfigError, match="kind of negatives"):
        split_edges(data, negatives="soft")


def test_simple_scores_are_those_of_dense_matrices() -> None:
    ends = torch.randint(30, (2, 90), generator=torch.Generator().manual_seed(0))
    joined = torch.zeros(30, 30, dtype=torch.float64)
    joined[ends[0], ends[1]] = joined[ends[1], ends[0]] = 1
    joined.fill_diagonal_(0)
    pairs = torch.cartesian_prod(torch.arange(30), torch.arange(30)).t()
    pairs = pairs[:, pairs[0] != pairs[1]]
    degree = joined.sum(1)
    found = {name: score(pairs) for name, score in simple_scores(ends, 30).items()}
    two, three = joined @ joined, joined @ joined @ joined
    rarer = joined @ torch.diag(1 / degree.clamp(min=2).log()) @ joined
    beta = 0.5 / (joined @ degree / degree.clamp(min=1)).max()
    for name, dense in (("common-neighbours", two), ("adamic-adar", rarer), ("katz", two + beta * three)):
        assert torch.allclose(found[name], dense[pairs[0], pairs[1]]), name


def test_features_made_from_edges_are_made_anew() -> None:
    """Degrees that count the held-out edges would tell where they are."""
    from graphmae.data.tables import from_tables

    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(40, (2, 120), generator=generator).tolist()
    data = from_tables(None, {"source": ends[0], "target": ends[1]}, quiet=True)
    graph = data.single_graph()
    split = split_edges(graph, 0.3)
    seen = data.with_graph(split.graph).single_graph()
    assert torch.equal(split.graph.x, graph.x) and not torch.equal(seen.x, graph.x)
    again = data.with_graph(graph).single_graph()
    assert torch.allclose(again.x, graph.x, atol=1e-5)


def test_the_way_pairs_are_scored_is_chosen_on_validation() -> None:
    ring = torch.stack([torch.arange(60).repeat(2), torch.cat([(torch.arange(60) + k) % 60 for k in (1, 2)])])
    data = Data(x=torch.rand(60, 4, generator=torch.Generator().manual_seed(0)), edge_index=ring)
    split = split_edges(data, 0.2)
    right = {tuple(pair) for part in (split.val, split.test) for pair in part.T.tolist()}

    def knows(pairs: torch.Tensor) -> torch.Tensor:
        return torch.tensor([float(tuple(pair) in right) for pair in pairs.T.tolist()])

    assert link_scores(data.x, split, own=knows)["roc-auc"] == 100.0  # the best on validation, and taken
    wrong = {tuple(pair) for pair in split.test.T.tolist()}

    def misleads(pairs: torch.Tensor) -> torch.Tensor:  # right on the test, wrong on validation: not taken
        return torch.tensor(
            [2 * float(tuple(pair) in wrong) - float(tuple(pair) in right) for pair in pairs.T.tolist()]
        )

    assert link_scores(data.x, split, own=misleads) == link_scores(data.x, split)
    assert link_scores(data.x, split, way="own", own=misleads)["roc-auc"] > 99
    with pytest.raises(ConfigError, match="way to score links"):
        link_scores(data.x, split, way="own")


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown edge embedding"):
        edge_embeddings(torch.ones(2, 2), torch.zeros(2, 1).long(), "sum")
    with pytest.raises(DataError, match="at least 20"):
        split_edges(Data(x=torch.eye(3), edge_index=torch.tensor([[0], [1]])))
    full = torch.combinations(torch.arange(8)).T
    with pytest.raises(DataError, match="nearly all pairs"):
        split_edges(Data(x=torch.eye(8), edge_index=full))
