"""One function per command: `gm.X(...)` and `graphmae X` do the same. Each is imported when it is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..pretrained import load as load
    from .arguments import check_arguments as check_arguments
    from .arguments import check_assay as check_assay
    from .arguments import run_folder as run_folder
    from .checking import drift as drift
    from .comparison import compare as compare
    from .conversion import convert as convert
    from .demonstration import demo as demo
    from .diagnosis import doctor as doctor
    from .embedding import embed as embed
    from .evaluation import evaluate as evaluate
    from .experiments import recipe as recipe
    from .experiments import recipes as recipes
    from .experiments import reproduce as reproduce
    from .experiments import run as run
    from .explaining import explain as explain
    from .finetuning import finetune as finetune
    from .learning import curve as curve
    from .missing import predict_links as predict_links
    from .nodes import anomalies as anomalies
    from .nodes import impute as impute
    from .nodes import links as links
    from .nodes import similar as similar
    from .planning import plan as plan
    from .prediction import predict as predict
    from .pretraining import pretrain as pretrain
    from .reporting import report as report
    from .storing import store as store
    from .tuning import tune as tune

# Command → the module of its function, in the order of `graphmae --help`; the command itself is cli/COMMAND.py.
COMMANDS = {
    "demo": "demonstration",
    "run": "experiments",
    "reproduce": "experiments",
    "store": "storing",
    "plan": "planning",
    "pretrain": "pretraining",
    "embed": "embedding",
    "evaluate": "evaluation",
    "drift": "checking",
    "similar": "nodes",
    "anomalies": "nodes",
    "impute": "nodes",
    "links": "nodes",
    "compare": "comparison",
    "report": "reporting",
    "tune": "tuning",
    "finetune": "finetuning",
    "predict": "prediction",
    "explain": "explaining",
    "curve": "learning",
    "convert": "conversion",
    "recipes": "experiments",
    "doctor": "diagnosis",
}
# What commands are made of; predict_links is `graphmae links --predict`.
_OTHERS = {
    "check_arguments": ".arguments",
    "check_assay": ".arguments",
    "load": "..pretrained",
    "predict_links": ".missing",
    "recipe": ".experiments",
    "run_folder": ".arguments",
}
_MODULES = {**{name: f".{module}" for name, module in COMMANDS.items()}, **_OTHERS}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'graphmae.api' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name], __name__), name)
    return value
