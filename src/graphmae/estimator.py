"""GraphMAE for scikit-learn: graphs become embeddings, or the nodes of one fixed graph become rows by their ids."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from . import pretrained
from .data.edge_data import EDGE_KEYS
from .data.open import is_named, open_dataset
from .data.tables.cells import as_text
from .data.tables.leaks import find_leaks
from .experiments import auto
from .experiments import pretrain as pretraining
from .inference.embedding import embed_graphs, embed_nodes
from .methods import Method
from .runtime.device import resolve_device
from .runtime.errors import InputError, unknown
from .training import Progress, quiet

MOST_KEPT = 8  # pre-trained models that copies of a NodeEmbedder share
logger = logging.getLogger("graphmae")
UNKNOWN = ("error", "ignore")


class _Pretraining(TransformerMixin, BaseEstimator):
    """What both transformers share: pre-training by a recipe, and the folder of a checkpoint."""

    recipe: str
    epochs: int | None
    overrides: Iterable[str]
    seed: int
    device: str
    progress: bool

    def _changes(self) -> list[str]:
        """The recipe keys that were set, `epochs` among them."""
        given = [self.overrides] if isinstance(self.overrides, str) else self.overrides
        return [*([f"train.epochs={self.epochs}"] if self.epochs is not None else []), *given]

    def _pretrained(
        self, source: Any, changes: list[str], columns: Mapping[str, str] | None = None, single: bool = False
    ) -> tuple[Method, Any]:
        """The pre-trained model, and the data set it was trained on, which must be a `single` graph where asked."""
        made, dataset = auto.recipe_for(source, self.recipe, changes, columns)
        if single:
            dataset.single_graph()
        used = resolve_device(self.device)
        display = Progress() if self.progress else quiet
        return pretraining.pretrain_once(made, dataset, self.seed, used, display=display), dataset

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self, "model_")
        return np.array([f"graphmae{i}" for i in range(self._n_features_out)], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_out_)

    def save(self, folder: str | Path) -> Path:
        """A checkpoint's folder, no pickle: `graphmae.load` and, for graphs, `GraphMAEEmbedder.load` read it."""
        check_is_fitted(self, "model_")
        return pretrained.save(self.model_, folder)


class GraphMAEEmbedder(_Pretraining):
    """Pre-trains on a graph without labels; its nodes become rows for any scikit-learn model.

    A graph is a PyG `Data`, a NetworkX graph, a pair (x, adjacency) or (node table, edge table), or what
    `graphmae.data.from_tables` gives; a list of `Data` is a set of graphs, one row each. A single graph cannot be cut
    into folds: to cross-validate over its nodes, use `NodeEmbedder`.

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

    def __sklearn_tags__(self) -> Any:
        """X is a graph, not a matrix: scikit-learn's checks that fit matrices cannot apply, and are skipped."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None) -> GraphMAEEmbedder:  # noqa: N803
        """Pre-train on the graph; `y` is not looked at."""
        self.model_, _ = self._pretrained(X, [*self._changes(), f"evaluation.readout={self.readout!r}"])
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

    @classmethod
    def load(cls, folder: str | Path, **parameters: Any) -> GraphMAEEmbedder:
        """An embedder that transforms with a saved model."""
        made = cls(**parameters)
        made.model_: Method = pretrained.load(folder)  # type: ignore[misc]
        made.n_features_out_ = int(made.model_.reader.out_channels)  # type: ignore[arg-type]
        return made


