"""Which embeddings point the same way."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

CHUNK = 2048


@torch.no_grad()
def nearest(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """([N, k] the rows of highest cosine with each, itself aside, the nearest first; [N, k] these cosines), exact.

    With fewer than k + 1 rows there are as many neighbours as there are others.

    >>> nearest(torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]), 1)[0].flatten().tolist()
    [1, 0, 1]
    """
    unit, k = F.normalize(rows.float()), min(k, len(rows) - 1)
    places, cosines = [], []
    for first in range(0, len(unit), CHUNK):
        part = unit[first : first + CHUNK]
        alike = part @ unit.T
        alike[torch.arange(len(part)), torch.arange(first, first + len(part))] = -2
        best = alike.topk(k, dim=1)
        places.append(best.indices)
        cosines.append(best.values)
    return torch.cat(places), torch.cat(cosines)
