"""An untrained encoder is a fair baseline: no state of it was left at a value the data never had."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

import graphmae as gm
from graphmae import encoders, pretrained
from graphmae.config import Evaluation
from graphmae.data import GraphSet, NodeDataset, load
from graphmae.evaluation import GraphEvaluator, NodeEvaluator
from graphmae.evaluation import settled as settle
from graphmae.evaluation.graphs import pooled_layers
from graphmae.experiments import pretrain as pretraining
from graphmae.experiments.auto import recipe_for
from graphmae.inference.embedding import embed_graph
from graphmae.runtime.seed import preserved_randomness

CPU = torch.device("cpu")


def graphs(count: int = 60, with_labels: bool = True) -> GraphSet:
    """Rings and stars with node kinds; the label is which of the two."""
    generator, made = torch.Generator().manual_seed(0), []
    for i in range(count):
        n = 5 + i % 7
        ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
        star = torch.stack([torch.zeros(n - 1, dtype=torch.long), torch.arange(1, n)])
        edges = ring if i % 2 else star
        x = torch.eye(3)[torch.randint(3, (n,), generator=generator)]
        data = Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1))
        made.append(Data(**data.to_dict(), y=torch.tensor([i % 2])) if with_labels else data)
    return GraphSet.from_list("shapes", made)


def norms_of(encoder: nn.Module) -> list[nn.BatchNorm1d]:
    return [module for module in encoder.modules() if isinstance(module, nn.BatchNorm1d)]


def settled(dropout: float = 0.5, labels: bool = True) -> nn.Module:
    with preserved_randomness(0):
        encoder = encoders.GIN(3, hidden_channels=16, num_layers=3, norm="batch", dropout=dropout)
    return settle(encoder, graphs(with_labels=labels), CPU)


def test_statistics_are_those_of_the_data() -> None:
    encoder = settled()
    norms = norms_of(encoder)
    assert norms and not encoder.training
    assert all(not torch.equal(norm.running_mean, torch.zeros(norm.num_features)) for norm in norms)
    with preserved_randomness(0):  # 60 graphs are one batch: normalised by them, the last layer is centred
        again = encoders.GIN(3, hidden_channels=16, num_layers=3, norm="batch", dropout=0.0, activation="none")
    settle(again, graphs(), CPU)
    whole = graphs()
    nodes = again(whole.x, whole.edge_index + whole.first_node())
    assert nodes.mean(0).abs().max() < 5e-3  # the variance is divided by n - 1 in one place and by n in the other
    assert all(norm.momentum == 0.1 for norm in norms)


def test_no_labels_no_dropout_no_randomness() -> None:
    state = torch.random.get_rng_state()
    first, second = settled(), settled(dropout=0.0, labels=False)
    for a, b in zip(norms_of(first), norms_of(second), strict=True):
        assert torch.equal(a.running_mean, b.running_mean)
        assert torch.equal(a.running_var, b.running_var)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_an_encoder_without_batch_norm_is_left_alone() -> None:
    encoder = encoders.GIN(3, hidden_channels=8, norm="layer")
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    settle(encoder, graphs(), CPU)
    assert all(torch.equal(before[key], value) for key, value in encoder.state_dict().items())


@pytest.mark.parametrize("name", ["gat", "gcn", "gin"])
def test_no_baseline_is_evaluated_with_statistics_that_were_never_set(name: str, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """The contract, over every encoder with a batch norm and both kinds of data."""
    from graphmae.evaluation import graphs as graph_rows
    from graphmae.evaluation import nodes as node_rows

    looked_at: list[nn.Module] = []

    def watched_graphs(encoder, data, device):  # type: ignore[no-untyped-def]
        looked_at.append(encoder)
        return pooled_layers(encoder, data, device)

    def watched_nodes(encoder, data, device, reading):  # type: ignore[no-untyped-def]
        looked_at.append(encoder)
        return node_rows_embed(encoder, data, device, reading)

    node_rows_embed = node_rows.embed_whole
    monkeypatch.setattr(graph_rows, "pooled_layers", watched_graphs)
    monkeypatch.setattr(node_rows, "embed_whole", watched_nodes)

    def fresh(width: int) -> nn.Module:
        return encoders.build(name, in_channels=width, hidden_channels=8, norm="batch")

    trained = settle(fresh(3), graphs(), CPU)
    settings = Evaluation(baselines=("untrained",), choose=False, epochs=2)
    GraphEvaluator(graphs(), settings, CPU).rows(trained, lambda: fresh(3), [0])
    nodes = gm.data.load("synthetic", num_nodes=120)
    assert isinstance(nodes, NodeDataset)
    trained = settle(fresh(nodes.in_channels), nodes, CPU)
    NodeEvaluator(nodes, settings, CPU).rows(trained, lambda: fresh(nodes.in_channels), [0])
    assert len(looked_at) == 4
    for encoder in looked_at:
        for norm in norms_of(encoder):
            assert int(norm.num_batches_tracked) > 0 or not torch.equal(
                norm.running_var, torch.ones_like(norm.running_var)
            )


def test_the_untrained_row_is_not_below_raw_features_for_want_of_statistics() -> None:
    """Deep sums grow from layer to layer unless the norms know them: the case that hid behind a published table."""
    data = graphs(120)
    settings = Evaluation(baselines=("raw", "untrained"), readout="mean")

    def fresh() -> nn.Module:
        return encoders.GIN(3, hidden_channels=16, num_layers=4, norm="batch")

    table = GraphEvaluator(data, settings, CPU).rows(settle(fresh(), data, CPU), fresh, [0])[0]
    assert table["untrained"].scores["chosen"] >= table["raw"].scores["chosen"]


def test_a_last_graph_alone_does_not_make_half_of_the_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches have about the same size and count by their nodes: cut otherwise, the statistics stay the same."""
    from graphmae.evaluation import untrained

    found = []
    for size in (60, 59, 20):
        monkeypatch.setattr(untrained, "AT_ONCE", size)
        with preserved_randomness(0):
            encoder = encoders.GIN(3, hidden_channels=8, num_layers=1, norm="batch")
        settle(encoder, graphs(60), CPU)
        found.append(encoder.blocks[0].finish.norm.running_mean)
    assert torch.allclose(found[0], found[1])
    assert (found[0] - found[2]).abs().max() < 0.35 * found[0].abs().max()


def test_an_untrained_encoder_has_the_views_the_trained_one_has() -> None:
    """Otherwise what the views give would count as learned."""
    data = load("synthetic").graphs[0]
    recipe, dataset = recipe_for(Data(x=data.x, edge_index=data.edge_index), overrides=["train.epochs=1"])
    model = pretraining.build(recipe, dataset)
    assert model.views is not None
    baseline = settle(pretrained.fresh_encoder(model), dataset, CPU)
    graph = dataset.single_graph()
    rows, views = embed_graph(baseline, graph), embed_graph(model.reader, graph)
    learned = model.views.learned_channels
    assert rows.shape == views.shape
    assert torch.equal(rows[:, :-learned], views[:, :-learned])  # the same views
    lengths = rows[:, -learned:].square().sum(1).mean().sqrt()
    assert 0.9 < float(lengths) < 1.1  # its part of the same scale
