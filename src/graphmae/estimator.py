"""GraphMAE as a scikit-learn transformer: fit on a graph, transform it (or another) to embeddings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import pretrained
from .data.open import open_dataset
from .experiments import auto
from .experiments import pretrain as pretraining
from .inference.embedding import embed_graphs, embed_nodes
from .methods import Method
from .runtime.device import resolve_device
from .training import Progress, quiet


class GraphMAEEmbedder(TransformerMixin, BaseEstimator):
    """Pre-trains on a graph without labels; its nodes become rows for any scikit-learn model.

    A graph is a PyG `Data`, a NetworkX graph, a pair (x, adjacency) or (node table, edge table), or what
    `graphmae.data.from_tables` gives; a list of `Data` is a set of graphs, one row each.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from graphmae.data import load
    >>> graph = load("synthetic", num_nodes=300).graphs[0]
    >>> model = make_pipeline(GraphMAEEmbedder(epochs=5), LogisticRegression(max_iter=300))
    >>> model.fit(graph, graph.y.numpy()).predict(graph).shape
    (300,)

    Args:
        recipe: "auto" (chosen by the graph), a recipe's id or a TOML file.
        epochs: at most this many; None: the recipe's.
        overrides: other recipe keys, ("mask.rate=0.75", …).
        readout: of sets of graphs: mean, max, sum or several, "mean+max".
    """

    def __init__(
        self,
        recipe: str = "auto",
        epochs: int | None = None,
        overrides: Iterable[str] = (),
        readout: str = "mean",
        seed: int = 0,
        device: str = "auto",
        progress: bool = False,
    ) -> None:
        self.recipe = recipe
        self.epochs = epochs
        self.overrides = overrides
        self.readout = readout
        self.seed = seed
        self.device = device
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> GraphMAEEmbedder:  # noqa: N803
        """Pre-train on the graph; `y` is not looked at."""
        given = [self.overrides] if isinstance(self.overrides, str) else self.overrides
        changes = [*([f"train.epochs={self.epochs}"] if self.epochs is not None else []), *given]
        made, dataset = auto.recipe_for(X, self.recipe, [*changes, f"evaluation.readout={self.readout!r}"])
        used = resolve_device(self.device)
        auto.check_memory(dataset, made, used)
        self.model_ = pretraining.pretrain_once(
            made, dataset, self.seed, used, display=Progress() if self.progress else quiet
        )
        self.n_features_out_ = int(self.model_.reader.out_channels)  # type: ignore[arg-type]
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """[nodes, width], or [graphs, width · readouts]; of tables in the order of their rows."""
        check_is_fitted(self, "model_")
        dataset = open_dataset(X, inputs=self.model_.inputs)
        if dataset.task != "node":
            return embed_graphs(self.model_.reader, dataset, self.readout.split("+"), self.device).numpy()
        rows = embed_nodes(self.model_.reader, dataset, self.device)
        return (torch.cat(rows) if isinstance(rows, list) else rows).numpy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self, "model_")
        return np.array([f"graphmae{i}" for i in range(self.n_features_out_)], dtype=object)

    def save(self, folder: str | Path) -> Path:
        """A checkpoint's folder, no pickle: `GraphMAEEmbedder.load` and `graphmae.load` read it."""
        check_is_fitted(self, "model_")
        return pretrained.save(self.model_, folder)

    @classmethod
    def load(cls, folder: str | Path, **parameters: Any) -> GraphMAEEmbedder:
        """An embedder that transforms with a saved model."""
        made = cls(**parameters)
        made.model_: Method = pretrained.load(folder)  # type: ignore[misc]
        made.n_features_out_ = int(made.model_.reader.out_channels)  # type: ignore[arg-type]
        return made
