"""How good embeddings are, always beside their baselines."""

from .clustering import cluster_scores
from .fingerprints import ROWS as FINGERPRINT_ROWS
from .fingerprints import fingerprint_scores
from .frozen import frozen_scores
from .graphs import judge_graphs
from .kinds import fitted_to
from .linear_probe import linear_probe, linear_probes
from .links import common_neighbours, edge_embeddings, link_scores, split_edges
from .metrics import roc_auc, score
from .neighbours import neighbour_score
from .rows import judge, judge_seeds, raw_scores, representation_scores
from .supervised import run_supervised, supervised_scores
from .svm import check_folds, svm_folds, svm_scores
from .untrained import settle_norms

__all__ = [
    "FINGERPRINT_ROWS",
    "check_folds",
    "cluster_scores",
    "common_neighbours",
    "edge_embeddings",
    "fingerprint_scores",
    "fitted_to",
    "frozen_scores",
    "judge",
    "judge_graphs",
    "judge_seeds",
    "linear_probe",
    "linear_probes",
    "link_scores",
    "neighbour_score",
    "raw_scores",
    "representation_scores",
    "roc_auc",
    "run_supervised",
    "score",
    "settle_norms",
    "split_edges",
    "supervised_scores",
    "svm_folds",
    "svm_scores",
]