class NodeEmbedder(_Pretraining):
    """Nodes of one fixed graph as rows: X are their ids, so every splitter and search of scikit-learn works.

    `fit` pre-trains on the whole graph, without labels, whichever nodes X has; so nodes that are held out are seen
    with their columns and edges, never with their labels (transductive, as in the published results). Copies with the
    same settings share what was pre-trained: five folds pre-train once. A column that says the same as `y` is refused.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from graphmae.data import load
    >>> graph = load("synthetic", num_nodes=300).graphs[0]
    >>> model = make_pipeline(NodeEmbedder(graph, epochs=5), LogisticRegression(max_iter=300))
    >>> cross_val_score(model, np.arange(300), graph.y.numpy(), cv=3).shape
    (3,)

    X is [n], or [n, k] with k nodes per row, whose embeddings then stand side by side: pairs for edges, say.

    Args:
        graph: a single graph, whatever `graphmae.data.open` takes: ("nodes.csv", "edges.csv"), data frames, PyG, ….
        columns: which columns of tables are id, source, target, and label: kept out of the features.
        rows: X are row numbers from 0, as they always are where nodes have no ids.
        handle_unknown: a node that is not in the graph is an "error", or gets zeros ("ignore").
        recipe, epochs, overrides: as of `GraphMAEEmbedder`.
    """

    # Of scikit-learn's checks for estimators, those that cannot apply: `check_estimator` takes this as it is.
    expected_failed_checks = {"check_fit1d": "a list of ids is one-dimensional, and accepted"}  # noqa: RUF012

    def __init__(
        self,
        graph: Any = None,
        columns: Mapping[str, str] | None = None,
        rows: bool = False,
        handle_unknown: str = "error",
        recipe: str = "auto",
        epochs: int | None = None,
        overrides: Iterable[str] = (),
        seed: int = 0,
        device: str = "auto",
        progress: bool = False,
    ) -> None:
        self.graph = graph
        self.columns = columns
        self.rows = rows
        self.handle_unknown = handle_unknown
        self.recipe = recipe
        self.epochs = epochs
        self.overrides = overrides
        self.seed = seed
        self.device = device
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []  # embeddings are float32, whatever ids are
        return tags

    def __sklearn_clone__(self) -> Self:
        """A copy that shares the graph, and what was pre-trained on it, instead of copying both for every fold."""
        settings = {k: v if k == "graph" else clone(v, safe=False) for k, v in self.get_params(deep=False).items()}
        copy = type(self)(**settings)
        copy._shared = self._cache()
        return copy

    def _cache(self) -> dict[str, _Embedded]:
        if not hasattr(self, "_shared"):
            self._shared: dict[str, _Embedded] = {}
        return self._shared

    def fit(self, X: Any, y: Any = None) -> NodeEmbedder:  # noqa: N803
        """Pre-train on the whole graph, unless a copy has; `y` is only compared with columns, to refuse its own."""
        if self.graph is None:
            raise InputError('a NodeEmbedder needs its graph: NodeEmbedder(("nodes.csv", "edges.csv"))')
        if self.handle_unknown not in UNKNOWN:
            raise InputError(unknown("handle_unknown", self.handle_unknown, UNKNOWN))
        asked = _texts(validate_data(self, _column(X), dtype=None))
        found = self._embedded()
        places = self._places(found, asked)
        if y is not None and len(asked) == 1:
            found.refuse_labels(places[0], np.asarray(y))
        self.model_, self.ids_, self.embeddings_ = found.model, found.ids, found.rows
        self.n_features_out_ = len(asked) * found.rows.shape[1]
        self._found = found
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """[n, k · width]: the embeddings of the nodes in each row of X, float32."""
        check_is_fitted(self, "model_")
        table = validate_data(self, _column(X) if self.n_features_in_ == 1 else X, dtype=None, reset=False)
        places = self._places(self._found, _texts(table))
        rows = np.vstack([self.embeddings_, np.zeros_like(self.embeddings_[:1])])  # -1, the last, is an unknown node
        return np.hstack([rows[place] for place in places])

    def _places(self, found: _Embedded, asked: list[pa.Array]) -> list[np.ndarray]:
        """For each column of X, the row of every node; -1 for nodes that are not there, where they are ignored."""
        known = pa.array([str(i) for i in range(len(found.rows))]) if self.rows else found.ids
        places = [pc.fill_null(pc.index_in(texts, known), -1).to_numpy(zero_copy_only=False) for texts in asked]
        for texts, place in zip(asked, places, strict=True):
            if self.handle_unknown == "error" and (place < 0).any():
                first = texts[int((place < 0).argmax())].as_py()
                what = f"a row number below {len(known):,}" if self.rows else f"a node ({_some(known)})"
                raise InputError(f"X has {int((place < 0).sum()):,} values that are not nodes; {first!r} is not {what}")
        return places

    def _embedded(self) -> _Embedded:
        """What was pre-trained on this graph with these settings, or is now."""
        named = is_named(self.graph)
        source = self.graph if named else open_dataset(self.graph, None, self.columns)
        state = _stamp(source) if named else _fingerprint(source.single_graph())
        settings = (self.columns, str(self.recipe), self._changes(), self.seed, str(self.device))
        key, cache = hashlib.sha256(repr((state, settings)).encode()).hexdigest(), self._cache()
        if key not in cache:
            columns = self.columns if named else None
            model, dataset = self._pretrained(source, self._changes(), columns, single=True)
            if dataset.node_ids() is not None:  # training may have sorted them; here rows are the table's
                dataset = open_dataset(source, None, columns, model.inputs)
            cache[key] = _Embedded.of(model, dataset, self.device)
            for old in list(cache)[:-MOST_KEPT]:
                del cache[old]
        return cache[key]


