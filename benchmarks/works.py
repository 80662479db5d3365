"""What is timed: published recipes on their data, and graphs of a given size; ours and stock on the very same."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

import graphmae as gm
from benchmarks.stock import StockGraphMAE, StockMoleculeMAE
from graphmae import methods
from graphmae.config import Recipe
from graphmae.data import Dataset, GraphSet, NodeDataset
from graphmae.methods import Method
from graphmae.runtime.device import numerics
from graphmae.training import pretrain_model

ATOMS = 119
Epoch = Callable[[int, int], float]  # (epochs, of which to warm up) → seconds an epoch


@dataclass(frozen=True)
class Work:
    """A recipe and graphs to run it on.

    Attributes:
        precision: of matrix products on CUDA, the same for both.
    """

    name: str
    recipe: Recipe
    graphs: Callable[[], Dataset]
    precision: str = "tf32"

    @property
    def graphs_an_epoch(self) -> int:
        """How many graphs an epoch goes over, where they are many."""
        graphs = self.graphs()
        return len(graphs) if isinstance(graphs, GraphSet) else 0

    def ours(self, device: torch.device) -> Epoch:
        dataset, settings = self.graphs(), self.recipe.train

        def run(epochs: int, warm: int) -> float:
            torch.manual_seed(0)
            network = self.build(dataset.in_channels)
            clock = _Clock(device, warm, epochs)
            with numerics(device, self.precision):
                pretrain_model(network, dataset, replace(settings, epochs=epochs), device, after_epoch=[clock.tick])
            return clock.per_epoch

        return run

    def stock(self, device: torch.device) -> Epoch:
        listed = self.stock_graphs()
        single = listed[0].to(device) if len(listed) == 1 else None

        def run(epochs: int, warm: int) -> float:
            torch.manual_seed(0)
            network = self.build_stock(int(listed[0].x.size(1))).to(device).train()
            optimizer = torch.optim.Adam(network.parameters(), lr=self.recipe.train.lr)
            loader = None if single is not None else DataLoader(listed, self.recipe.train.batch_size, shuffle=True)
            clock = _Clock(device, warm, epochs)
            with numerics(device, self.precision):
                torch.use_deterministic_algorithms(False)
                for epoch in range(epochs):
                    total = 0.0
                    for batch in [single] if loader is None else loader:
                        graph = batch.to(device)
                        loss = self.stock_loss(network, graph)
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                        total += float(loss.detach())
                    clock.tick(epoch + 1)
            return clock.per_epoch

        return run

    def build(self, width: int) -> Method:
        return methods.build(self.recipe, width)

    def stock_graphs(self) -> list[Data]:
        return list(self.graphs().node_graphs())

    def build_stock(self, width: int) -> nn.Module:
        return StockGraphMAE(self.recipe, width)

    def stock_loss(self, network: nn.Module, graph: Data) -> Tensor:
        return network(graph.x, graph.edge_index)


class MoleculeWork(Work):
    """Pre-training on molecules: the model is put together by hand, bonds are part of the data."""

    def build(self, width: int) -> Method:
        return gm.GraphMAE(
            gm.encoders.MoleculeGIN(width, edge_channels=12),
            gm.decoders.MoleculeGIN(300, ATOMS, edge_channels=12),
            mask=gm.masking.RandomNodeMask(rate=0.25),
            loss=gm.losses.ScaledCosineError(gamma=1),
        )

    def stock_graphs(self) -> list[Data]:
        graphs = self.graphs()
        assert isinstance(graphs, GraphSet)
        bonds = molecule_bonds(graphs)
        listed = []
        for i in range(len(graphs)):
            nodes, edges = (slice(int(ptr[i]), int(ptr[i + 1])) for ptr in (graphs.node_ptr, graphs.edge_ptr))
            listed.append(Data(x=graphs.x[nodes], edge_index=graphs.edge_index[:, edges], bond=bonds[edges]))
        return listed

    def build_stock(self, width: int) -> nn.Module:
        return StockMoleculeMAE(atoms=ATOMS)

    def stock_loss(self, network: nn.Module, graph: Data) -> Tensor:
        return network(graph.x, graph.edge_index, graph.bond)


class _Clock:
    def __init__(self, device: torch.device, warm: int, epochs: int) -> None:
        self.device, self.warm, self.epochs = device, warm, epochs

    def tick(self, epoch: int) -> None:
        if epoch in (self.warm, self.epochs):
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            if epoch == self.warm:
                self.began = time.perf_counter()
            else:
                self.per_epoch = (time.perf_counter() - self.began) / (self.epochs - self.warm)


def random_graph(num_nodes: int, num_edges: int, channels: int, seed: int = 0) -> Data:
    """An undirected graph with self-loops whose degrees follow a power law, as citation graphs do; dense features."""
    generator = torch.Generator().manual_seed(seed)
    half = (num_edges - num_nodes) // 2
    ends = torch.rand(2, half, generator=generator)
    # Squaring one end prefers low numbers; a permutation hides where they are.
    ends[0] = ends[0].pow(2.5)
    pairs = torch.randperm(num_nodes, generator=generator)[(ends * num_nodes).long().clamp(max=num_nodes - 1)]
    loops = torch.arange(num_nodes).expand(2, -1)
    edge_index = torch.cat([pairs, pairs.flip(0), loops], dim=1)
    return Data(x=torch.randn(num_nodes, channels, generator=generator), edge_index=edge_index)


@cache
def planetoid(name: str) -> Dataset:
    return gm.data.load(name, **gm.recipe(f"node/{name}").data.options)


@cache
def tu(name: str) -> GraphSet:
    return gm.data.load_tu(name)


@cache
def sized(num_nodes: int, num_edges: int, channels: int) -> Dataset:
    return NodeDataset("sized", (random_graph(num_nodes, num_edges, channels),), (0,), {})


@cache
def molecules(count: int) -> GraphSet:
    """Random chains with rings, of the size and make-up of drug-like molecules (23 atoms, 50 directed bonds)."""
    generator = torch.Generator().manual_seed(0)
    sizes = (23 + 4 * torch.randn(count, generator=generator)).round().long().clamp(8, 40)
    sources, targets = [], []
    for n in sizes.tolist():
        back = torch.randint(1, 3, (n - 1,), generator=generator)
        child = torch.arange(1, n)
        parent = (child - back).clamp(min=0)
        rings = torch.arange(0, n - 5, 9)
        a, b = torch.cat([parent, rings]), torch.cat([child, rings + 5])
        loops = torch.arange(n)
        sources.append(torch.cat([a, b, loops]))
        targets.append(torch.cat([b, a, loops]))
    node_ptr = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)])
    edge_ptr = torch.tensor([0, *[len(s) for s in sources]]).cumsum(0)
    shares = torch.zeros(ATOMS)
    shares[torch.tensor([5, 6, 7, 8, 15, 16])] = torch.tensor([0.73, 0.12, 0.11, 0.02, 0.015, 0.005])
    atoms = torch.multinomial(shares, int(node_ptr[-1]), replacement=True, generator=generator)
    x = torch.stack([atoms, (torch.rand(len(atoms), generator=generator) < 0.05).long()], dim=1)
    edge_index = torch.stack([torch.cat(sources), torch.cat(targets)])
    plain = GraphSet("molecules", x, (ATOMS, 5), edge_index, node_ptr, edge_ptr)
    bonds, receiver = molecule_bonds(plain), edge_index[1] + plain.first_node()
    sums = torch.zeros(len(x), 12)
    sums.index_add_(0, receiver, torch.nn.functional.one_hot(bonds[:, 0], 6).float() @ torch.eye(6, 12))
    sums.index_add_(0, receiver, torch.nn.functional.one_hot(bonds[:, 1], 3).float() @ torch.eye(12)[6:9])
    return replace(plain, edge_sums=sums.to(torch.uint8))


def molecule_bonds(graphs: GraphSet) -> Tensor:
    """[E, 2] bond type and direction: self-loops are type 4."""
    loops = graphs.edge_index[0] == graphs.edge_index[1]
    kind = (graphs.edge_index.sum(0) % 4).masked_fill(loops, 4)
    return torch.stack([kind, torch.zeros_like(kind)], dim=1)


def _gin(**changes: object) -> Recipe:
    settings = {
        "encoder.name": "gin",
        "decoder.name": "gin",
        "encoder.norm": "batch",
        "decoder.norm": "batch",
        "loss.gamma": 1,
        "train.weight_decay": 0.0,
        "mask.replace_rate": 0.0,
        **changes,
    }
    return gm.recipe("default", *(f"{key}={value}" for key, value in settings.items()))


IMDB = {"encoder.hidden_channels": 512, "encoder.num_layers": 2, "train.batch_size": 32, "mask.rate": 0.5}
NCI1 = {"encoder.hidden_channels": 512, "encoder.num_layers": 2, "train.batch_size": 16, "mask.rate": 0.25,
        "mask.replace_rate": 0.1, "loss.gamma": 2}  # fmt: skip
ARXIV = (169_343, 2_484_941, 128)

WORKS: dict[str, Work] = {
    work.name: work
    for work in (
        *(Work(name, gm.recipe(f"node/{name}"), lambda name=name: planetoid(name))
          for name in ("cora", "citeseer", "pubmed")),
        Work("imdb-b", _gin(**IMDB), lambda: tu("imdb-binary")),
        Work("nci1", _gin(**NCI1), lambda: tu("nci1")),
        Work("arxiv", gm.recipe("node/ogbn-arxiv"), lambda: sized(*ARXIV)),
        MoleculeWork("molecules", gm.recipe("default", "train.batch_size=256"), lambda: molecules(8192)),
    )
}  # fmt: skip


def dense_seconds(work: Work) -> float | None:
    """What the dense products of one epoch over many graphs take alone, run one after the other on the CPU."""
    graphs = work.graphs()
    if not isinstance(graphs, GraphSet):
        return None
    network = work.build(graphs.in_channels)
    batches = math.ceil(len(graphs) / work.recipe.train.batch_size)
    nodes = len(graphs.x) // batches
    seconds = 0.0
    for weight in (layer.weight.detach() for layer in network.modules() if isinstance(layer, nn.Linear)):
        x, out = torch.randn(nodes, weight.size(1)), torch.randn(nodes, weight.size(0))
        for left, right in ((x, weight.t()), (out, weight), (out.t(), x)):  # forward, input gradient, weight gradient
            for _ in range(3):
                left @ right
            began = time.perf_counter()
            for _ in range(10):
                left @ right
            seconds += (time.perf_counter() - began) / 10
    return seconds * batches
