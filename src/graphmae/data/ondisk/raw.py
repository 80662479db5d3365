"""Raw files of large public graphs, a piece at a time, as OGB and PyG lay them out in a folder:

OGB          raw/edge.csv.gz, raw/node-feat.csv.gz, raw/node-label.csv.gz, split/*/{train,valid,test}.csv.gz
OGB, binary  raw/data.npz (edge_index, node_feat), raw/node-label.npz, split/*/…                       (papers100M)
GraphSAINT   raw/adj_full.npz, raw/feats.npy, raw/class_map.json, raw/role.json       (Flickr, Yelp, AmazonProducts)
Reddit       raw/reddit_graph.npz (row, col), raw/reddit_data.npz (feature, label, node_types)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.errors import DataError, InputError
from ...runtime.untrusted import MOST_JSON, read_object
from ..checks import LARGEST
from .layout import SPLITS
from .nodes_table import Progress
from .pieces import NumberLines, StreamedArray

Edges = Iterator[tuple[np.ndarray, np.ndarray]]  # (senders, receivers), some at a time
MOST_CLASSES = 100_000


@dataclass(frozen=True)
class RawGraph:
    """A graph in the files of a folder; nothing is read before it is asked for.

    Attributes:
        nodes: how many there are, without reading their features.
        features: a new pass over the rows of all nodes, in order, some at a time.
        edges: a new pass over the edges.
        labels: number of nodes → [N] int64, −1: not known; None: there are none that a node has one of.
        split: number of nodes → [N] int8, 1 + the position in `SPLITS`; None: the files have no split.
        files: what it is made of.
        without: what the files hold and a store does not, for the user.
    """

    name: str
    nodes: Callable[[], int]
    features: Callable[[], Iterator[np.ndarray]]
    edges: Callable[[], Edges]
    labels: Callable[[int], np.ndarray | None] | None
    split: Callable[[int], np.ndarray] | None
    files: tuple[Path, ...]
    without: str = ""


def find_raw(folder: str | Path) -> RawGraph:
    """The graph whose raw files are in a folder, or in its folder `raw`."""
    folder = Path(folder).resolve()
    for raw in (folder / "raw", folder):
        for name, opened in LAYOUTS.items():
            if (raw / name).is_file():
                return opened(folder.parent if raw.name == "raw" and raw == folder else folder, raw)
    raise DataError(f"{folder} has none of the raw files {', '.join(LAYOUTS)}")


def _ogb(folder: Path, raw: Path) -> RawGraph:
    edges, features = raw / "edge.csv.gz", raw / "node-feat.csv.gz"
    of_labels = raw / "node-label.csv.gz"
    needed = (edges, features, *([of_labels] if of_labels.is_file() else []))
    split, parts = _ogb_split(folder)
    return RawGraph(
        folder.name, NumberLines(features, np.float32).count, NumberLines(features, np.float32).rows,
        lambda: _columns(NumberLines(edges, np.int64)),
        (lambda nodes: _classes(np.concatenate(list(NumberLines(of_labels, np.float64).rows())), nodes, of_labels))
        if of_labels.is_file() else None,
        split, _present(needed) + parts,
    )  # fmt: skip


def _ogb_binary(folder: Path, raw: Path) -> RawGraph:
    path, of_labels = raw / "data.npz", raw / "node-label.npz"
    split, parts = _ogb_split(folder)
    has_labels = of_labels.is_file()
    return RawGraph(
        folder.name, lambda: StreamedArray(path, "node_feat").shape[0], StreamedArray(path, "node_feat").rows,
        lambda: _two_rows(StreamedArray(path, "edge_index")),
        (lambda nodes: _classes(StreamedArray(of_labels, "node_label").whole(), nodes, of_labels))
        if has_labels else None,
        split, _present((path, *([of_labels] if has_labels else []))) + parts,
    )  # fmt: skip


def _graphsaint(folder: Path, raw: Path) -> RawGraph:
    adjacency, features, classes, roles = (
        raw / name for name in ("adj_full.npz", "feats.npy", "class_map.json", "role.json")
    )
    files = _present((adjacency, features))
    given = classes.is_file() and classes.stat().st_size <= MOST_JSON
    return RawGraph(
        folder.name, lambda: StreamedArray(features).shape[0], StreamedArray(features).rows,
        lambda: _compressed(adjacency),
        (lambda nodes: _class_map(classes, nodes)) if given else None,
        (lambda nodes: _roles(roles, nodes)) if roles.is_file() else None,
        files + tuple(path for path in (classes, roles) if path.is_file()),
        "" if given or not classes.is_file() else f"{classes.name} is too large for JSON that is read at once",
    )  # fmt: skip


def _reddit(folder: Path, raw: Path) -> RawGraph:
    edges, data = raw / "reddit_graph.npz", raw / "reddit_data.npz"

    def pairs() -> Edges:
        sides = (StreamedArray(edges, side).rows() for side in ("row", "col"))
        return zip(*sides, strict=True)

    def split(nodes: int) -> np.ndarray:
        role = StreamedArray(data, "node_types").whole()
        if role.shape != (nodes,) or not np.isin(role, (1, 2, 3)).all():
            raise DataError(f"{data}: node_types must say 1 (train), 2 (val) or 3 (test) of each of {nodes:,} nodes")
        return role.astype(np.int8)

    return RawGraph(
        folder.name, lambda: StreamedArray(data, "feature").shape[0], StreamedArray(data, "feature").rows, pairs,
        lambda nodes: _classes(StreamedArray(data, "label").whole(), nodes, data), split, _present((edges, data)),
        "pre-training on it sees posts of the test days too; the data set 'reddit' leaves them out",
    )  # fmt: skip


@dataclass(frozen=True)
class RawFeatures:
    """Features on their way to the disk, with what one pass over them told.

    Attributes:
        treatment: what is done to them, as a model keeps it.
        scale: [k] what an int8 of 1 stands for, where they become int8.
    """

    raw: RawGraph
    nodes: int
    width: int
    treatment: dict[str, Any]
    split: np.ndarray | None
    scale: np.ndarray | None

    @classmethod
    def learn(cls, raw: RawGraph, dtype: str, progress: Progress) -> RawFeatures:
        """Count nodes, and find mean and deviation over the training nodes, or over all where there are none."""
        first = next(raw.features(), np.empty((0, 0)))
        if first.ndim != 2 or not first.size:
            raise DataError(f"{raw.files[0].parent}: features must be a matrix with at least one row and one column")
        nodes, width = raw.nodes(), first.shape[1]
        split = None if raw.split is None else raw.split(nodes)
        chosen = None if split is None or not (split == 1).any() else split == 1
        mean, std = _moments(raw, nodes, width, chosen, progress)
        moments = {"mean": mean.tolist(), "std": std.tolist()}
        treatment = {"features": "standardize", "self_loops": True, "moments": moments}
        found = cls(raw, nodes, width, treatment, split, None)
        if dtype != "int8":
            return found
        largest = np.max([np.abs(piece).max(0) for piece in found.treated()], axis=0) / 127
        return replace(found, scale=np.where(largest > 0, largest, 1.0).astype(np.float32))

    def treated(self) -> Iterator[np.ndarray]:
        """[n, k] float32, some rows at a time."""
        mean, std = (np.array(self.treatment["moments"][key]) for key in ("mean", "std"))
        for piece in self.raw.features():
            rows = ((piece - mean) / std).astype(np.float32)
            if not (np.abs(rows) <= LARGEST).all():  # NaN neither
                raise DataError(f"{self.raw.name}: a feature is not a number, or larger than {LARGEST:.0e}")
            yield rows


def _moments(
    raw: RawGraph, nodes: int, width: int, chosen: np.ndarray | None, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """[k] mean and deviation over the `chosen` nodes [N] or all, by adding up those of pieces (Chan et al. 1979)."""
    count, mean, squares, done = 0, np.zeros(width), np.zeros(width), 0
    for piece in raw.features():
        rows = piece if chosen is None else piece[chosen[done : done + len(piece)]]
        done += len(piece)
        progress("mean and deviation", done, nodes)
        if not len(rows):
            continue
        rows = rows.astype(np.float64)
        own, whole = rows.mean(0), count + len(rows)
        squares += ((rows - own) ** 2).sum(0) + (own - mean) ** 2 * (count * len(rows) / whole)
        mean, count = mean + (own - mean) * (len(rows) / whole), whole
    if not np.isfinite(squares).all():
        raise DataError(f"{raw.name}: a feature is not a number, or too large")
    std = np.sqrt(squares / count)
    return mean, np.where(std > 0, std, 1.0)


LAYOUTS: dict[str, Callable[[Path, Path], RawGraph]] = {
    "edge.csv.gz": _ogb, "data.npz": _ogb_binary, "adj_full.npz": _graphsaint, "reddit_graph.npz": _reddit,
}  # fmt: skip


def _present(files: tuple[Path, ...]) -> tuple[Path, ...]:
    if lacking := [str(path) for path in files if not path.is_file()]:
        raise InputError(f"no file {' and no file '.join(lacking)}, which belongs to {files[0]}")
    return files


def _columns(lines: NumberLines) -> Edges:
    """Two numbers per line."""
    for rows in lines.rows():
        if rows.shape[1] != 2:
            raise DataError(f"{lines.path} must have two numbers per line, not {rows.shape[1]}")
        yield rows[:, 0], rows[:, 1]


def _two_rows(array: StreamedArray) -> Edges:
    """[2, edges], one row after the other in the file: both are read at once."""
    if len(array.shape) != 2 or array.shape[0] != 2:
        raise DataError(f"{array.where} must be [2, edges], not {list(array.shape)}")
    if array.is_fortran:  # the two ends of an edge are side by side
        for rows in array.rows():
            yield rows[:, 0], rows[:, 1]
    else:
        yield from zip(array.row(0), array.row(1), strict=True)


def _compressed(path: Path) -> Edges:
    """A SciPy matrix in compressed rows."""
    begins, at = StreamedArray(path, "indptr").whole().astype(np.int64), 0
    if not len(begins) or begins[0] != 0 or (np.diff(begins) < 0).any():
        raise DataError(f"{path}: indptr must rise from 0")
    for columns in StreamedArray(path, "indices").rows():
        if at + len(columns) > begins[-1]:
            raise DataError(f"{path}: indices are more than indptr says")
        rows = np.searchsorted(begins, np.arange(at, at + len(columns)), side="right") - 1
        yield rows, columns.astype(np.int64)
        at += len(columns)
    if at != begins[-1]:
        raise DataError(f"{path}: there are {at:,} indices, and indptr says {begins[-1]:,}")


def _classes(values: np.ndarray, nodes: int, path: Path) -> np.ndarray | None:
    """[N] the class of every node, −1 where it is not known; None where nodes have several labels each."""
    if values.ndim == 2 and values.shape[1] != 1:
        return None
    flat = values.reshape(-1).astype(np.float64)
    if len(flat) != nodes:
        raise DataError(f"{path} has labels of {len(flat):,} nodes, and there are features of {nodes:,}")
    known = np.isfinite(flat)
    if ((flat[known] < -1) | (flat[known] >= MOST_CLASSES) | (flat[known] % 1 != 0)).any():
        raise DataError(f"{path}: labels must be whole numbers from 0 to {MOST_CLASSES:,}")
    return np.where(known, flat, -1).astype(np.int64)


def _ogb_split(folder: Path) -> tuple[Callable[[int], np.ndarray] | None, tuple[Path, ...]]:
    """(number of nodes → the split, its files); the first way to split in alphabetical order."""
    ways = sorted(folder.glob("split/*/train.csv.gz"))
    if not ways:
        return None, ()
    files = tuple(ways[0].with_name(f"{name}.csv.gz") for name in ("train", "valid", "test"))
    return lambda nodes: _split_of_lists(files, nodes), _present(files)


def _split_of_lists(files: tuple[Path, ...], nodes: int) -> np.ndarray:
    lists = (np.concatenate(list(NumberLines(path, np.int64).rows())).reshape(-1) for path in files)
    return _split(zip(files, lists, strict=True), nodes)


def _roles(path: Path, nodes: int) -> np.ndarray:
    roles = read_object(path)
    lists: list[tuple[Any, np.ndarray]] = []
    for key in ("tr", "va", "te"):
        values = roles.get(key)
        if not isinstance(values, list) or not all(type(value) is int for value in values):
            raise DataError(f"{path}: {key!r} must be a list of nodes")
        lists.append((path, np.array(values, dtype=np.int64)))
    return _split(iter(lists), nodes)


def _split(parts: Iterator[tuple[Any, np.ndarray]], nodes: int) -> np.ndarray:
    """[N] from lists of the nodes of each part."""
    where = np.zeros(nodes, dtype=np.int8)
    for number, (path, own) in enumerate(parts, 1):
        if len(own) and not 0 <= own.min() <= own.max() < nodes:
            raise DataError(f"{path} names node {own.max()}, but there are {nodes:,} nodes")
        if where[own].any():
            raise DataError(f"{path}: a node of {SPLITS[number - 1]} is in another part too")
        where[own] = number
    return where


def _class_map(path: Path, nodes: int) -> np.ndarray | None:
    found = read_object(path)
    if any(isinstance(value, list) for value in found.values()):
        return None
    values = np.full(nodes, np.nan)
    for key, value in found.items():
        if not key.isdecimal() or int(key) >= nodes or type(value) is not int:
            raise DataError(f"{path}: {key[:20]!r} with the class {str(value)[:20]!r} is not a node and its class")
        values[int(key)] = value
    return _classes(values, nodes, path)
