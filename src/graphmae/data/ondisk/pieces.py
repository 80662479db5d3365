"""Arrays and lines of numbers in files, read from their beginning a piece at a time."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ...runtime.errors import DataError
from ...runtime.untrusted import open_gz, refuse_special, refuse_zip_bomb
from ..tables.text import one_line

BYTES = 1 << 24  # at a time
LEAST_BLOCK = 1 << 16  # of lines: one must fit
DAMAGED = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError)


@dataclass(frozen=True)
class StreamedArray:
    """An array in an .npy file, or a member of an .npz; compressed ones are unpacked on the way.

    Attributes:
        shape, dtype, is_fortran: as the array says itself; in Fortran's order its columns are together.
    """

    path: Path
    member: str = ""

    @property
    def where(self) -> str:
        return f"{self.path}: {self.member}" if self.member else str(self.path)

    @cached_property
    def _header(self) -> tuple[tuple[int, ...], bool, np.dtype]:
        if self.member:
            refuse_zip_bomb(self.path)
        with self._open() as (_, header):
            return header

    @property
    def shape(self) -> tuple[int, ...]:
        return self._header[0]

    @property
    def is_fortran(self) -> bool:
        return self._header[1]

    @property
    def dtype(self) -> np.dtype:
        return self._header[2]

    @contextmanager
    def _open(self) -> Iterator[tuple[BinaryIO, tuple[tuple[int, ...], bool, np.dtype]]]:
        """The file after its header, and the header; what is wrong while it is open is that of the file."""
        refuse_special(self.path)
        try:
            if self.member:
                with zipfile.ZipFile(self.path) as archive, archive.open(name := f"{self.member}.npy") as file:
                    yield file, _header_of(file, archive.getinfo(name).file_size)  # type: ignore[arg-type, misc]
            else:
                with self.path.open("rb") as plain:
                    yield plain, _header_of(plain, self.path.stat().st_size)
        except DataError:
            raise
        except DAMAGED as error:
            raise DataError(f"{self.where} is missing or damaged ({one_line(error)[:200]})") from None

    def rows(self) -> Iterator[np.ndarray]:
        """Some rows after the other; of an array [2, n] in Fortran's order some pairs, [k, 2]."""
        shape = self.shape[::-1] if self.is_fortran else self.shape
        if self.is_fortran and len(shape) == 2 and shape[1] != 2:
            raise DataError(f"{self.where} has its columns together; save it with numpy.ascontiguousarray")
        width = int(np.prod(shape[1:], dtype=np.int64))
        with self._open() as (file, _):
            for values in self._values(file, shape[0] * width, width):
                yield values.reshape(-1, *shape[1:])

    def row(self, number: int) -> Iterator[np.ndarray]:
        """The values of one row of a matrix, some at a time."""
        width = self.shape[1]
        with self._open() as (file, _):
            file.seek(number * width * self.dtype.itemsize, io.SEEK_CUR)
            yield from self._values(file, width, 1)

    def whole(self) -> np.ndarray:
        found = list(self.rows())
        return np.concatenate(found) if found else np.empty(self.shape, self.dtype)

    def _values(self, file: BinaryIO, count: int, unit: int) -> Iterator[np.ndarray]:
        """`count` values, some at a time, a multiple of `unit` of them."""
        step = max(1, BYTES // max(1, self.dtype.itemsize * unit)) * unit
        for begin in range(0, count, max(1, step)):
            wanted = min(step, count - begin) * self.dtype.itemsize
            block = file.read(wanted)
            if len(block) != wanted:
                raise DataError(f"{self.where} is cut off: it must have {count:,} values")
            yield np.frombuffer(block, self.dtype)


def _header_of(file: BinaryIO, size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """(shape, whether in Fortran's order, type) of an array in a file of `size` bytes."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
    except Exception as error:  # a damaged header can raise anything; all of it means the same to the user
        raise ValueError(f"its header is damaged: {error}") from None
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"it says that its shape is {list(shape)}, and has {size:,} bytes")
    if dtype.kind not in "iufb":
        raise ValueError(f"it holds {dtype}, not numbers")
    return shape, is_fortran, dtype


@dataclass(frozen=True)
class NumberLines:
    """Numbers with commas between them and no header, gzipped."""

    path: Path
    dtype: Any

    def count(self) -> int:
        """How many lines there are."""
        try:
            with open_gz(self.path) as file:
                found, last = 0, b"\n"
                while block := file.read(BYTES):
                    found, last = found + block.count(b"\n"), block[-1:]
                return found + (last != b"\n")
        except DAMAGED as error:
            raise DataError(f"{self.path} is truncated or not gzipped ({one_line(error)[:200]})") from None

    def rows(self) -> Iterator[np.ndarray]:
        """[lines, numbers of a line], some at a time; NaN where a cell is empty."""
        try:
            with open_gz(self.path) as file:
                first = file.readline(1 << 24)
            names = [str(i) for i in range(first.count(b",") + 1)]
            kind = pa.from_numpy_dtype(self.dtype)
            with (
                open_gz(self.path) as file,
                pyarrow.csv.open_csv(
                    file,
                    read_options=pyarrow.csv.ReadOptions(block_size=max(BYTES, LEAST_BLOCK), column_names=names),
                    convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, kind)),
                ) as reader,
            ):
                for batch in reader:
                    if any(column.null_count for column in batch.columns) and not pa.types.is_floating(kind):
                        raise DataError(f"{self.path} has an empty cell")
                    columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
                    yield np.stack(columns, axis=1) if columns else np.empty((0, 0), self.dtype)
        except DataError:
            raise
        except (*DAMAGED, pa.ArrowException) as error:
            text = one_line(error)[:200]
            raise DataError(f"{self.path} is truncated or not a gzipped table of numbers ({text})") from None
