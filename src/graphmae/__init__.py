"""graphmae: pre-train a graph encoder on unlabelled graphs by masked autoencoding.

Names are resolved when they are first used, so that `import graphmae` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import data, decoders, encoders, losses, masking
    from .api.convert import convert
    from .api.demo import demo
    from .api.doctor import doctor
    from .api.embed import embed
    from .api.evaluate import evaluate
    from .api.finetune import finetune, predict
    from .api.nodes import anomalies, impute, links, similar
    from .api.pretrain import pretrain
    from .api.run import recipe, recipes, reproduce, run
    from .api.tune import tune
    from .estimator import GraphMAEEmbedder
    from .evaluation import edge_embeddings, link_scores, split_edges
    from .finetuning.predictor import Predictor
    from .inference.reconstruction import anomaly_scores, reconstruct
    from .methods import GraphMAE
    from .pretrained import load, load_predictor
    from .results import Result

VERBS = (  # the commands of `graphmae`, and what they are made of
    "anomalies", "convert", "demo", "doctor", "embed", "evaluate", "finetune", "impute", "links", "load", "predict",
    "pretrain", "recipe", "recipes", "reproduce", "run", "similar", "tune",
)  # fmt: skip
_MODULES = ("data", "decoders", "encoders", "kernels", "losses", "masking", "methods", "testing")
_NAMES = {
    "GraphMAE": "methods",
    "GraphMAEEmbedder": "estimator",
    **dict.fromkeys(("anomaly_scores", "reconstruct"), "inference.reconstruction"),
    **dict.fromkeys(("edge_embeddings", "link_scores", "split_edges"), "evaluation"),
    "Predictor": "finetuning",
    "Result": "results",
    "load_predictor": "pretrained",
    **dict.fromkeys(VERBS, "api"),
}

__all__ = [
    "GraphMAE",
    "GraphMAEEmbedder",
    "Predictor",
    "Result",
    "anomalies",
    "anomaly_scores",
    "convert",
    "data",
    "decoders",
    "demo",
    "doctor",
    "edge_embeddings",
    "embed",
    "encoders",
    "evaluate",
    "finetune",
    "impute",
    "link_scores",
    "links",
    "load",
    "load_predictor",
    "losses",
    "masking",
    "predict",
    "pretrain",
    "recipe",
    "recipes",
    "reconstruct",
    "reproduce",
    "run",
    "similar",
    "split_edges",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    if name == "__version__":
        from .runtime.environment import package_version

        return package_version()
    raise AttributeError(f"module 'graphmae' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
