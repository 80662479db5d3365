"""Sets of small graphs in the TU format (Morris et al. 2020): the seven published ones and a user's own folder."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..runtime.compiled import compiled
from ..runtime.errors import DataError, unknown
from .cache import cached
from .graphset import GraphSet
from .sources import Mirror, RawFiles

logger = logging.getLogger("graphmae")
NodeFeatures = Literal["auto", "labels", "degree", "attributes", "attributes+labels"]
ORIGIN = "https://www.chrsmrrs.com/graphkerneldatasets"
NEEDED, OPTIONAL = ("A", "graph_indicator"), ("graph_labels", "node_labels", "node_attributes")
# Name → files beside A, graph_indicator and graph_labels.
PUBLISHED: dict[str, tuple[str, ...]] = {
    "collab": (),
    "imdb-binary": (),
    "imdb-multi": (),
    "mutag": ("node_labels",),
    "nci1": ("node_labels",),
    "proteins": ("node_labels", "node_attributes"),
    "reddit-binary": (),
}
# Compared with the package that carries them. For the others no digest is known; the reader checks the content.
MUTAG = {
    "A": "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2",
    "graph_indicator": "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056",
    "graph_labels": "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
    "node_labels": "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
}
MAX_DEGREE = 400  # as published: higher degrees share the last category
MAX_CODES = 10_000


def raw_files(name: str) -> RawFiles:
    """The raw files of a published set, by its name here ('imdb-binary')."""
    prefix = name.upper()
    digests = MUTAG if name == "mutag" else {}
    return RawFiles(
        prefix,
        (f"TUDataset/{prefix}/raw", f"TUDataset/{prefix}", f"{prefix}/raw", prefix),
        {f"{prefix}_{part}.txt": digests.get(part, "") for part in (*NEEDED, "graph_labels", *PUBLISHED[name])},
        archive=(f"{ORIGIN}/{prefix}.zip", ""),
        mirror=Mirror("grakel==0.1.11") if name == "mutag" else None,
    )


def load_tu(name: str | Path, root: str | Path | None = None, **options: Any) -> GraphSet:
    """A published set by name, or the one set in a folder with TU files; options as `read_tu` takes them."""
    if str(name) in PUBLISHED:
        files = raw_files(str(name)).locate(root)
        return _open(str(name), str(name).upper(), files, **options)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        allowed = unknown("graph set", str(name), PUBLISHED)
        raise DataError(f"{allowed}; or a folder with TU files (<name>_A.txt, <name>_graph_indicator.txt, …)")
    for place in (folder, folder / "raw"):
        found = sorted(path.name.removesuffix("_A.txt") for path in place.glob("*_A.txt"))
        if len(found) > 1:
            raise DataError(f"{place} holds several sets ({', '.join(found)}); keep one a folder")
        if found:
            return read_tu(place, found[0], **options)
    raise DataError(f"{folder} holds no TU set: no file there ends in _A.txt")


def read_tu(
    folder: str | Path,
    name: str,
    features: NodeFeatures = "auto",
    self_loops: bool = True,
    coalesce: bool = False,
    codes: Sequence[int] | None = None,
) -> GraphSet:
    """The set `<name>_A.txt`, `<name>_graph_indicator.txt`, … in a folder.

    Args:
        features: one-hot `labels`, one-hot in-`degree` of the graph as the files give it, the float `attributes`, or
            `attributes+labels`; `auto` takes labels where there are some and the degree otherwise.
        self_loops: exactly one self-loop on every node; the degree is counted before.
        coalesce: every edge once. Some published files list each edge twice, and the published code kept them.
        codes: lowest and highest label or degree a category is kept for, from a model's treatment; without it those
            of this set, degrees up to 400.
    """
    paths = {part: Path(folder) / f"{name}_{part}.txt" for part in (*NEEDED, *OPTIONAL)}
    missing = [paths[part].name for part in NEEDED if not paths[part].is_file()]
    if missing:
        raise DataError(
            f"{folder} has no {' and no '.join(missing)}; a TU set needs {name}_A.txt (edges) and "
            f"{name}_graph_indicator.txt (the graph of every node)"
        )
    files = {path.name: path for path in paths.values() if path.is_file()}
    return _open(name, name, files, features, self_loops, coalesce, codes)


def _open(
    name: str,
    prefix: str,
    files: dict[str, Path],
    features: NodeFeatures = "auto",
    self_loops: bool = True,
    coalesce: bool = False,
    codes: Sequence[int] | None = None,
) -> GraphSet:
    if features not in get_args(NodeFeatures):
        raise DataError(unknown("node features", str(features), get_args(NodeFeatures)))
    tensors = cached(name, files, lambda: read(prefix, files))
    if features == "auto":
        features = "labels" if "labels" in tensors else "degree"
        unused = "; its node attributes are not used (data.features = 'attributes')" if "attributes" in tensors else ""
        logger.info("%s: the features of a node are its one-hot %s%s", name, features.removesuffix("s"), unused)
    for part in ("attributes", "labels"):
        if part in features and part not in tensors:
            raise DataError(
                f"{name} has no node {part} ({prefix}_node_{part}.txt), so features cannot be {features!r}; "
                "'degree' needs no file"
            )
    graphs = GraphSet(
        name,
        torch.zeros(int(tensors["node_ptr"][-1]), dtype=torch.long),
        1,
        tensors["edge_index"],
        tensors["node_ptr"],
        tensors["edge_ptr"],
        tensors.get("y"),
        {"features": features, "self_loops": self_loops, "coalesce": coalesce},
    )
    if coalesce:
        graphs = graphs.coalesced()
    if name not in PUBLISHED and _goes_one_way(graphs):
        logger.warning("%s: no edge is listed both ways, so messages flow one way; list each edge twice if not", name)
    graphs = _with_features(graphs, features, tensors, codes)
    if self_loops:
        graphs = graphs.with_self_loops()
    return replace(graphs, edge_index=graphs.edge_index.long())


def _with_features(
    graphs: GraphSet, features: str, tensors: Mapping[str, Tensor], codes: Sequence[int] | None
) -> GraphSet:
    if features == "attributes":
        if codes is not None:
            raise DataError(f"{graphs.name}: codes are for labels and degrees; attributes are taken as they are")
        return replace(graphs, x=tensors["attributes"], num_codes=None)
    values = _in_degree(graphs) if features == "degree" else tensors["labels"]
    low, high = _range(graphs.name, features, values, codes)
    treatment = {**graphs.treatment, "codes": [low, high]}
    graphs = replace(graphs, x=values.clamp(low, high) - low, num_codes=high - low + 1, treatment=treatment)
    if features == "attributes+labels":
        x = torch.cat([tensors["attributes"], graphs.features(slice(None))], dim=1)
        graphs = replace(graphs, x=x, num_codes=None)
    return graphs


def _goes_one_way(graphs: GraphSet) -> bool:
    """Whether there are edges between different nodes, and none of them has its reverse."""
    sender, receiver = graphs.edge_index + graphs.first_node()
    other = sender != receiver
    ahead, back = (a[other].long() * len(graphs.x) + b[other] for a, b in ((sender, receiver), (receiver, sender)))
    return len(ahead) > 0 and not bool(torch.isin(ahead, back).any())


def _in_degree(graphs: GraphSet) -> Tensor:
    return (graphs.edge_index[1] + graphs.first_node()).bincount(minlength=len(graphs.x))


def _range(name: str, features: str, values: Tensor, codes: Sequence[int] | None) -> tuple[int, int]:
    """Lowest and highest category; checks that the labels lie between them and that one-hot features stay usable."""
    lowest, highest = int(values.min()), int(values.max())
    if features == "degree":
        lowest, highest = 0, min(highest, MAX_DEGREE)
    if codes is not None:
        if len(codes) != 2 or codes[0] > codes[1]:
            raise DataError(f"{name}: codes must be the lowest and the highest category, not {list(codes)}")
        low, high = (int(code) for code in codes)
        if features != "degree" and (lowest < low or highest > high):
            raise DataError(
                f"{name} has node labels from {lowest} to {highest}; the model knows those from {low} to {high}"
            )
        lowest, highest = low, high
    if highest - lowest >= MAX_CODES:
        raise DataError(
            f"{name}: node labels go from {lowest} to {highest}, which makes {highest - lowest + 1} one-hot features; "
            f"renumber the labels 0, 1, 2, … (at most {MAX_CODES} of them)"
        )
    return lowest, highest


def read(prefix: str, files: Mapping[str, Path]) -> dict[str, Tensor]:
    """Parse the files; a broken one is named. Nodes and edges come out sorted by graph, otherwise in their order."""
    path = {part: files.get(f"{prefix}_{part}.txt") for part in (*NEEDED, *OPTIONAL)}
    assert path["A"] is not None and path["graph_indicator"] is not None
    indicator = _whole_numbers(path["graph_indicator"])[0]
    labels = _whole_numbers(path["graph_labels"])[0] if path["graph_labels"] else None
    graph, node_ptr = _graphs(path["graph_indicator"], indicator, path["graph_labels"], labels)
    order = None if (np.diff(graph) >= 0).all() else np.argsort(graph, kind="stable")

    out: dict[str, Any] = {"node_ptr": node_ptr}
    if labels is not None:
        out["y"] = np.unique(labels, return_inverse=True)[1]
    for part, parse in (("labels", _node_labels), ("attributes", _attributes)):
        if source := path[f"node_{part}"]:
            rows = parse(source)
            if len(rows) != len(graph):
                raise DataError(
                    f"{source} has {len(rows)} lines, {path['graph_indicator'].name} {len(graph)}; both must have one "
                    "a node, so one of them is truncated or they do not belong together"
                )
            out[part] = rows if order is None else rows[order]
    edges = _edges(path["A"], graph)
    owner = graph[edges[0]]
    if order is not None:
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        edges = rank[edges]
    if (owner[1:] < owner[:-1]).any():
        order = np.argsort(owner, kind="stable")
        edges, owner = edges[:, order], owner[order]
    edges -= node_ptr.astype(np.int32)[owner]
    out |= {"edge_index": edges, "edge_ptr": _pointer(np.bincount(owner, minlength=len(node_ptr) - 1))}
    return {key: torch.from_numpy(value) for key, value in out.items()}


def _graphs(
    path: Path, indicator: np.ndarray, labels_path: Path | None, labels: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The graph of every node, from 0 up, and the node pointer."""
    if len(indicator) == 0:
        raise DataError(f"{path} is empty; it must name the graph of every node")
    if indicator.min() < 1:
        raise DataError(f"{path} names graph {indicator.min()}; graphs are counted from 1")
    count = int(indicator.max()) if labels is None else len(labels)
    if labels is not None and indicator.max() > count:
        raise DataError(
            f"{path} names graph {indicator.max()}, but {labels_path} has labels for {count}; one of them is truncated"
        )
    present = np.unique(indicator)
    if len(present) < count:
        gaps = np.flatnonzero(present != np.arange(1, len(present) + 1))
        first = int(gaps[0]) + 1 if len(gaps) else len(present) + 1
        raise DataError(f"{path}: graph {first} of {count} has no nodes; every graph needs at least one")
    return (indicator - 1).astype(np.int32), _pointer(np.bincount(indicator - 1))


