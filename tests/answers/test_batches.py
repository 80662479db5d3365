"""Graphs that are side by side in a batch are never mixed, also by encoders that look at all nodes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch as PyGBatch
from torch_geometric.data import Data
from torch_geometric.nn import GCN as PyGGCN
from torch_geometric.nn import GINConv, GPSConv

import graphmae as gm
from graphmae import testing
from graphmae.batching import Batch
from graphmae.data import GraphSet
from graphmae.training import pretrain_model

WIDTH = 6


class Attention(nn.Module):
    """Every node looks at every node: of its own graph where it is told which that is."""

    def __init__(self, in_channels: int, out_channels: int = 8) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.map = nn.Linear(in_channels, out_channels)

    def attend(self, x: Tensor, same: Tensor) -> Tensor:
        code = self.map(x)
        return code + (code @ code.t()).masked_fill(~same, -torch.inf).softmax(1) @ code


class Told(Attention):
    seen: list[list[int]]

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        self.seen = [*getattr(self, "seen", []), batch.tolist()]
        return self.attend(x, batch[:, None] == batch[None, :])


class Untold(Attention):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.attend(x, torch.ones(len(x), len(x), dtype=torch.bool))


class GPS(nn.Module):
    """The encoder of the review: local and global attention, as PyG has it."""

    def __init__(self, in_channels: int, out_channels: int = 8) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.map = nn.Linear(in_channels, out_channels)
        self.conv = GPSConv(out_channels, GINConv(nn.Linear(out_channels, out_channels)), heads=2, norm="layer_norm")

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        out: Tensor = self.conv(self.map(x), edge_index, batch)
        return out


def graphs(count: int = 5) -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(3, 9, (count,), generator=generator).tolist()
    features = [(k + 1) * torch.rand(n, WIDTH, generator=generator) for k, n in enumerate(sizes)]
    edges = [torch.randint(n, (2, 2 * n), generator=generator) for n in sizes]
    return [Data(x=x, edge_index=ends) for x, ends in zip(features, edges, strict=True)]


@pytest.mark.parametrize("kind", [Told, GPS])
def test_the_embedding_of_a_graph_does_not_depend_on_its_neighbours_in_the_list(kind: type) -> None:
    """Graph 0 alone had another embedding than graph 0 with one more graph in the list."""
    torch.manual_seed(0)
    encoder, data = kind(WIDTH), graphs()
    together = gm.embed(encoder, data, level="graph")
    for number, graph in enumerate(data):
        assert torch.allclose(gm.embed(encoder, [graph], level="graph")[0], together[number], atol=1e-5)


def test_every_method_tells_an_encoder_which_graph_a_node_belongs_to() -> None:
    """An encoder that needs `batch` gets it in training, by every method that learns from many graphs."""
    from graphmae import methods

    gm.encoders.register("told")(Told)
    for name in methods.names():
        if methods.REGISTRY.get(name).needs_encoder or name == "context-pred":  # type: ignore[attr-defined]
            continue  # these make a second network of an encoder of ours
        encoder = Told(WIDTH)
        takes = methods.REGISTRY.takes(name)
        options: dict[str, Any] = {"decoder": gm.decoders.GAT(8, WIDTH)} if "decoder" in takes else {}
        model = methods.REGISTRY.build(name, encoder=encoder, **options)
        recipe = gm.recipe("default", "train.epochs=1", "train.batch_size=3")
        pretrain_model(model, GraphSet.from_list("some", graphs()), recipe.train, torch.device("cpu"))
        assert any(max(numbers) >= 1 for numbers in encoder.seen), name
        model(torch.cat([graph.x for graph in graphs(2)]), PyGBatch.from_data_list(graphs(2)).edge_index,
              PyGBatch.from_data_list(graphs(2)).batch)  # fmt: skip
        assert max(encoder.seen[-1]) == 1, name


def test_a_loop_of_ones_own_does_not_mix_graphs() -> None:
    """`model(x, edge_index, batch)` of two graphs is the mean over what each of them gives alone."""
    torch.manual_seed(0)
    model = gm.GraphMAE(Told(WIDTH), gm.decoders.MLP(8, WIDTH)).eval()
    both = PyGBatch.from_data_list(graphs(2))
    rows = model.encode(Batch(both.x, both.edge_index, both.batch))
    alone = torch.cat([model.encode(Batch(graph.x, graph.edge_index)) for graph in graphs(2)])
    assert torch.allclose(rows, alone, atol=1e-5)


def test_the_checks_find_an_encoder_that_mixes_graphs() -> None:
    """Both passed: their two graphs were copies of each other, over which a softmax is the same."""
    testing.check_encoder(Told)
    testing.check_method(lambda width: gm.GraphMAE(Told(width), gm.decoders.GAT(8, width)))
    with pytest.raises(AssertionError, match="must not be mixed"):
        testing.check_encoder(Untold)
    with pytest.raises(AssertionError, match="must not mix graphs"):
        testing.check_method(lambda width: gm.GraphMAE(Untold(width), gm.decoders.GAT(8, width)))


def test_models_of_pyg_are_told_too() -> None:
    """PyG's own models have the parameter `batch`, for their norms."""
    torch.manual_seed(0)
    encoder = PyGGCN(WIDTH, 8, 2, norm="GraphNorm")
    data = graphs(3)
    together = gm.embed(encoder, data, level="graph")
    assert torch.allclose(gm.embed(encoder, data[1:2], level="graph")[0], together[1], atol=1e-5)


def test_finetuning_and_supervised_training_tell_an_encoder_too() -> None:
    """A head on such an encoder sees each graph by itself."""
    encoder = Told(WIDTH)
    store = gm.Batch if hasattr(gm, "Batch") else Batch
    from graphmae.batching import GraphStore

    predictor = gm.Predictor(encoder, ["y"]).eval()
    whole = GraphStore(GraphSet.from_list("some", graphs()))
    rows = predictor(whole.take(torch.arange(5)))
    single = torch.cat([predictor(whole.take(torch.tensor([i]))) for i in range(5)])
    assert torch.allclose(rows, single, atol=1e-5) and store is not None
