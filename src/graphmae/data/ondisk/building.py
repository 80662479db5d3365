"""From tables, or a graph in memory, to a graph on disk: one pass over nodes, one over edges, bounded memory."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.environment import package_version
from ...runtime.errors import DataError, InputError, unknown
from ...runtime.files import LOCK, check_folder, locked, write_json
from ...runtime.untrusted import read_object
from ..compressed import CompressedGraph
from ..dataset import Dataset
from ..tables.column_names import guess_ends
from ..tables.habits import is_text
from ..tables.identity import MOST_UNKNOWN, unknown_ends
from ..tables.report import Report, count
from .dataset import StoredGraph
from .keys import RowOf, keys_of
from .layout import BUILDING, FORMAT, HEADER, KIND, NOTE, SPLITS, GrowingArray, is_store, write_array
from .nodes_table import FeatureWriter, NodeTable, Progress, ids_are_numbers, scale_of
from .raw import RawFeatures, RawGraph
from .sorting import Buckets
from .streams import TableStream

FEATURE_TYPES = ("float32", "float16", "int8")
SECONDS = 5.0  # between lines of progress
logger = logging.getLogger("graphmae")


def store_tables(
    nodes: Any,
    edges: Sequence[Any],
    out: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    dtype: str = "float32",
    directed: bool = False,
    self_loops: bool = True,
    treatment: Mapping[str, Any] | None = None,
    name: str = "",
) -> StoredGraph:
    """A node table and edge tables as a graph on disk, in the folder `out`.

    Columns become features as those of tables in memory do, learned from 100,000 rows all over the table. `treatment`
    is that of a trained model: columns are then encoded as they were in training. Further columns of edges are left
    aside.
    """
    roles = {key: value for key, value in (columns or {}).items() if value}
    of_nodes = {role: roles.get(role, "") for role in ("id", "label", "split")}
    report = Report(TableStream(nodes).name)
    folder, origins = Path(out), [nodes, *edges]
    made_of: dict[str, Any] = {
        "files": [_identity(each) for each in origins],
        "columns": roles,
        "dtype": _checked(dtype),
    }
    made_of |= {"directed": directed, "self_loops": self_loops, "kinds": dict(kinds or {})}
    with _claimed(folder, made_of) as known, ExitStack() as held:
        if known is not None:
            return known
        table = NodeTable.learn(nodes, of_nodes, kinds or {}, treatment, report)
        streams = [TableStream(each) for each in edges]
        ends = [_ends(stream, roles) for stream in streams]
        types = [stream.schema.field(end).type for stream, pair in zip(streams, ends, strict=True) for end in pair]
        as_numbers = ids_are_numbers([table.stream.schema.field(table.roles["id"]).type, *types])
        progress = _Lines()
        arrays = table.write(folder, dtype, as_numbers, progress)
        row_of = RowOf(table.keys)
        if row_of.repeated >= 0:
            raise DataError(f"{table.stream.name}: row {row_of.repeated + 1} repeats the id of an earlier row")
        pool = held.enter_context(ThreadPoolExecutor(2, "ids"))
        buckets = Buckets(folder / BUILDING, table.total)
        facts, began = _Edges(directed), time.monotonic()
        for stream, (source, target) in zip(streams, ends, strict=True):
            for piece in stream.pieces([source, target], [] if as_numbers else [source, target]):
                sides = [piece.column(side) for side in (source, target)]
                found = list(pool.map(partial(_rows_of, row_of=row_of, as_numbers=as_numbers), sides))
                facts.add(found[0], found[1], buckets)
                progress("edges", facts.read, sum(s.num_rows or 0 for s in streams) or None)
        facts.check(", ".join(stream.name for stream in streams), report)
        learned = {
            "features": "table",
            "self_loops": self_loops,
            "directed": directed,
            "columns": [column.to_dict() for column in table.columns],
            "structure": None,
            "edge_kinds": [],
            "names": {**{k: v for k, v in table.roles.items() if v}, "source": ends[0][0], "target": ends[0][1]},
        }
        arrays |= _structure(folder, buckets, table.total, directed, progress)
        edges_found, took = arrays["indices"]["shape"][0], time.monotonic() - began
        logger.info("edges: %s rows read and sorted into %s in %.1f s", f"{facts.read:,}", f"{edges_found:,}", took)
        if again := (buckets.given - edges_found) // (1 if directed else 2):
            how = "" if directed else " (the same two nodes, either way round)"
            report.repair(f"{count(again, 'repeated edge')}{how} merged")
        report.log()
        header = {"nodes": table.total, "directed": directed, "id_name": table.roles["id"], "arrays": arrays}
        header |= {"classes": list(table.classes), "treatment": dict(treatment or learned), "made_of": made_of}
        return _finished(folder, name or folder.name, header)


def store_dataset(dataset: Dataset, out: str | Path, *, dtype: str = "float32", name: str = "") -> StoredGraph:
    """A graph in memory (a benchmark set, a .npz or .pt file, PyG) as a graph on disk."""
    graph, folder = dataset.single_graph(), Path(out)
    made_of = {"data": dataset.name, "summary": dict(dataset.summary()), "dtype": _checked(dtype)}
    with _claimed(folder, made_of) as known:
        if known is not None:
            return known
        rows = CompressedGraph.of(graph, dataset.name)
        if bool(dataset.treatment.get("self_loops", False)) != rows.self_loops:
            raise InputError(f"{dataset.name} has self-loops on some nodes alone; open it with self_loops = true")
        arrays = {"indptr": write_array(folder / "indptr.npy", rows.indptr)}
        arrays["indices"] = write_array(folder / "indices.npy", rows.indices)
        if rows.out_degree is not None:
            arrays["out_degree"] = write_array(folder / "out_degree.npy", rows.out_degree)
        x = graph.x.numpy()
        writer = FeatureWriter(folder, dtype, x.shape[1], scale_of(x) / 1.25 if dtype == "int8" else None)
        for begin in range(0, len(x), 1 << 16):
            writer.append(x[begin : begin + (1 << 16)])
        arrays |= writer.close()
        splits = getattr(dataset, "splits", {})
        if "y" in graph and graph.y.dim() == 1 and splits:
            arrays["labels"] = write_array(folder / "labels.npy", graph.y.numpy().astype(np.int64))
            where = np.zeros(len(x), dtype=np.int8)
            for number, part in enumerate(SPLITS, 1):
                for _, mask in splits.get(part, ())[-1:]:
                    if len(mask) == len(where):
                        where[mask.numpy()] = number
            arrays["split"] = write_array(folder / "split.npy", where)
        header = {"nodes": len(x), "directed": rows.out_degree is not None, "id_name": "id", "arrays": arrays}
        header |= {"classes": [], "treatment": dict(dataset.treatment), "made_of": made_of}
        return _finished(folder, name or dataset.name, header)


def store_raw(
    raw: RawGraph,
    out: str | Path,
    *,
    dtype: str = "float32",
    directed: bool = False,
) -> StoredGraph:
    """The raw files of a large public graph as a graph on disk: one pass over the edges, bounded memory.

    Features are standardised by the training nodes alone, as the published sets in memory are; that takes one pass over
    them more, and int8 another.
    """
    folder, files = Path(out), [_identity(path) for path in raw.files]
    made_of: dict[str, Any] = {"files": files, "dtype": _checked(dtype), "directed": directed}
    with _claimed(folder, made_of) as known:
        if known is not None:
            return known
        progress, report = _Lines(), Report(raw.name)
        rows = RawFeatures.learn(raw, dtype, progress)
        writer = FeatureWriter(folder, dtype, rows.width, rows.scale)
        for piece in rows.treated():
            writer.append(piece)
            progress("features", writer.array.rows, rows.nodes)
        arrays, nodes = writer.close(), rows.nodes
        buckets, facts = Buckets(folder / BUILDING, nodes), _Edges(directed)
        for source, target in raw.edges():
            for side in (source, target):
                if len(side) and not 0 <= side.min() <= side.max() < nodes:
                    raise DataError(f"{raw.files[0]} names node {side.max()}, but there are {nodes:,} nodes")
            facts.add(source.astype(np.int64, copy=False), target.astype(np.int64, copy=False), buckets)
            progress("edges", facts.read, None)
        facts.check(raw.name, report)
        arrays |= _structure(folder, buckets, nodes, directed, progress)
        if rows.split is not None and (labels := None if raw.labels is None else raw.labels(nodes)) is not None:
            split = np.where(labels >= 0, rows.split, 0).astype(np.int8)
            arrays |= {"labels": write_array(folder / "labels.npy", labels)}
            arrays |= {"split": write_array(folder / "split.npy", split)}
        elif raw.labels is not None:
            report.note(f"{raw.name}: stored without labels, for nodes have several each, or there is no split")
        if raw.without:
            report.note(f"{raw.name}: {raw.without}")
        report.log()
        header = {"nodes": nodes, "directed": directed, "id_name": "id", "arrays": arrays, "classes": []}
        return _finished(folder, raw.name, {**header, "treatment": rows.treatment, "made_of": made_of})


class _Edges:
    """Counts what becomes of edges on their way into the buckets."""

    def __init__(self, directed: bool) -> None:
        self.directed = directed
        self.read = self.unknown = self.loops = 0

    def add(self, source: np.ndarray, target: np.ndarray, buckets: Buckets) -> None:
        known, apart = (source >= 0) & (target >= 0), source != target
        self.read += len(source)
        self.unknown += int((~known).sum())
        self.loops += int((known & ~apart).sum())
        kept = known & apart
        if not kept.all():
            source, target = source[kept], target[kept]
        if self.directed:
            buckets.add(target, source)
        else:
            buckets.add(np.concatenate([target, source]), np.concatenate([source, target]))

    def check(self, name: str, report: Report) -> None:
        report.note(f"{name}: {count(self.read, 'edge')}")
        if self.unknown:
            text = unknown_ends(self.unknown, self.read, name)
            if self.unknown > MOST_UNKNOWN * self.read:
                raise DataError(f"{text}. Are --id, --source and --target the right columns?")
            report.repair(f"{text}; those edges were left out")
        if self.loops:
            report.repair(f"{count(self.loops, 'self-loop')} of {name} removed (every node gets one of its own)")
        if self.read == self.unknown + self.loops:
            raise DataError(f"{name}: there are no edges between two different nodes")


def _rows_of(values: pa.ChunkedArray, row_of: RowOf, as_numbers: bool) -> np.ndarray:
    """[edges] the row each end names, −1 where it names none."""
    parts = []
    for chunk in values.chunks:
        cells = chunk if as_numbers else pc.utf8_trim_whitespace(chunk.cast(pa.string()))
        missing = cells.is_null().to_numpy(zero_copy_only=False) if cells.null_count else None
        filled = cells if missing is None else pc.fill_null(cells, 0 if as_numbers else "")
        found = row_of.find(keys_of(filled, as_numbers))
        parts.append(found if missing is None else np.where(missing, -1, found))
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _structure(folder: Path, buckets: Buckets, nodes: int, directed: bool, progress: Progress) -> dict[str, Any]:
    """Sort the buckets one after the other into indptr and indices."""
    width = np.int32 if nodes < 2**31 else np.int64
    indices, indptr = GrowingArray(folder / "indices.npy", width), GrowingArray(folder / "indptr.npy", np.int64)
    indptr.append(np.zeros(1, np.int64))
    out_degree = np.zeros(nodes if directed else 0, dtype=np.int64)
    for counts, senders in buckets.rows():
        indptr.append(indices.rows + np.cumsum(counts))
        indices.append(senders)
        if directed:
            out_degree += np.bincount(senders, minlength=nodes)
        progress("sorted", indices.rows, buckets.given)
    arrays = {"indptr": indptr.close(), "indices": indices.close()}
    if directed:
        arrays["out_degree"] = write_array(folder / "out_degree.npy", out_degree)
    return arrays


def _ends(stream: TableStream, roles: Mapping[str, str]) -> tuple[str, str]:
    names = stream.schema.names
    for role in ("source", "target"):
        if (name := roles.get(role)) and name not in names:
            raise DataError(f"{stream.name}: {unknown('column', name, names)} (--{role})")
    if roles.get("source") and roles.get("target"):
        return roles["source"], roles["target"]
    found = guess_ends(names)
    if len(names) == 2 and all(is_text(field.type) for field in stream.schema):
        found = found or (names[0], names[1])  # text cannot be taken for ids by chance, as two columns of numbers can
    if found is None:
        raise DataError(f"{stream.name}: which columns hold the ends of an edge? Say so with --source and --target")
    return roles.get("source") or found[0], roles.get("target") or found[1]


def _checked(dtype: str) -> str:
    if dtype not in FEATURE_TYPES:
        raise InputError(unknown("type of features", dtype, FEATURE_TYPES))
    return dtype


def _identity(source: Any) -> dict[str, Any]:
    if not isinstance(source, str | Path):
        return {"name": "memory"}
    path = Path(source)
    return {"name": path.name, "bytes": path.stat().st_size if path.is_file() else -1}


@contextmanager
def _claimed(folder: Path, made_of: dict[str, Any]) -> Iterator[StoredGraph | None]:
    """The folder for this process alone; the graph that is in it, where it was made of the same. What an interrupted
    attempt left is removed, and it begins again."""
    check_folder(folder, "a graph store", is_store(folder))
    with locked(folder):
        if (folder / HEADER).is_file():
            if read_object(folder / HEADER).get("made_of") != made_of:
                raise InputError(f"{folder} holds another graph; choose another --out, or delete it first")
            logger.info("%s is complete already", folder)
            yield StoredGraph.open(folder)
            return
        for file in folder.iterdir():
            if file.name != LOCK:
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        (folder / BUILDING).mkdir()
        write_json(folder / BUILDING / NOTE, made_of)
        yield None


def _finished(folder: Path, name: str, header: dict[str, Any]) -> StoredGraph:
    """Write the header, last of all."""
    edges = header["arrays"]["indices"]["shape"][0]
    about = {"kind": KIND, "format": FORMAT, "name": name, "graphmae": package_version(), "edges": edges}
    write_json(folder / HEADER, {**about, **header})
    shutil.rmtree(folder / BUILDING)
    return StoredGraph.open(folder)


class _Lines:
    """A line of progress every few seconds."""

    def __init__(self) -> None:
        self.began = self.said = time.monotonic()
        self.stage = ""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.began = stage, now
        if now - self.said >= SECONDS:
            self.said = now
            of = f" of {total:,}" if total else ""
            logger.info(
                "  %s: %s%s (%.1f M per second)", stage, f"{done:,}", of, done / max(now - self.began, 0.1) / 1e6
            )