@dataclass(frozen=True)
class _Embedded:
    """A pre-trained model and the nodes of its graph: ids, embeddings, and the columns that became features."""

    model: Method
    ids: pa.Array
    rows: np.ndarray
    columns: tuple[Any, ...]
    features: np.ndarray
    warned: set[tuple[str, ...]] = field(default_factory=set)  # of these columns; every fold fits once more

    @classmethod
    def of(cls, model: Method, dataset: Any, device: str) -> _Embedded:
        graph, ids = dataset.single_graph(), dataset.node_ids()
        rows = embed_nodes(model.reader, dataset, device)
        assert isinstance(rows, torch.Tensor)
        text = pa.array([str(i) for i in range(len(rows))]) if ids is None else as_text(ids).combine_chunks()
        return cls(model, text, rows.numpy(), getattr(dataset, "columns", ()), graph.x.numpy())

    def refuse_labels(self, places: np.ndarray, y: np.ndarray) -> None:
        """Refuse a column that says the same as `y`: pre-training has seen it, at the nodes held out too."""
        nodes, first = np.unique(places, return_index=True)
        nodes, first = nodes[nodes >= 0], first[nodes >= 0]
        for target in y.reshape(len(y), -1)[first].T:
            for leak in find_leaks(self.columns, self.features[nodes], target, "y"):
                kinds = json.dumps(dict.fromkeys(leak.columns, "ignore"), ensure_ascii=False)
                hint = f'columns={{"kinds": {kinds}}}'
                if leak.is_same:
                    raise InputError(f"{leak.sentence}, so it must not be a feature: {hint}")
                if leak.columns not in self.warned:
                    logger.warning("%s. If it is made from y, leave it out: %s", leak.sentence, hint)
                    self.warned.add(leak.columns)


def _column(ids: Any) -> Any:
    """A list of ids as a column; a table of them, and anything else, as it is."""
    if hasattr(ids, "to_frame"):  # a Series: its name is not a feature's
        return ids.to_numpy()[:, None]
    if isinstance(ids, list | tuple | range) or (hasattr(ids, "__array__") and getattr(ids, "ndim", 0) == 1):
        values = np.asarray(ids)
        return values[:, None] if values.ndim == 1 else values
    return ids


def _texts(table: Any) -> list[pa.Array]:
    """Each column's cells as ids are compared: 7, 7.0 and "7" are the same."""
    columns = [pa.array(column.tolist() if column.dtype == object else column) for column in np.asarray(table).T]
    return [as_text(pa.chunked_array([column])).combine_chunks() for column in columns]


def _some(ids: pa.Array) -> str:
    return ", ".join(repr(each) for each in ids.slice(0, 3).to_pylist()) + ", …"


def _stamp(graph: Any) -> list[tuple[str, int, int]]:
    """Which files, and as of when; a data set's name as it is."""
    paths = [Path(part) for part in ([graph] if isinstance(graph, str | Path) else graph)]
    stats = [(path, path.stat() if path.exists() else None) for path in paths]
    return [(str(path), 0, 0) if s is None else (str(path.absolute()), s.st_mtime_ns, s.st_size) for path, s in stats]


def _fingerprint(graph: Any) -> str:
    digest = hashlib.sha256()
    for tensor in (graph.x, graph.edge_index, *(graph[key] for key in EDGE_KEYS if key in graph)):
        digest.update(np.ascontiguousarray(tensor.numpy()).tobytes())
    return digest.hexdigest()
