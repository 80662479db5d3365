"""Step 7: the one loop, its optimizer, its resumable state and its progress display."""

from .logs import tensorboard
from .loop import fit
from .optim import make_optimizer, schedule_factor
from .pretrain import batches_of, pretrain_model
from .progress import Progress, quiet
from .state import Outcome, TrainingState
from .stopping import Plateau

__all__ = [
    "Outcome",
    "Plateau",
    "Progress",
    "TrainingState",
    "batches_of",
    "fit",
    "make_optimizer",
    "pretrain_model",
    "quiet",
    "schedule_factor",
    "tensorboard",
]
