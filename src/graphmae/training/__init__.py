"""Step 7: the one loop, its optimizer, its resumable state and its progress display."""

from .loop import fit
from .optim import make_optimizer, schedule_factor
from .pretrain import batches_of, pretrain_model
from .progress import Progress, quiet
from .state import Outcome, TrainingState

__all__ = [
    "Outcome",
    "Progress",
    "TrainingState",
    "batches_of",
    "fit",
    "make_optimizer",
    "pretrain_model",
    "quiet",
    "schedule_factor",
]
