"""One function per command: `gm.X(...)` and `graphmae X` do the same."""

from ..pretrained import load
from .convert import convert
from .demo import demo
from .doctor import doctor
from .embed import embed
from .evaluate import evaluate
from .finetune import finetune, predict
from .nodes import anomalies, impute, links, similar
from .pretrain import pretrain
from .run import recipe, recipes, reproduce, run, run_folder
from .tune import tune

__all__ = [
    "anomalies",
    "convert",
    "demo",
    "doctor",
    "embed",
    "evaluate",
    "finetune",
    "impute",
    "links",
    "load",
    "predict",
    "pretrain",
    "recipe",
    "recipes",
    "reproduce",
    "run",
    "run_folder",
    "similar",
    "tune",
]
