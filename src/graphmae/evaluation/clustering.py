"""k-means on the embeddings: does the space fall into the classes without any label?"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from torch import Tensor

MAX_ROWS = 20_000


def cluster_scores(z: Tensor, y: Tensor, num_classes: int, seed: int) -> dict[str, float]:
    """NMI and ARI in percent, over at most 20,000 random rows."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(z))[:MAX_ROWS]
    features, labels = z.cpu().numpy()[rows], y.cpu().numpy()[rows]
    clusters = min(num_classes, len(rows))
    found = KMeans(clusters, n_init=4, random_state=seed).fit_predict(features)
    return {
        "nmi": 100 * float(normalized_mutual_info_score(labels, found)),
        "ari": 100 * float(adjusted_rand_score(labels, found)),
    }
