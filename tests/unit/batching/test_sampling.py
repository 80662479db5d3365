"""Sampled batches hold what a slow reference says, do not depend on threads, and give the whole graph's numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphmae import decoders, encoders, kernels
from graphmae.batching import Batch
from graphmae.batching.prefetch import Neighbourhoods, Parts, Plan, SampledBatches
from graphmae.batching.sampling import ALL, InducedSampler, NeighbourSampler, clustered_order, permuted
from graphmae.data.compressed import CompressedGraph
from graphmae.data.edge_data import with_loops
from graphmae.masking.nodes import MaskedNodes, NodeMask
from graphmae.methods import GraphMAE

CPU = torch.device("cpu")


def graph(nodes: int = 40, edges: int = 160, seed: int = 0, loops: bool = True) -> Data:
    generator = torch.Generator().manual_seed(seed)
    ends = torch.unique(torch.randint(nodes, (2, edges), generator=generator), dim=1)
    ends = ends[:, ends[0] != ends[1]]
    data = Data(x=torch.rand(nodes, 6, generator=generator), edge_index=ends)
    return with_loops(data) if loops else data


@given(
    nodes=st.integers(2, 40), edges=st.integers(0, 200), seed=st.integers(0, 99), loops=st.booleans(),
    fanouts=st.lists(st.sampled_from([1, 2, 3, ALL]), min_size=1, max_size=3), data=st.data(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_neighbours_against_a_reference(
    nodes: int, edges: int, seed: int, loops: bool, fanouts: list[int], data: st.DataObject
) -> None:
    whole = graph(nodes, edges, seed, loops)
    compressed = CompressedGraph.of(whole)
    senders = {i: set() for i in range(nodes)}
    for j, i in whole.edge_index.t().tolist():
        senders[i].add(j)
    seeds = np.array(data.draw(st.lists(st.integers(0, nodes - 1), min_size=1, unique=True)))
    sample = NeighbourSampler(compressed, fanouts).sample(seeds, seed)
    assert sample.nodes[: len(seeds)].tolist() == seeds.tolist()
    assert len(set(sample.nodes.tolist())) == len(sample.nodes)
    adj, found = sample.adjacency(), {i: [] for i in range(len(sample.nodes))}
    for row, col in zip(adj.row.tolist(), adj.col.tolist(), strict=True):
        found[row].append(int(sample.nodes[col]))
    assert adj.row.tolist() == sorted(adj.row.tolist())
    assert torch.equal(torch.bincount(adj.row, minlength=len(sample.nodes)), adj.crow.diff())
    has_loops = compressed.self_loops
    for place, node in enumerate(sample.nodes.tolist()):
        hop = next(h for h, count in enumerate(sample.reach) if place < count)
        own = [node] if has_loops else []
        if hop == len(fanouts):
            assert found[place] == own
            continue
        others = [j for j in found[place] if j != node or not has_loops]
        known = senders[node] - ({node} if has_loops else set())
        assert len(others) == len(set(others)) and set(others) <= known
        assert len(others) == (len(known) if fanouts[hop] == ALL else min(fanouts[hop], len(known)))
        assert sorted(found[place]) == sorted([*others, *own])
    col, order = torch.sort(adj.col, stable=True)
    assert torch.equal(adj.transpose[1].long(), order) and torch.equal(col, adj.col[adj.transpose[1].long()])


def test_every_neighbour_is_as_likely() -> None:
    star = Data(x=torch.eye(9), edge_index=torch.stack([torch.arange(1, 9), torch.zeros(8, dtype=torch.long)]))
    sampler = NeighbourSampler(CompressedGraph.of(star), [3])
    counts = np.zeros(9)
    for seed in range(4000):
        counts[sampler.sample(np.array([0]), seed).nodes[1:]] += 1
    assert np.abs(counts[1:] / 4000 - 3 / 8).max() < 0.03  # four deviations


@given(size=st.integers(1, 500), seed=st.integers(0, 2**40), cut=st.integers(0, 500))
@settings(max_examples=40, deadline=None)
def test_a_permutation_that_is_never_written_out(size: int, seed: int, cut: int) -> None:
    whole = permuted(0, size, size, seed)
    assert sorted(whole.tolist()) == list(range(size))
    cut = min(cut, size)
    assert np.concatenate([permuted(0, cut, size, seed), permuted(cut, size, size, seed)]).tolist() == whole.tolist()


def test_the_edges_among_nodes() -> None:
    whole = graph(30, 120)
    nodes = np.array([0, 3, 4, 9, 20, 21])
    sample = InducedSampler(CompressedGraph.of(whole)).sample(nodes)
    found = {(int(nodes[c]), int(nodes[r])) for r, c in zip(sample.row, sample.col, strict=True)}
    inside = set(nodes.tolist())
    assert found == {(j, i) for j, i in whole.edge_index.t().tolist() if i in inside and j in inside}


def test_neighbours_are_close_in_a_clustered_order() -> None:
    path = torch.stack([torch.arange(999), torch.arange(1, 1000)])
    shuffled = torch.randperm(1000, generator=torch.Generator().manual_seed(0))[torch.cat([path, path.flip(0)], dim=1)]
    order = clustered_order(CompressedGraph.of(Data(x=torch.zeros(1000, 1), edge_index=shuffled)))
    assert sorted(order.tolist()) == list(range(1000))
    place = np.argsort(order)
    assert np.abs(place[shuffled[0].numpy()] - place[shuffled[1].numpy()]).max() <= 2


def plans() -> list[Plan]:
    compressed = CompressedGraph.of(graph(200, 900))
    return [Neighbourhoods(compressed, (3, 2), 32), Parts(compressed, 32, True), Parts(compressed, 32, False)]


def same(a: Batch, b: Batch) -> bool:
    first, second = a.graph, b.graph
    return torch.equal(a.x, b.x) and torch.equal(first.crow, second.crow) and torch.equal(first.col, second.col)


@pytest.mark.parametrize("number", range(3))
def test_batches_do_not_depend_on_threads_and_can_be_skipped(number: int) -> None:
    plan = plans()[number]

    def epoch(workers: int, first: int = 0) -> Iterator[Batch]:
        torch.manual_seed(3)
        return SampledBatches(plan, CPU, workers=workers).starting_at(first)

    alone, several, rest = list(epoch(1)), list(epoch(4)), list(epoch(2, first=3))
    assert len(alone) == len(several) == 7 and len(rest) == 4
    assert all(same(a, b) for a, b in zip(alone, several, strict=True))
    assert all(same(a, b) for a, b in zip(alone[3:], rest, strict=True))
    torch.manual_seed(4)
    assert not same(next(iter(SampledBatches(plan, CPU))), alone[0])  # another epoch is another draw


@pytest.mark.parametrize("number", range(3))
def test_every_node_counts_in_an_epoch(number: int) -> None:
    plan = plans()[number]
    plan.graph.features.array[:, 0] = np.arange(200)  # the row tells the node
    seen = [batch.counted(batch.x[:, 0]).long().tolist() for batch in SampledBatches(plan, CPU)]
    assert set(itertools.chain(*seen)) == set(range(200))
    assert all(len(nodes) >= 24 for nodes in seen)


def test_processes_share_the_seeds_of_a_step() -> None:
    whole = plans()[0]
    parts = [replace(whole, rank=rank, of=2).sample(5, 1) for rank in range(2)]
    seeds = np.concatenate([sample.nodes[:count] for sample, count in parts])
    sample, count = whole.sample(5, 1)
    assert sorted(seeds.tolist()) == sorted(sample.nodes[:count].tolist())


def test_an_error_in_a_thread_is_raised_and_threads_end() -> None:
    plan = plans()[0]
    plan.graph.indices[:] = 10**6
    with pytest.raises(Exception, match="does not exist"):
        list(SampledBatches(plan, CPU, workers=2))


class Chosen(NodeMask):
    """Masks the nodes it is told, by the number in their first feature."""

    def draw_in(self, batch: Batch) -> MaskedNodes:
        return MaskedNodes.of((batch.x[:, 0] > 1).nonzero().flatten(), len(batch.x))


@pytest.mark.parametrize("kind", ["gat", "gcn", "gin"])
@pytest.mark.parametrize("decoder", ["gat", "mlp"])
@pytest.mark.parametrize("plain", [False, True])
def test_with_all_neighbours_loss_and_gradients_are_those_of_the_whole_graph(
    kind: str, decoder: str, plain: bool
) -> None:
    whole = graph(60, 240, seed=4)
    seeds = torch.tensor([5, 17, 3, 44, 20])
    whole.x[[17, 20, 8, 9], 0] = 2.0  # the last two are masked, and no seeds
    options = {"norm": "none"} if kind != "gat" else {}
    torch.manual_seed(0)
    encoder = encoders.build(kind, in_channels=6, hidden_channels=8, num_layers=2, dropout=0.0, **options)
    if kind == "gat":
        encoder = encoders.GAT(6, 8, 2, heads=2, dropout=0.0, attention_dropout=0.0)
    still = {"attention_dropout": 0.0} if decoder == "gat" else {}
    model = GraphMAE(encoder, decoders.build(decoder, in_channels=8, out_channels=6, dropout=0.0, **still), Chosen())
    loss = model.plain_loss if plain else model.loss

    def gradients(batch: Batch) -> list[torch.Tensor]:
        model.zero_grad()
        found = loss(batch)
        found.backward()
        return [found.detach(), *(p.grad.clone() for p in model.encoder.parameters() if p.grad is not None)]

    expected = gradients(Batch(whole.x, whole.edge_index, seeds=seeds))
    sample = NeighbourSampler(CompressedGraph.of(whole), [ALL] * 3).sample(seeds.numpy(), 0)
    found = gradients(Batch(whole.x[sample.nodes], sample.adjacency(), seeds=torch.arange(5)))
    for a, b in zip(expected, found, strict=True):
        assert torch.allclose(a, b, atol=1e-6), (a - b).abs().max()


@pytest.mark.parametrize("kind", ["gcn", "gin"])
def test_sums_over_sampled_neighbours_are_right_on_average(kind: str) -> None:
    whole = graph(50, 500, seed=1)
    compressed = CompressedGraph.of(whole)
    layer = encoders.build(kind, in_channels=6, hidden_channels=4, num_layers=1, norm="none", activation="none")
    conv = layer.blocks[0].conv
    if kind == "gin":
        conv.mlp = torch.nn.Identity()
        conv.mlp.forward = lambda x, valid: x  # type: ignore[method-assign]
    exact = conv(whole.x, kernels.View(kernels.adjacency(whole.edge_index, 50)))[:1]
    draws = []
    for seed in range(400):
        sample = NeighbourSampler(compressed, [3]).sample(np.array([0]), seed)
        view = kernels.View(sample.adjacency(), torch.tensor([0]))
        draws.append(conv(whole.x[sample.nodes], view).detach())
    rows = torch.cat(draws)
    error = rows.std(0) / len(rows) ** 0.5
    assert bool(((rows.mean(0) - exact[0]).abs() < 5 * error + 1e-5).all())
