"""The folder of a stored graph, and how its arrays are written and opened.

NAME/header.json   what it holds, the size of every array; written last, so a folder that has it is complete
NAME/indptr.npy    [N + 1] int64: where the senders of each node begin
NAME/indices.npy   [E] int32 (int64 beyond 2³¹ nodes): the senders, sorted within each node; no self-loops
NAME/features.npy  [N, k] float32, float16 or int8 · NAME/scale.npy [k] float32, what an int8 of 1 stands for
NAME/out_degree.npy [N] int64, of a directed graph
NAME/labels.npy    [N] int64, −1: not known · NAME/split.npy [N] int8: 0 none, 1 train, 2 val, 3 test
NAME/ids.parquet   one row per node
NAME/building/     while it is being built
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...runtime.errors import DataError
from ...runtime.files import flush, writing
from ...runtime.structure import problems
from ...runtime.untrusted import read_object, refuse_special
from ..compressed import DamagedGraph
from ..treatment import problems_of_treatment

FORMAT = 1
KIND = "graphmae graph store"
HEADER, IDS, BUILDING, NOTE = "header.json", "ids.parquet", "building", "made_of.json"
SPLITS = ("train", "val", "test")
ARRAY = {"dtype": str, "shape": [int], "crc32": int}
FORM = {
    "kind": str, "format": int, "name": str, "nodes": int, "edges": int, "directed": bool, "id_name": str,
    "classes": [str], "treatment": {str: Any}, "arrays": {str: ARRAY}, "graphmae": str, "made_of": {str: Any},
}  # fmt: skip
# name → (types it may have, its shape in terms of nodes N, edges E and features k; K: one more than N)
ARRAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "indptr": (("int64",), "K"),
    "indices": (("int32", "int64"), "E"),
    "features": (("float32", "float16", "int8"), "Nk"),
    "scale": (("float32",), "k"),
    "out_degree": (("int64",), "N"),
    "labels": (("int64",), "N"),
    "split": (("int8",), "N"),
}
NEEDED = ("indptr", "indices", "features")


class GrowingArray:
    """An .npy file written from its beginning, whose first dimension is known when it is closed."""

    def __init__(self, path: Path, dtype: np.dtype | type, width: int | None = None) -> None:
        self.path, self.dtype, self.width = path, np.dtype(dtype), width
        self.rows, self.crc = 0, 0
        with writing(path):
            self.file: BinaryIO = path.open("wb")
            self._header()

    def _header(self) -> None:
        """numpy leaves room in a header for a growing first dimension, so that its length does not change."""
        described = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": self.shape}
        np.lib.format.write_array_header_1_0(self.file, described)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows,) if self.width is None else (self.rows, self.width)

    def append(self, rows: np.ndarray) -> None:
        block = np.ascontiguousarray(rows, dtype=self.dtype)
        with writing(self.path, block.nbytes):
            self.file.write(block.data if block.size else b"")
        self.crc = zlib.crc32(block.data if block.size else b"", self.crc)
        self.rows += len(block)

    def close(self) -> dict[str, Any]:
        """What the header says of it."""
        with writing(self.path):
            self.file.seek(0)
            self._header()
            self.file.close()
            flush(self.path)
        return {"dtype": self.dtype.name, "shape": list(self.shape), "crc32": self.crc}


def write_array(path: Path, values: np.ndarray) -> dict[str, Any]:
    """A whole array at once; what the header says of it."""
    array = GrowingArray(path, values.dtype, values.shape[1] if values.ndim == 2 else None)
    array.append(values)
    return array.close()


def is_store(folder: str | Path) -> bool:
    """Whether a folder is a stored graph, or was to become one."""
    folder = Path(folder)
    return (folder / HEADER).is_file() or (folder / BUILDING / NOTE).is_file()


def read_header(folder: Path) -> dict[str, Any]:
    """The header, checked; everything that is mapped later is checked against it."""
    if not (folder / HEADER).is_file():
        raise DataError(f"{folder} is not a complete graph store; run the same graphmae store command again")
    header = read_object(folder / HEADER)
    if header.get("kind") != KIND:
        raise DataError(f"{folder / HEADER} is not the header of a graph store")
    if header.get("format") != FORMAT:
        raise DataError(f"{folder} has format {header.get('format')!r}, this version reads {FORMAT}; store it again")
    found = problems(header, FORM, "header") or problems_of_treatment(header["treatment"]) or _of_arrays(header)
    if found:
        raise DamagedGraph(f"{folder / HEADER}: {'; '.join(found)}")
    return header


def _of_arrays(header: Mapping[str, Any]) -> list[str]:
    nodes, edges, arrays = header["nodes"], header["edges"], header["arrays"]
    if not (1 <= nodes < 2**40 and 0 <= edges < 2**48):
        return [f"{nodes} nodes and {edges} edges are not a graph"]
    found = [f"unknown array {name!r}" for name in arrays if name not in ARRAYS]
    found += [f"the array {name!r} is missing" for name in NEEDED if name not in arrays]
    if found:
        return found
    shape = arrays["features"]["shape"]
    width = shape[1] if len(shape) == 2 else -1
    sizes = {"N": nodes, "K": nodes + 1, "E": edges, "k": width}
    for name, said in arrays.items():
        types, form = ARRAYS[name]
        if said["dtype"] not in types:
            found.append(f"{name} must be {' or '.join(types)}, not {said['dtype'][:20]!r}")
        if said["shape"] != [sizes[letter] for letter in form]:
            found.append(
                f"{name} has the shape {said['shape'][:3]}, which does not fit {nodes} nodes and {edges} edges"
            )
    if not 1 <= width <= 10**6:
        found.append("features must be a matrix of at least one column")
    if (arrays["features"]["dtype"] == "int8") != ("scale" in arrays):
        found.append("features of int8, and no others, have a scale")
    if header["directed"] != ("out_degree" in arrays):
        found.append("directed graphs, and no others, have an out_degree")
    return found


def open_array(folder: Path, name: str, said: Mapping[str, Any]) -> np.ndarray:
    """An array, mapped into memory, of exactly the type, shape and bytes that the header says."""
    path = folder / f"{name}.npy"
    refuse_special(path)
    shape, dtype = tuple(said["shape"]), np.dtype(said["dtype"])
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            if version != (1, 0):
                raise ValueError(f"version {version}")
            found = np.lib.format.read_array_header_1_0(file)
            begin = file.tell()
        if found != (shape, False, dtype):
            raise ValueError(f"it holds {found[2]} {found[0]}, the header says {dtype} {shape}")
        size, wanted = path.stat().st_size, begin + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        if size != wanted:
            raise ValueError(f"it has {size:,} bytes and must have {wanted:,}")
        if not np.prod(shape):
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", begin, shape)
    except Exception as error:  # a damaged array can raise anything; all of it means the same to the user
        raise DamagedGraph(f"{path} is damaged ({error}); store the graph again") from None
