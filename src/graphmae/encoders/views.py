"""Views of a node beside what an encoder learns: its own features, its neighbours', and where it stands in the graph.

A linear model on one embedding made of several can always fall back on the best of them. Nothing here is learned from
labels, and everything can be computed for nodes and graphs that were not there in training.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import kernels
from ..data.tables.structure import NAMES, structural_features
from ..runtime.compiled import one_thread
from ..runtime.errors import ConfigError, unknown
from ..runtime.resting import resting_copy
from ..runtime.seed import preserved_randomness

if TYPE_CHECKING:
    from torch_geometric.data import Data

Edges = Tensor | kernels.Adjacency
VIEWS = ("own", "one-hop", "two-hop", "structure")
MIN_BAG = 32  # columns of counts from which they are a bag: fewer are numbers like others
COLUMNS, DIRECTIONS = 1024, 64  # of half of the features, at most
LEAST = 0.2  # weight of a view
PLACE = 0.3  # weight of structure in what the encoder is trained on
TOLD = 0.05  # R² from a node's own features at which a column of structure counts in full; unrelated ones are noise
SAMPLE = 20_000  # rows that directions are found from
STRUCTURE = len(NAMES) + 2  # and how much a node's row holds, its neighbours' rows hold


class Views(nn.Module):
    """Fitted once, on the graphs pre-training sees; then the same for every graph.

    Features are made comparable first: columns of counts or mostly of zeros are weighed by rarity, as words are, and
    their rows scaled to length 1; other columns are standardised. Beyond `width` columns they are reduced to their main
    directions.

    Args:
        in_channels: width of the features as they come.
        learned_channels: width of what the encoder learns.
        names: which views stand beside it, of `VIEWS`.
        width: of features, at most.
    """

    may_be_infinite = ("structure_scale",)  # of columns that are the same everywhere: divided by it, they are 0
    is_bag: Tensor
    shift: Tensor
    weight: Tensor
    mean: Tensor
    basis: Tensor
    structure_mean: Tensor
    structure_scale: Tensor
    centre_own: Tensor
    own_share: Tensor
    structure_share: Tensor
    scale_own: Tensor

    def __init__(self, in_channels: int, learned_channels: int, names: Sequence[str] = VIEWS, width: int = 256) -> None:
        super().__init__()
        for name in names:
            if name not in VIEWS:
                raise ConfigError(unknown("view", name, VIEWS))
        self.in_channels, self.learned_channels = in_channels, learned_channels
        self.names, self.width = tuple(names), width
        kept = min(in_channels, width)
        self.register_buffer("is_bag", torch.zeros(in_channels, dtype=torch.bool))
        self.register_buffer("shift", torch.zeros(in_channels))
        self.register_buffer("weight", torch.ones(in_channels))
        self.register_buffer("mean", torch.zeros(in_channels))
        self.register_buffer("basis", torch.eye(in_channels, kept))
        self.register_buffer("structure_mean", torch.zeros(STRUCTURE))
        self.register_buffer("structure_scale", torch.ones(STRUCTURE))
        self.register_buffer("own_share", torch.ones(()))
        self.register_buffer("structure_share", torch.ones(STRUCTURE))
        for name, size in self._sizes().items():
            self.register_buffer(f"centre_{name}", torch.zeros(size))
            self.register_buffer(f"scale_{name}", torch.ones(()))

    def _sizes(self) -> dict[str, int]:
        kept = min(self.in_channels, self.width)
        return {"own": kept, "one": kept, "two": kept, "structure": STRUCTURE, "learned": self.learned_channels}

    @staticmethod
    def input_channels(features: int, width: int) -> int:
        """Width of what the encoder is trained on."""
        return min(features, width) + STRUCTURE

    @property
    def widths(self) -> list[int]:
        """Of every view in the embedding, in its order; that of what was learned last."""
        sizes = self._sizes()
        return [*(sizes[name.split("-")[0]] for name in self.names), self.learned_channels]

    @property
    def out_channels(self) -> int:
        return sum(self.widths)

    @classmethod
    @one_thread()  # LAPACK's directions are rounded in another way with another number of threads
    @torch.no_grad()
    def fit(
        cls, graphs: Sequence[Data], learned_channels: int, names: Sequence[str] = VIEWS, width: int = 256
    ) -> Views:
        """Views of these graphs' nodes; `settle` adds what needs the trained encoder."""
        views = cls(int(graphs[0].x.size(1)), learned_channels, names, width)
        x = graphs[0].x if len(graphs) == 1 else torch.cat([graph.x for graph in graphs])
        views._learn_treatment(x)
        with preserved_randomness(0):
            some = x if len(x) <= SAMPLE else x[torch.randperm(len(x))[:SAMPLE]]
            treated = views._treated(some)
            views.mean = treated.mean(0)
            if views.in_channels > width:
                kept = min(width, len(some) - 1)
                found = torch.svd_lowrank(treated - views.mean, min(kept + 10, *treated.shape), niter=2)[2][:, :kept]
                views.basis = F.pad(found, (0, width - kept))
        around = torch.cat([views._surroundings(graph.x, graph.edge_index) for graph in graphs])
        views.structure_mean = around.mean(0)
        spread = around.std(0, correction=0)
        views.structure_scale = torch.where(spread > 1e-6, spread, torch.inf)
        plain = [views._plain(graph.x, kernels.edges_of(graph)) for graph in graphs]
        views._settle(plain)
        views.structure_share = _related(*(torch.cat([each[name] for each in plain]) for name in ("structure", "own")))
        said = views.neighbours_say(graphs[0])
        views.own_share = torch.tensor(min(1.0, max(LEAST, said**-2)) if said > 0 else 1.0)
        return views

    def _learn_treatment(self, x: Tensor) -> None:
        counts = ((x >= 0).all(0)) & ((x == x.round()).all(0) | ((x == 0).float().mean(0) >= 0.5))
        if int(counts.sum()) >= MIN_BAG:
            self.is_bag = counts
        spread = x.std(0, correction=0)
        self.shift = torch.where(self.is_bag, 0.0, x.mean(0))
        rarity = torch.log(len(x) / (x != 0).sum(0).clamp(min=1))
        self.weight = torch.where(self.is_bag, rarity, torch.where(spread > 0, 1 / spread, 0.0))

    @torch.no_grad()
    def neighbours_say(self, graph: Data) -> float:
        """How well the surroundings tell half of a node's features, as a share of how well its other half tells them.

        Above 1 a node's own features are noisier than its neighbours' together; near 0 neighbours are not alike.
        """
        nodes = len(graph.x)
        with preserved_randomness(0):
            order = torch.randperm(self.in_channels)
            halves = [order[i::2][:COLUMNS] for i in (0, 1)]
            if nodes < 20 or self.in_channels < 4:
                return 1.0
            treated = self._treated(graph.x)
            given, asked = (_reduced(treated[:, half]) for half in halves)
            fit, held = torch.randperm(nodes).chunk(2)
        ends = graph.edge_index[:, graph.edge_index[0] != graph.edge_index[1]]
        mean = 1 / torch.bincount(ends[1], minlength=nodes).clamp(min=1)
        rows = given
        for _ in range(2):
            total = torch.zeros_like(rows).index_add_(0, ends[1], rows[ends[0]])
            rows = total * mean.unsqueeze(1)
        back = mean * torch.zeros(nodes).index_add_(0, ends[1], mean[ends[0]])  # a walk back says nothing of neighbours
        rows = rows - back.unsqueeze(1) * given
        own, around = (told(view, asked, fit, held) for view in (given, rows))
        return around / own if own > 1e-4 else 1.0

    @torch.no_grad()
    def settle(self, encoder: nn.Module, graphs: Sequence[Data]) -> None:
        """The common scale of what the encoder learned, as of the other views."""
        device, encoder = self.mean.device, resting_copy(encoder)
        found = []
        for graph in graphs:
            x, edges = graph.x.to(device), kernels.edges_of(graph, device)
            found.append({"learned": kernels.encode(encoder, self.inputs(x, edges), edges)})
        self._settle(found)

    def _settle(self, found: Sequence[dict[str, Tensor]]) -> None:
        for name in found[0]:
            rows = torch.cat([views[name] for views in found])
            centre = rows.mean(0)
            length = (rows - centre).square().sum(1).mean().sqrt()
            setattr(self, f"centre_{name}", centre)
            setattr(self, f"scale_{name}", torch.where(length > 0, length, 1.0))

    def _treated(self, x: Tensor) -> Tensor:
        """Features made comparable: [N, in_channels]."""
        rows = (x - self.shift) * self.weight
        if bool(self.is_bag.all()):
            return F.normalize(rows)
        if not bool(self.is_bag.any()):
            return rows
        bag, others = rows * self.is_bag, rows * ~self.is_bag
        return F.normalize(bag) * float((~self.is_bag).sum()) ** 0.5 + others

    def _surroundings(self, x: Tensor, edges: Edges) -> Tensor:
        """Where nodes stand, and how much their rows hold: [N, STRUCTURE], on the CPU."""
        ends = kernels.plain(edges).cpu()
        ends = torch.cat([ends, ends.flip(0)], dim=1)[:, (ends[0] != ends[1]).repeat(2)]
        ends = torch.unique(ends, dim=1)
        places = torch.from_numpy(structural_features(ends.numpy(), len(x))).float()
        filled = (x != 0).sum(1).cpu().float().log1p()
        near = torch.zeros(len(x)).index_add_(0, ends[0], filled[ends[1]])
        near /= torch.bincount(ends[0], minlength=len(x)).clamp(min=1)
        return torch.cat([places, filled.unsqueeze(1), near.unsqueeze(1)], dim=1)

    def _plain(self, x: Tensor, edges: Edges) -> dict[str, Tensor]:
        """Every view but the learned one, as it is."""
        own = (self._treated(x) - self.mean) @ self.basis
        view = kernels.view(edges, len(x))

        def averaged(rows: Tensor) -> Tensor:
            return kernels.aggregate(view, rows.unsqueeze(1), view.adj.symmetric_weight).squeeze(1)

        one = averaged(own)
        around = (self._surroundings(x, edges).to(x.device) - self.structure_mean) / self.structure_scale
        return {"own": own, "one": one, "two": averaged(one), "structure": around}

    def _scaled(self, name: str, rows: Tensor) -> Tensor:
        out: Tensor = (rows - getattr(self, f"centre_{name}")) / getattr(self, f"scale_{name}")
        return out

    def _weighed(self, name: str, plain: dict[str, Tensor]) -> Tensor:
        """A view on the common scale, and less where it is noise."""
        share = {"own": self.own_share, "structure": self.structure_share}
        rows = self._scaled(name, plain[name])
        return rows * share[name] if name in share else rows

    @property
    def narrow_share(self) -> float:
        """What views count beside what was learned: less where features have fewer columns than that, as if each column
        counted the same. A few columns as long as all that was learned would drown it."""
        return min(1.0, min(self.in_channels, self.width) / max(self.learned_channels, 1)) ** 0.5

    @torch.no_grad()
    def inputs(self, x: Tensor, edges: Edges) -> Tensor:
        """[N, input_channels]: what the encoder is trained on, a node's own features and where it stands."""
        return self._inputs(self._plain(x, edges))

    def _inputs(self, plain: dict[str, Tensor]) -> Tensor:
        both = [self._scaled("own", plain["own"]), PLACE * self._weighed("structure", plain)]
        return torch.cat(both, dim=1) * min(self.in_channels, self.width) ** 0.5

    @torch.no_grad()
    def features(self, inputs: Tensor) -> Tensor:
        """[N, in_channels]: features that look like these inputs, as far as their main directions tell."""
        kept = min(self.in_channels, self.width)
        own = inputs[:, :kept] / kept**0.5 * self.scale_own + self.centre_own
        rows = own @ self.basis.t() + self.mean
        return torch.where(self.weight > 0, rows / self.weight.clamp(min=1e-12), 0.0) + self.shift

    def composed(self, encoder: nn.Module, x: Tensor, edges: Edges) -> Tensor:
        """[N, out_channels]: the views and what the encoder makes of a node, on a common scale."""
        with torch.no_grad():
            plain = self._plain(x, edges)
            beside = [self.narrow_share * self._weighed(name.split("-")[0], plain) for name in self.names]
        learned = kernels.encode(encoder, self._inputs(plain), edges)
        return torch.cat([*beside, self._scaled("learned", learned)], dim=1)


