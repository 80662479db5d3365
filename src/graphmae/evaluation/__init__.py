"""Step 9: how good the embeddings are, always beside the rows that keep the number honest."""

from .clustering import cluster_scores
from .finetune import finetune_predictor, predict_graphs
from .fingerprints import ROWS as FINGERPRINT_ROWS
from .fingerprints import fingerprint_scores
from .graphs import judge_graphs
from .linear_probe import linear_probe, linear_probes
from .links import common_neighbours, edge_embeddings, link_scores, split_edges
from .metrics import roc_auc, score
from .neighbours import neighbour_score
from .rows import judge, judge_seeds, representation_scores
from .supervised import supervised_scores
from .svm import check_folds, svm_folds, svm_scores

__all__ = [
    "FINGERPRINT_ROWS",
    "check_folds",
    "cluster_scores",
    "common_neighbours",
    "edge_embeddings",
    "finetune_predictor",
    "fingerprint_scores",
    "judge",
    "judge_graphs",
    "judge_seeds",
    "linear_probe",
    "linear_probes",
    "link_scores",
    "neighbour_score",
    "predict_graphs",
    "representation_scores",
    "roc_auc",
    "score",
    "split_edges",
    "supervised_scores",
    "svm_folds",
    "svm_scores",
]
