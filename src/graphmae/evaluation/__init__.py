"""How good embeddings are, compared with their baselines."""

from .clustering import cluster_scores
from .evaluator import BASELINES, Evaluator, Row, baseline, evaluates, evaluator_for
from .fingerprints import ROWS as FINGERPRINT_ROWS
from .fingerprints import fingerprint_scores
from .frozen import frozen_scores
from .graphs import GraphEvaluator
from .linear_probe import linear_probes
from .links import (
    HELD_OUT,
    LINK_WAYS,
    NEGATIVES,
    EdgeSplit,
    edge_embeddings,
    link_scores,
    pair_score,
    simple_rows,
    split_edges,
)
from .metrics import roc_auc, score
from .neighbours import neighbour_score
from .netmf import netmf
from .nodes import NodeEvaluator, walks_of
from .simple_links import simple_scores
from .supervised import run_supervised, supervised_scores
from .svm import svm_folds, svm_scores
from .targets import mean_scores, part_scores, target_scores
from .untrained import settled

__all__ = [
    "BASELINES",
    "FINGERPRINT_ROWS",
    "HELD_OUT",
    "LINK_WAYS",
    "NEGATIVES",
    "EdgeSplit",
    "Evaluator",
    "GraphEvaluator",
    "NodeEvaluator",
    "Row",
    "baseline",
    "cluster_scores",
    "edge_embeddings",
    "evaluates",
    "evaluator_for",
    "fingerprint_scores",
    "frozen_scores",
    "linear_probes",
    "link_scores",
    "mean_scores",
    "neighbour_score",
    "netmf",
    "pair_score",
    "part_scores",
    "roc_auc",
    "run_supervised",
    "score",
    "settled",
    "simple_rows",
    "simple_scores",
    "split_edges",
    "supervised_scores",
    "svm_folds",
    "svm_scores",
    "target_scores",
    "walks_of",
]