def _edges(path: Path, graph: np.ndarray) -> np.ndarray:
    """[2, E] int32, nodes from 0 up, every edge within one graph."""
    pairs = _whole_numbers(path, columns=2)
    if pairs.size == 0:
        return pairs.astype(np.int32)
    if pairs.min() < 1 or pairs.max() > len(graph):
        wrong = pairs.min() if pairs.min() < 1 else pairs.max()
        raise DataError(f"{path} names node {wrong}, but there are {len(graph)} nodes, counted from 1")
    pairs -= 1
    edges = pairs.astype(np.int32)
    crossing = np.flatnonzero(graph[edges[0]] != graph[edges[1]])
    if len(crossing):
        a, b = edges[:, crossing[0]]
        raise DataError(
            f"{path}: {len(crossing)} edges lead from one graph into another (the first: node {a + 1} of graph "
            f"{graph[a] + 1} → node {b + 1} of graph {graph[b] + 1}); the files are damaged or do not belong together"
        )
    return edges


def _node_labels(path: Path) -> np.ndarray:
    return _whole_numbers(path)[0]


def _attributes(path: Path) -> np.ndarray:
    """[N, a] float32."""
    try:
        with warnings.catch_warnings(), np.errstate(over="ignore"):
            warnings.simplefilter("ignore", UserWarning)  # an empty file; the caller counts the rows
            rows = np.loadtxt(path, delimiter=",", comments=None, ndmin=2).astype(np.float32)
    except ValueError as error:
        raise DataError(f"{path} is truncated or not a table of numbers separated by commas ({error})") from None
    if not np.isfinite(rows).all():
        line = int(np.argmin(np.isfinite(rows).all(1))) + 1
        raise DataError(f"{path}, line {line}: attributes must be finite numbers")
    return rows


