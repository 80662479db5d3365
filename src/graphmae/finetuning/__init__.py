"""A pre-trained encoder with a head, trained on measured targets; alone, or as a member of an automatic predictor."""

from .automatic import Answers, AutomaticPredictor
from .committee import Committee
from .finetune import finetune_predictor, predict_graphs
from .fitting import fit_automatic
from .predictor import Predictor

__all__ = [
    "Answers",
    "AutomaticPredictor",
    "Committee",
    "Predictor",
    "finetune_predictor",
    "fit_automatic",
    "predict_graphs",
]
