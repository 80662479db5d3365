"""Step 7: the one loop, its optimizer, its resumable state and its progress display."""

from .board import board
from .loop import fit
from .optim import make_optimizer, schedule_factor
from .plateau import Plateau
from .pretrain import batches_of, pretrain_model
from .progress import Progress, quiet
from .state import Outcome, TrainingState
from .store import GraphBatch, GraphStore

__all__ = [
    "GraphBatch",
    "GraphStore",
    "Outcome",
    "Plateau",
    "Progress",
    "TrainingState",
    "batches_of",
    "board",
    "fit",
    "make_optimizer",
    "pretrain_model",
    "quiet",
    "schedule_factor",
]