def _whole_numbers(path: Path, columns: int = 1) -> np.ndarray:
    """[columns, rows] int64 from lines of whole numbers separated by commas; empty lines are passed over."""
    text = np.memmap(path, dtype=np.uint8, mode="c") if path.stat().st_size else np.empty(0, dtype=np.uint8)
    out = np.empty((columns, _count_lines(text)), dtype=np.int64)
    rows, broken = _parse(text, out)
    if broken:
        with path.open("rb") as file:
            line = next(islice(file, broken - 1, None)).decode(errors="replace").strip()
        expected = "one whole number" if columns == 1 else f"{columns} whole numbers separated by commas"
        raise DataError(f"{path}, line {broken}: {line[:60]!r} is not {expected}; the file is truncated or damaged")
    return out[:, :rows]


@compiled
def _count_lines(text):  # type: ignore[no-untyped-def]
    lines = 1
    for byte in text:
        lines += byte == 10
    return lines


@compiled
def _parse(text, out):  # type: ignore[no-untyped-def]
    """Fills `out`; returns (rows, 0), or (rows, number of the first line that does not have the form)."""
    columns = out.shape[0]
    row, column, line = 0, 0, 1
    value, digits, sign, ended = 0, 0, 0, False
    marked = len(text) >= 3 and text[0] == 0xEF and text[1] == 0xBB and text[2] == 0xBF  # as Windows editors do
    for i in range(3 if marked else 0, len(text) + 1):
        byte = int(text[i]) if i < len(text) else 10
        if 48 <= byte <= 57:
            digits += 1
            if ended or digits > 18:
                return row, line
            value = 10 * value + (byte - 48)
        elif byte == 44 or byte == 10:
            if digits:
                if column == columns:
                    return row, line
                out[column, row] = -value if sign == 45 else value
                column += 1
            elif byte == 44 or column or sign:
                return row, line
            if byte == 10:
                if column:
                    if column < columns:
                        return row, line
                    row += 1
                column = 0
                line += 1
            value, digits, sign, ended = 0, 0, 0, False
        elif byte == 32 or byte == 9 or byte == 13:
            if sign and not digits:
                return row, line
            ended = digits > 0
        elif (byte == 45 or byte == 43) and not digits and not sign:
            sign = byte
        else:
            return row, line
    return row, 0


def _pointer(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
