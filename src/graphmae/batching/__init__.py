"""What a method is trained on, one batch at a time: a whole graph, parts of one, many small graphs side by side."""

from .batch import Batch
from .batches import Shuffled
from .store import GraphStore

__all__ = ["Batch", "GraphStore", "Shuffled"]
