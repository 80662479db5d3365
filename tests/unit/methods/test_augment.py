"""Changed copies of graphs: what published code got wrong, named after it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from graphmae import encoders, kernels, methods
from graphmae.batching import Batch, GraphStore
from graphmae.data import GraphSet
from graphmae.methods.augment import Graphs, augmented, check_augmentations, restricted
from graphmae.runtime.errors import ConfigError


def paths(count: int, nodes: int, loops: bool = True) -> Batch:
    line = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    parts = [line, line.flip(0), *([torch.arange(nodes).expand(2, -1)] if loops else [])]
    one = Data(x=torch.arange(nodes).float().unsqueeze(1), edge_index=torch.cat(parts, dim=1))
    return GraphStore(GraphSet.from_list("paths", [one] * count)).take(torch.arange(count))


def sizes(batch: Batch, count: int) -> list[int]:
    assert batch.batch is not None
    return torch.bincount(batch.batch, minlength=count).tolist()


def test_a_subgraph_has_its_size_and_leaves_the_first_neighbourhood() -> None:
    torch.manual_seed(0)
    view = augmented(paths(50, 20), ["subgraph"], torch.zeros(50, dtype=torch.long), 0.1, 0.4)
    assert sizes(view, 50) == [9] * 50  # ⌊0.4 · 20⌋ + 1
    for graph in range(50):
        nodes = view.x[view.batch == graph, 0]
        assert nodes.max() - nodes.min() == 8  # a piece of the path, in one
    star = augmented(paths(50, 20), ["subgraph-published"], torch.zeros(50, dtype=torch.long), 0.1, 0.4)
    assert max(sizes(star, 50)) <= 3


def test_nodes_are_dropped_by_number_the_last_one_too() -> None:
    torch.manual_seed(0)
    view = augmented(paths(200, 10), ["drop-node"], torch.zeros(200, dtype=torch.long), 0.2)
    assert sizes(view, 200) == [8] * 200
    kept = [bool((view.x[view.batch == graph, 0] == 9).any()) for graph in range(200)]
    assert 0.7 < sum(kept) / 200 < 0.9


def test_edges_are_dropped_both_ways_and_self_loops_never() -> None:
    torch.manual_seed(0)
    view = augmented(paths(20, 10), ["drop-edge"], torch.zeros(20, dtype=torch.long), 0.5)
    edges = {tuple(pair) for pair in kernels.plain(view.graph).T.tolist()}
    assert all((b, a) in edges for a, b in edges)
    assert {(i, i) for i in range(200)} <= edges
    assert 0.35 < (len(edges) - 200) / 360 < 0.65


def test_every_graph_has_its_own_change() -> None:
    torch.manual_seed(0)
    choice = torch.arange(40) % 2
    view = augmented(paths(40, 10), ["none", "drop-node"], choice, 0.3)
    assert sizes(view, 40) == [10, 7] * 20
    noisy = augmented(paths(40, 10), ["none", "noise"], choice, 0.3)
    changed = (noisy.x != paths(40, 10).x).squeeze(1)
    assert torch.bincount(noisy.batch[changed], minlength=40).tolist() == [0, 3] * 20


def test_features_stay_with_their_edges() -> None:
    batch = paths(3, 6)
    adj = kernels.adjacency(batch.graph, 18)
    adj.edge_table = torch.arange(250.0).unsqueeze(1)
    adj.edge_codes = (10 * (adj.row % 6) + adj.col % 6).to(torch.uint8)
    torch.manual_seed(0)
    view = augmented(
        Batch(batch.x, adj, batch.batch, ids=batch.ids), ["subgraph"], torch.zeros(3, dtype=torch.long), 0.5
    )
    graph = view.graph
    assert isinstance(graph, kernels.Adjacency) and graph.edge_codes is not None
    names = view.x.squeeze(1).long()  # what each node was called
    assert torch.equal(graph.edge_codes.long(), 10 * names[graph.row.long()] + names[graph.col.long()])
    sums = torch.zeros(len(names)).index_add(0, graph.row.long(), graph.edge_codes.float())
    assert torch.equal(graph.edge_sums.squeeze(1), sums)  # type: ignore[union-attr]


def test_a_graph_of_one_node_stays() -> None:
    torch.manual_seed(0)
    for name in ("drop-node", "subgraph", "drop-edge", "noise"):
        view = augmented(paths(4, 1), [name], torch.zeros(4, dtype=torch.long), 0.9)
        assert sizes(view, 4) == [1] * 4
    everything = torch.ones(4, dtype=torch.bool)
    assert restricted(paths(4, 1), everything, everything)[0].x.shape == (4, 1)
    assert Graphs.of(Batch(torch.rand(3, 2), torch.zeros(2, 0, dtype=torch.long))).sizes.tolist() == [3]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown augmentation 'drop-nodes'.*drop-node"):
        check_augmentations(["drop-nodes"])
    with pytest.raises(ConfigError, match="at least one"):
        check_augmentations([])


SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "CCO", "O=C(NCCc1ccc(O)cc1)C1CCCN1C(=O)CN", "C", "CCCCCCCCCCC=CCl"]


def molecule_batches() -> tuple[Batch, Batch, int]:
    """The same molecules as they are and filled up, and how wide their features are."""
    pytest.importorskip("rdkit")
    from graphmae.data.molecules import from_smiles

    graphs, _ = from_smiles(SMILES)
    store, ids = GraphStore(graphs, edges=True), torch.tensor([2, 0, 1, 4, 3])
    return store.take(ids), store.take_padded(ids, 90, 300), graphs.in_channels


def code_of(encoder: nn.Module, batch: Batch) -> Tensor:
    return batch.sum(encoder(batch.x, batch.graph))


def encoder_of(width: int) -> encoders.Encoder:
    torch.manual_seed(0)
    return encoders.build("molecule-gin", in_channels=width, edge_channels=12, hidden_channels=16, num_layers=5)


def test_part_of_a_filled_up_batch_is_the_same_part() -> None:
    exact, padded, width = molecule_batches()
    encoder = encoder_of(width)
    torch.manual_seed(1)
    keep, stays = torch.rand(len(exact.x)) < 0.7, torch.rand(len(exact.graph.col)) < 0.8
    more = len(padded.x) - len(keep), len(padded.graph.col) - len(stays)
    short, rows = restricted(exact, keep, stays)
    long, _ = restricted(padded, F.pad(keep, (0, more[0])), F.pad(stays, (0, more[1]), value=True))
    assert long.x.shape == padded.x.shape and int(long.graph.valid) == len(rows) == len(short.x)
    assert torch.equal(rows, keep.nonzero().squeeze(1))
    assert torch.equal(long.graph.sizes, short.graph.sizes)
    assert torch.equal(kernels.plain(short.graph), kernels.plain(long.graph)[:, : len(short.graph.col)])
    losses = (code_of(encoder, one).square().mean() for one in (long, short))
    got, want = (torch.autograd.grad(loss, list(encoder.parameters())) for loss in losses)
    for one, other in zip(got, want, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["context-pred", "graphcl"])
def test_the_loss_of_a_filled_up_batch_is_the_loss(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same nodes drawn, the same loss and gradients."""
    exact, padded, width = molecule_batches()
    options = {"context-pred": {"hops": 3, "inner": 1, "outer": 5}, "graphcl": {"augmentations": ("drop-node",)}}[name]
    model = methods.REGISTRY.build(name, encoder=encoder_of(width), **options)
    assert model.takes_padding

    def first(self: Graphs, counts: Tensor) -> Tensor:
        place = torch.arange(len(self.owner)) - self.starts[self.owner]
        return place < self.of_nodes(counts)

    monkeypatch.setattr(Graphs, "some", first)
    losses = [model(batch) for batch in (exact, padded)]
    assert torch.allclose(*losses, rtol=1e-4) and losses[0].item() != 0
    got, want = (torch.autograd.grad(loss, list(model.parameters())) for loss in losses)
    for one, other in zip(got, want, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)


def test_filled_up_batches_are_drawn_from_as_others_are() -> None:
    """Roots and subgraphs are drawn among the molecules, never in what only fills up."""
    exact, padded, _ = molecule_batches()
    torch.manual_seed(0)
    for batch in (exact, padded):
        graphs = Graphs.of(batch)
        assert graphs.sizes.tolist() == exact.graph.sizes.tolist()
        drawn = graphs.some(torch.ones_like(graphs.sizes))
        assert sorted(graphs.owner[drawn].tolist()) == [0, 1, 2, 3, 4]
        grown = augmented(batch, ["subgraph"], torch.zeros(5, dtype=torch.long), 0.1, 0.5)
        assert grown.graph.sizes.tolist() == [int(0.5 * size) + 1 for size in graphs.sizes.tolist()]