def _reduced(rows: Tensor) -> Tensor:
    rows = rows - rows.mean(0)
    if rows.size(1) <= DIRECTIONS:
        return rows
    left, values, _ = torch.svd_lowrank(rows, DIRECTIONS + 6, niter=2)
    return (left * values)[:, :DIRECTIONS]


def told(given: Tensor, asked: Tensor, fit: Tensor, held: Tensor) -> float:
    """R² of the best of a few ridge regressions, on nodes held out."""
    x = (given / given.square().mean().sqrt().clamp(min=1e-12)).double()
    y, best = asked.double(), 0.0
    square, mixed = x[fit].t() @ x[fit], x[fit].t() @ y[fit]
    spread = (y[held] - y[fit].mean(0)).square().sum().clamp(min=1e-12)
    for strength in (1e-3, 1e-2, 1e-1, 1.0, 10.0):
        weights = torch.linalg.solve(square + strength * len(fit) * torch.eye(len(square), dtype=x.dtype), mixed)
        best = max(best, 1 - float((y[held] - x[held] @ weights).square().sum() / spread))
    return best


def _related(structure: Tensor, own: Tensor) -> Tensor:
    """[STRUCTURE] weights: little for columns that a node's own features tell nothing of."""
    if len(own) < 20:
        return torch.ones(structure.size(1))
    with preserved_randomness(0):
        some = torch.randperm(len(own))[:SAMPLE]
        given = _reduced(own[some])
    fit, held = torch.arange(len(some)).chunk(2)
    each = torch.tensor([told(given, column.unsqueeze(1), fit, held) for column in structure[some].t()])
    return (each / TOLD).clamp(LEAST / 2, 1.0)


