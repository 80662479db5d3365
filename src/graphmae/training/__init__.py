"""The one loop, its optimiser, its resumable state and its progress display."""

from .capture import CapturedBatches, CapturedStep, UnrecordedStep
from .distributed import Ranks, connect
from .journal import Journal
from .logs import tensorboard
from .optim import make_optimizer, make_schedule
from .pretrain import pretrain_model
from .progress import Progress, quiet
from .state import Outcome, Progressed, TrainingState
from .stopping import Plateau
from .trainer import Batches, Trainer

__all__ = [
    "Batches",
    "CapturedBatches",
    "CapturedStep",
    "Journal",
    "Outcome",
    "Plateau",
    "Progress",
    "Progressed",
    "Ranks",
    "Trainer",
    "TrainingState",
    "UnrecordedStep",
    "connect",
    "make_optimizer",
    "make_schedule",
    "pretrain_model",
    "quiet",
    "tensorboard",
]
