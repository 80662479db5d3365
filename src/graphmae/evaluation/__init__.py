"""How good embeddings are, compared with their baselines.

Names are resolved when they are first used: a metric imports no scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clustering import cluster_scores as cluster_scores
    from .evaluator import BASELINES as BASELINES
    from .evaluator import Evaluator as Evaluator
    from .evaluator import Row as Row
    from .evaluator import baseline as baseline
    from .evaluator import evaluates as evaluates
    from .evaluator import evaluator_for as evaluator_for
    from .fingerprints import FINGERPRINT_ROWS as FINGERPRINT_ROWS
    from .fingerprints import fingerprint_scores as fingerprint_scores
    from .frozen import frozen_scores as frozen_scores
    from .graphs import GraphEvaluator as GraphEvaluator
    from .linear_probe import linear_probes as linear_probes
    from .links import HELD_OUT as HELD_OUT
    from .links import LINK_WAYS as LINK_WAYS
    from .links import NEGATIVES as NEGATIVES
    from .links import EdgeSplit as EdgeSplit
    from .links import edge_embeddings as edge_embeddings
    from .links import link_scores as link_scores
    from .links import num_pairs as num_pairs
    from .links import pair_score as pair_score
    from .links import simple_rows as simple_rows
    from .links import simple_scores_of as simple_scores_of
    from .links import split_edges as split_edges
    from .metrics import roc_auc as roc_auc
    from .metrics import score as score
    from .neighbours import neighbour_score as neighbour_score
    from .nodes import NodeEvaluator as NodeEvaluator
    from .nodes import walks_of as walks_of
    from .simple_links import simple_scores as simple_scores
    from .supervised import run_supervised as run_supervised
    from .supervised import supervised_scores as supervised_scores
    from .svm import svm_folds as svm_folds
    from .svm import svm_scores as svm_scores
    from .targets import mean_scores as mean_scores
    from .targets import part_scores as part_scores
    from .targets import target_scores as target_scores
    from .untrained import settled as settled

_NAMES = {
    "cluster_scores": "clustering",
    **dict.fromkeys(("BASELINES", "Evaluator", "Row", "baseline", "evaluates", "evaluator_for"), "evaluator"),
    **dict.fromkeys(("FINGERPRINT_ROWS", "fingerprint_scores"), "fingerprints"),
    "frozen_scores": "frozen",
    "GraphEvaluator": "graphs",
    "linear_probes": "linear_probe",
    **dict.fromkeys(("HELD_OUT", "LINK_WAYS", "NEGATIVES", "EdgeSplit", "edge_embeddings", "link_scores"), "links"),
    **dict.fromkeys(("num_pairs", "pair_score", "simple_rows", "simple_scores_of", "split_edges"), "links"),
    **dict.fromkeys(("roc_auc", "score"), "metrics"),
    "neighbour_score": "neighbours",
    **dict.fromkeys(("NodeEvaluator", "walks_of"), "nodes"),
    "simple_scores": "simple_links",
    **dict.fromkeys(("run_supervised", "supervised_scores"), "supervised"),
    **dict.fromkeys(("svm_folds", "svm_scores"), "svm"),
    **dict.fromkeys(("mean_scores", "part_scores", "target_scores"), "targets"),
    "settled": "untrained",
}
_REGISTERING = ("graphs", "nodes")  # who looks for an evaluator or a baseline finds those that come with the package
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'graphmae.evaluation' has no attribute {name!r}")
    if _NAMES[name] == "evaluator":
        for module in _REGISTERING:
            importlib.import_module(f".{module}", __name__)
    return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