def neighbours_say(graph: Data) -> float:
    """`Views.neighbours_say` of a graph on its own."""
    views = Views(int(graph.x.size(1)), 0)
    views._learn_treatment(graph.x)
    return views.neighbours_say(graph)


class Composed(nn.Module):
    """An encoder with its views as one module: features as they come in, embeddings out.

    `alone`: the encoder's part only, as it is trained.
    """

    takes_adjacency = True

    def __init__(self, encoder: nn.Module, views: Views, alone: bool = False) -> None:
        super().__init__()
        self.encoder, self.views, self.alone = encoder, views, alone
        self.in_channels, self.edge_channels = views.in_channels, getattr(encoder, "edge_channels", 0)
        self.out_channels = int(encoder.out_channels) if alone else views.out_channels  # type: ignore[arg-type]
        self._known: tuple[Tensor, Edges, Tensor] | None = None  # inputs of the last graph: training sees one often

    def forward(self, x: Tensor, edge_index: Edges) -> Tensor:
        if not self.alone:
            return self.views.composed(self.encoder, x, edge_index)
        if self._known is None or self._known[0] is not x or self._known[1] is not edge_index:
            self._known = x, edge_index, self.views.inputs(x, edge_index)
        return kernels.encode(self.encoder, self._known[2], edge_index)

    def with_views(self, graphs: Sequence[Data]) -> Composed:
        """The encoder as it is beside all views, its part of the same scale as theirs on these graphs."""
        views = copy.deepcopy(self.views)
        views.settle(self.encoder, graphs)
        return Composed(self.encoder, views)
