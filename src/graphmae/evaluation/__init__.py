"""Step 9: how good the embeddings are, always beside the rows that keep the number honest."""

from .clustering import cluster_scores
from .graphs import judge_graphs
from .linear_probe import linear_probe, linear_probes
from .metrics import score
from .neighbours import neighbour_score
from .rows import judge, judge_seeds, representation_scores
from .supervised import supervised_scores
from .svm import check_folds, svm_scores

__all__ = [
    "check_folds",
    "cluster_scores",
    "judge",
    "judge_graphs",
    "judge_seeds",
    "linear_probe",
    "linear_probes",
    "neighbour_score",
    "representation_scores",
    "score",
    "supervised_scores",
    "svm_scores",
]
