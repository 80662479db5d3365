"""GraphCL (You et al., NeurIPS 2020): a graph recognises its changed copy among those of others. And JOAO."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch
from ..runtime.errors import ConfigError
from .augment import augmented, check_augmentations
from .base import REGISTRY, Method


@REGISTRY.register("graphcl")
class GraphCL(Method):
    """L = mean of −log e^{s(zᵢ,zᵢ′)/τ} / Σ_{j≠i} e^{s(zᵢ,zⱼ′)/τ}, s the cosine of two graphs' projections.

    As published the graph itself is not in the sum below, so L can fall below 0.

    >>> from graphmae import encoders
    >>> model = GraphCL(encoders.GIN(7, hidden_channels=32, num_layers=3, output="all"))
    >>> ring = torch.stack([torch.arange(6), torch.arange(6).roll(1)])
    >>> model(torch.rand(6, 7), ring, torch.tensor([0, 0, 0, 1, 1, 1])).shape
    torch.Size([])

    Args:
        augmentations: what a copy is drawn from, for every graph anew; see `graphmae.methods.augment`.
        rate: the share of nodes, edges or features a change takes away.
        keep: the share a subgraph keeps.
        both: change both copies, as published for molecules, not one.
        readout: of a graph's nodes, "sum" or "mean".
        temperature: τ.
        joao: γ of JOAO (You et al., ICML 2021), which draws hard changes more often; 0: all alike. As published it
            moves after every epoch; here by the losses of that epoch, without passes of its own.
    """

    tasks = ("graph", "molecule")
    changes_edges = True
    tries = ("method.rate=0.1,0.2", "method.temperature=0.2,0.1,0.5")
    likely: Tensor
    seen: Tensor

    def __init__(
        self,
        encoder: nn.Module,
        augmentations: tuple[str, ...] = ("drop-node", "subgraph"),
        rate: float = 0.1,
        keep: float = 0.2,
        both: bool = False,
        readout: str = "sum",
        temperature: float = 0.2,
        joao: float = 0.0,
    ) -> None:
        super().__init__()
        check_augmentations(augmentations)
        if not 0 < rate < 1 or not 0 < keep < 1 or temperature <= 0 or joao < 0:
            raise ConfigError(
                f"rate and keep must be in (0, 1), not {rate} and {keep}; temperature above 0, not {temperature}; "
                f"joao at least 0, not {joao}"
            )
        if readout not in ("sum", "mean"):
            raise ConfigError(f"readout must be 'sum' or 'mean', not {readout!r}")
        self.encoder, self.augmentations, self.both = encoder, tuple(augmentations), both
        self.rate, self.keep = rate, keep
        self.readout, self.temperature, self.joao = readout, temperature, joao
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.projector = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        kinds = len(self.augmentations)
        self.register_buffer("likely", torch.full((kinds,), 1 / kinds))
        self.register_buffer("seen", torch.zeros(2, kinds))  # sum of losses and number of graphs, by change

    @property
    def takes_padding(self) -> bool:
        # Which edges are one edge is found out anew for every batch, and waits for the device.
        return "drop-edge" not in self.augmentations and bool(getattr(self.encoder, "records_steps", False))

    def after_epoch(self) -> None:
        if not self.joao or not bool(self.seen[1].all()):
            return
        losses, kinds = self.seen[0] / self.seen[1], len(self.augmentations)
        self.likely.copy_(on_simplex(self.likely + losses - self.joao * (self.likely - 1 / kinds)))
        self.seen.zero_()

    def loss(self, batch: Batch) -> Tensor:
        choice = torch.multinomial(self.likely, batch.num_graphs, replacement=True)
        plain = self._copy(batch) if self.both else batch
        z, other = (
            self._project(plain),
            self._project(augmented(batch, self.augmentations, choice, self.rate, self.keep)),
        )
        scores = F.normalize(z) @ F.normalize(other).t() / self.temperature
        if len(scores) == 1:  # nobody to be told from
            return -scores.mean()
        itself = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        each = scores.masked_fill(itself, -torch.inf).logsumexp(1) - scores.diagonal()
        if self.joao and self.training:
            self.seen[0].index_add_(0, choice, each.detach())
            self.seen[1].index_add_(0, choice, torch.ones_like(each))
        return each.mean()

    def terms(self, batch: Batch) -> int:
        return batch.num_graphs

    def _copy(self, batch: Batch) -> Batch:
        choice = torch.multinomial(self.likely, batch.num_graphs, replacement=True)
        return augmented(batch, self.augmentations, choice, self.rate, self.keep)

    def _project(self, batch: Batch) -> Tensor:
        code = self.encode(batch)
        out: Tensor = self.projector(batch.sum(code) if self.readout == "sum" else batch.mean(code))
        return out


def on_simplex(values: Tensor) -> Tensor:
    """The nearest numbers that are at least 0 and add up to 1.

    >>> on_simplex(torch.tensor([2.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    ordered = values.sort(descending=True).values
    excess = (ordered.cumsum(0) - 1) / torch.arange(1, len(values) + 1, device=values.device)
    last = int((ordered > excess).sum()) - 1
    return (values - excess[last]).clamp(min=0)
