"""graphmae: pre-train a graph encoder on unlabelled graphs by masked autoencoding.

Names are resolved when they are first used, so that `import graphmae` costs nothing.
"""

from __future__ import annotations

import importlib
import random
from typing import TYPE_CHECKING, Any

from .api import COMMANDS
from .runtime.version import __version__ as __version__

if TYPE_CHECKING:
    from . import data as data
    from . import decoders as decoders
    from . import encoders as encoders
    from . import losses as losses
    from . import masking as masking
    from . import methods as methods
    from .api import *  # noqa: F403
    from .batching import Batch as Batch
    from .estimator import GraphMAEEmbedder as GraphMAEEmbedder
    from .estimator import NodeEmbedder as NodeEmbedder
    from .evaluation import edge_embeddings as edge_embeddings
    from .evaluation import link_scores as link_scores
    from .evaluation import split_edges as split_edges
    from .finetuning.predictor import Predictor as Predictor
    from .inference.anomalies import anomaly_scores as anomaly_scores
    from .inference.reconstruction import reconstruct as reconstruct
    from .methods import GraphMAE as GraphMAE
    from .molecule_estimator import MoleculeEmbedder as MoleculeEmbedder
    from .pretrained import load_predictor as load_predictor
    from .results import Result as Result

_MODULES = ("data", "decoders", "encoders", "kernels", "losses", "masking", "methods", "testing")
_NAMES = {
    "Batch": "batching",
    "GraphMAE": "methods",
    **dict.fromkeys(("GraphMAEEmbedder", "NodeEmbedder"), "estimator"),
    "MoleculeEmbedder": "molecule_estimator",
    "anomaly_scores": "inference.anomalies",
    "reconstruct": "inference.reconstruction",
    **dict.fromkeys(("edge_embeddings", "link_scores", "split_edges"), "evaluation"),
    "Predictor": "finetuning",
    "Result": "results",
    "load_predictor": "pretrained",
    **dict.fromkeys((*COMMANDS, "load", "predict_links", "recipe"), "api"),
}
__all__ = sorted([*_NAMES, "data", "decoders", "encoders", "losses", "masking", "methods"])


def __getattr__(name: str) -> Any:
    if name not in _MODULES and name not in _NAMES:
        raise AttributeError(f"module 'graphmae' has no attribute {name!r}")
    state = random.getstate()
    try:
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    finally:
        random.setstate(state)  # rich, which is imported on the way, draws a number when it is


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
