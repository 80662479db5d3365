"""What an embedding is like, measured without labels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from .. import kernels
from ..encoders.views import Views, told
from ..inference.embedding import propagated
from ..runtime.seed import preserved_randomness

MAX_ROWS = 20_000


def spectrum(rows: Tensor) -> tuple[float, Tensor]:
    """(effective rank: e to the entropy of the singular values, RankMe, Garrido et al., 2023; [width] the share of the
    variance in every direction, the largest first) of an embedding `rows` [N, width].

    >>> rank, shares = spectrum(torch.eye(4).repeat(3, 1))
    >>> round(rank, 6), len(shares)
    (3.0, 4)
    """
    centred = rows.double().cpu() - rows.double().cpu().mean(0)
    values = torch.linalg.svdvals(centred).clamp(min=1e-12)
    share = values / values.sum()
    return float(torch.exp(-(share * share.log()).sum())), values.square() / values.square().sum()


def measures(rows: Tensor, graph: Data) -> dict[str, float]:
    """Of an embedding `rows` [N, width] of a graph's nodes.

    "effective rank": e to the entropy of its singular values (RankMe, Garrido et al., 2023). "decay": α of eigenvalues
    falling as i^−α (α-ReQ, Agrawal et al., 2022; near 1 is said to be best). "agreement": the mean cosine of two
    neighbours, less that of two random nodes. "tells features" and "tells neighbours": R² of a ridge regression to the
    nodes' features, and to these averaged over two hops, on nodes held out.

    >>> ring = torch.stack([torch.arange(40), torch.arange(40).roll(1)])
    >>> sorted(measures(torch.rand(40, 8), Data(x=torch.rand(40, 3), edge_index=ring)))
    ['agreement', 'decay', 'effective rank', 'tells features', 'tells neighbours']
    """
    with preserved_randomness(0), torch.no_grad():
        some = torch.randperm(len(rows))[:MAX_ROWS]
        centred = rows.float().cpu() - rows.float().cpu().mean(0)
        values = torch.linalg.svdvals(centred[some].double()).clamp(min=1e-12)
        share = values / values.sum()
        kept = values[values > 1e-6 * values[0]].square()
        index = torch.arange(1, len(kept) + 1, dtype=kept.dtype).log()
        lengths = kept.log() - kept.log().mean()
        decay = -float(
            (lengths * (index - index.mean())).sum() / (index - index.mean()).square().sum().clamp(min=1e-12)
        )
        views = Views.fit([graph], 0, names=("own",))
        own = views.inputs(graph.x, kernels.edges_of(graph))[:, : min(views.in_channels, views.width)]
        fit, held = some.chunk(2)
        unit = F.normalize(centred)
        source, target = graph.edge_index[:, graph.edge_index[0] != graph.edge_index[1]]
        alike = (unit[source] * unit[target]).sum(1).mean() - (unit * unit[torch.randperm(len(unit))]).sum(1).mean()
        return {
            "effective rank": float(torch.exp(-(share * share.log()).sum())),
            "decay": decay,
            "agreement": float(alike),
            "tells features": told(centred, own, fit, held),
            "tells neighbours": told(centred, propagated(own, kernels.edges_of(graph), 2), fit, held),
        }
