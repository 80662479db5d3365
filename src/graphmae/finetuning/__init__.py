"""A pre-trained encoder with a head, trained on measured targets."""

from .finetune import finetune_predictor, predict_graphs
from .predictor import Predictor

__all__ = ["Predictor", "finetune_predictor", "predict_graphs"]
