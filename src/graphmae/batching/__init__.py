"""What a method is trained on, one batch at a time: many small graphs side by side, a graph in pieces."""

from .store import GraphBatch, GraphStore

__all__ = ["GraphBatch", "GraphStore"]
