"""The node table of a graph that is stored: features, ids, labels and splits, a piece at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import torch

from ...runtime.compiled import compiled
from ...runtime.errors import DataError
from ..splits import stratified_split
from ..tables.cells import is_missing, strings
from ..tables.column_names import guess_id
from ..tables.columns import Column
from ..tables.fitting import fit_columns
from ..tables.labels import read_labels, read_split
from ..tables.leaks import MAX_ROWS, label_values, report_leaks, warn_of_targets
from ..tables.report import Report
from .keys import is_whole, keys_of
from .layout import IDS, SPLITS, GrowingArray, write_array
from .streams import TableStream

Progress = Callable[[str, int, int | None], None]


@dataclass
class NodeTable:
    """What was learned from the node table, and what is written of it."""

    stream: TableStream
    roles: dict[str, str]
    columns: list[Column]
    total: int
    report: Report
    keys: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def learn(
        cls,
        source: Any,
        roles: Mapping[str, str],
        kinds: Mapping[str, str],
        stored: Mapping[str, Any] | None,
        report: Report,
    ) -> NodeTable:
        """Find its columns, and learn from rows all over the table how each becomes features."""
        stream = TableStream(source)
        names, found = stream.schema.names, dict(roles)
        if twice := {name for name in names if names.count(name) > 1}:
            raise DataError(f"{stream.name}: several columns are called {min(twice)!r}; rename them")
        for role, name in roles.items():
            if name and name not in names:
                raise DataError(f"{stream.name} has no column {name!r} (--{role}); it has {', '.join(names[:8])}")
        if not found.get("id"):
            guessed = guess_id(names)
            if guessed is None:
                raise DataError(f"{stream.name}: which column holds the ids of the nodes? Say so with --id")
            found["id"] = guessed
        inner = [name for name in names if name not in found.values()]
        if stored is not None:
            columns = [Column.from_dict(entry) for entry in stored["columns"]]
            if lacking := [column.name for column in columns if column.name not in inner]:
                raise DataError(f"the model was trained with columns {stream.name} does not have: {lacking[:5]}")
            total = stream.num_rows or sum(len(piece) for piece in stream.pieces([found["id"]], [found["id"]]))
        elif not inner:
            raise DataError(f"{stream.name} has no columns beside ids and labels; a store needs features of nodes")
        else:
            sample, total = stream.sample(inner)
            columns = fit_columns(sample, kinds, report, total)
            report.stop_on_problems()
            if not columns:
                raise DataError(f"{stream.name}: no column becomes features; a store needs some")
            if not found.get("label"):
                warn_of_targets(columns, report)
        return cls(stream, found, columns, total, report)

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)

    def write(self, folder: Path, dtype: str, as_numbers: bool, progress: Progress) -> dict[str, dict[str, Any]]:
        """Write features, ids, labels and splits; keeps the keys of the ids. Returns what the header says of arrays."""
        id_, label, split = self.roles["id"], self.roles.get("label", ""), self.roles.get("split", "")
        wanted = list(dict.fromkeys([id_, *(c.name for c in self.columns), *filter(None, (label, split))]))
        writer = FeatureWriter(folder, dtype, self.width, self._scale() if dtype == "int8" else None)
        keys, labels, splits, done, ids = [], [], [], 0, None
        id_type = pa.int64() if as_numbers else pa.string()
        try:
            ids = pyarrow.parquet.ParquetWriter(folder / IDS, pa.schema([(id_, id_type)]))
            for piece in self.stream.pieces(wanted, [] if as_numbers else [id_]):
                cells = _id_cells(piece.column(id_), id_, as_numbers, self.stream.name, done)
                ids.write_table(pa.table({id_: cells}))
                keys.append(keys_of(cells, as_numbers))
                writer.append(encoded(self.columns, piece))
                if label:
                    labels.append(piece.column(label))
                if split:
                    splits.append(piece.column(split))
                done += len(piece)
                progress("nodes", done, self.total)
        finally:
            if ids is not None:
                ids.close()
        self.keys, self.total = np.concatenate(keys) if keys else self.keys, done
        if not done:
            raise DataError(f"{self.stream.name} has no rows")
        arrays = writer.close()
        if label:
            arrays |= self._labels(folder, label, labels, split, splits)
        return arrays

    def _scale(self) -> np.ndarray:
        """Of int8, from rows all over the table."""
        sample, _ = self.stream.sample([column.name for column in self.columns])
        return scale_of(np.hstack([column.encode(sample.column(column.name))[0] for column in self.columns]))

    def _labels(
        self, folder: Path, label: str, labels: list[Any], split: str, splits: list[Any]
    ) -> dict[str, dict[str, Any]]:
        y, self.classes, known = read_labels(_joined(labels), label, self.report)
        if split:
            masks = read_split(_joined(splits), split, known, self.report)
        else:
            masks = stratified_split(torch.from_numpy(y), known=torch.from_numpy(known))
        self.report.stop_on_problems()
        self._refuse_leaks(label)
        where = np.zeros(len(y), dtype=np.int8)
        for number, part in enumerate(SPLITS, 1):
            where[masks[part].numpy()] = number
        arrays = {"labels": write_array(folder / "labels.npy", y)}
        return arrays | {"split": write_array(folder / "split.npy", where)}

    def _refuse_leaks(self, label: str) -> None:
        """Of rows all over the table."""
        sample, _ = self.stream.sample([*(column.name for column in self.columns), label])
        sample = sample.filter(pa.array(~is_missing(sample.column(label))))
        places = np.linspace(0, len(sample) - 1, min(len(sample), MAX_ROWS)).astype(np.int64)
        sample = sample.take(pa.array(places))
        if len(sample):
            x = np.hstack([column.encode(sample.column(column.name))[0] for column in self.columns])
            y = label_values(strings(sample.column(label)).tolist())
            report_leaks(self.columns, x, y, label, "Leave it out", self.report)

    classes: tuple[str, ...] = ()


@compiled
def _standardised(values: Any, mean: Any, std: Any, out: Any, at: Any) -> Any:
    """out[:, at] = (values − mean) / std within ±10⁴, as `Column.encode` has it; False where one is not finite."""
    for i in range(values.shape[0]):
        value = np.float64(values[i])
        if not np.isfinite(value):
            return False
        scaled = (min(max(value, -1e150), 1e150) - mean) / std
        out[i, at] = min(max(scaled, -1e4), 1e4)
    return True


def encoded(columns: Sequence[Column], piece: pa.Table) -> np.ndarray:
    """[rows, width] the features of some rows; plain numbers by a loop of their own, which is many times faster."""
    out = np.empty((len(piece), sum(column.width for column in columns)), dtype=np.float32)
    at = 0
    for column in columns:
        values = piece.column(column.name)
        plain = column.kind == "number" and column.width == 1 and not column.learned["logarithmic"]
        kind = values.type
        if not (plain and not values.null_count and (pa.types.is_floating(kind) or pa.types.is_integer(kind))) or not (
            _standardised(values.to_numpy(), column.learned["mean"], column.learned["std"], out, at)
        ):
            out[:, at : at + column.width] = column.encode(values)[0]
        at += column.width
    return out


def _joined(parts: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks])


def _id_cells(values: pa.ChunkedArray, name: str, as_numbers: bool, table: str, before: int) -> pa.Array:
    joined = values.combine_chunks()
    cells = joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)
    if not as_numbers:
        cells = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    empty = cells.null_count or (not as_numbers and pc.any(pc.equal(cells, "")).as_py())
    if empty:
        raise DataError(f"{table}: a row after row {before} has no id in the column {name!r}")
    return cells.cast(pa.int64()) if as_numbers else cells


def ids_are_numbers(kinds: list[pa.DataType]) -> bool:
    """Whether ids of these columns are compared as whole numbers; else as text."""
    return all(is_whole(kind) for kind in kinds)


class FeatureWriter:
    """Rows of float32 on their way to the disk, in the type that is asked for; int8 needs the `scale` [k].

    What is beyond the range of the type is cut off.
    """

    def __init__(self, folder: Path, dtype: str, width: int, scale: np.ndarray | None = None) -> None:
        self.folder, self.scale = folder, scale
        self.array = GrowingArray(folder / "features.npy", np.dtype(dtype), width)

    def append(self, rows: np.ndarray) -> None:
        kind = self.array.dtype
        if kind == np.int8:
            assert self.scale is not None
            rows = np.clip(np.rint(rows / self.scale), -127, 127)
        elif kind == np.float16:
            rows = np.clip(rows, -65504, 65504)
        self.array.append(rows.astype(kind, copy=False))

    def close(self) -> dict[str, dict[str, Any]]:
        arrays = {"features": self.array.close()}
        if self.scale is not None:
            arrays["scale"] = write_array(self.folder / "scale.npy", self.scale)
        return arrays


def scale_of(rows: np.ndarray) -> np.ndarray:
    """[k] what 1 stands for: a 127th of the largest size in each column, with a quarter to spare for later rows."""
    largest = np.abs(rows).max(0) * 1.25 / 127
    return np.where(largest > 0, largest, 1.0).astype(np.float32)
