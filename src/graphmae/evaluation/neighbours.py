"""k-nearest neighbours: do the few labelled nodes lie among their own kind?"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .metrics import score

CHUNK = 4096


def neighbour_score(train: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor], num_classes: int, k: int = 5) -> float:
    """Test score of a vote among the `k` training rows of highest cosine similarity."""
    (x, y), (test_x, test_y) = train, test
    votes_of = F.one_hot(y, num_classes).double() if y.dim() == 1 else y.double()
    x = F.normalize(x.float(), dim=1)
    k = min(k, len(x))
    votes = []
    for part in F.normalize(test_x.float(), dim=1).split(CHUNK):
        similarity, nearest = (part @ x.T).topk(k, dim=1)
        # Equal votes go to the class whose neighbours are closer.
        weight = 1 + 1e-3 * similarity.double()
        votes.append((votes_of[nearest] * weight.unsqueeze(2)).sum(1) / weight.sum(1, keepdim=True))
    share = torch.cat(votes)
    return float(score(share if y.dim() == 1 else share - 0.5, test_y))
