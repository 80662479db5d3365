"""The pickles of the Planetoid sets, read without unpickling: nothing in them is ever called.

The few opcodes such a file needs build inert records: a call is noted, not made. Then the records of arrays, sparse
matrices and dictionaries are recognised, checked, and made from their bytes. Anything else is refused.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...runtime.errors import DataError
from ...runtime.untrusted import MOST_ITEMS, read_limited

MOST_BYTES, MOST_STEPS = 1 << 27, 3_000_000  # the largest real file has 7.6 MB, the longest 160,000 steps
WHOLE = 2**31  # every whole number in these files is smaller
CORES, SPARSE = ("numpy.core", "numpy._core"), ("scipy.sparse.csr", "scipy.sparse._csr")
RECONSTRUCT = {f"{core}.multiarray _reconstruct" for core in CORES}
FROM_BUFFER = {f"{core}.numeric _frombuffer" for core in CORES}
MATRIX = {f"{module} csr_matrix" for module in SPARSE}
LIST, OBJECT = {"__builtin__ list", "builtins list"}, {"__builtin__ object", "builtins object"}
RECONSTRUCTOR = {"copy_reg _reconstructor", "copyreg _reconstructor"}
ENCODE, DICTIONARY = {"_codecs encode"}, {"collections defaultdict"}
NDARRAY, DTYPE = {"numpy ndarray"}, {"numpy dtype"}
KNOWN = set().union(
    RECONSTRUCT, FROM_BUFFER, MATRIX, LIST, OBJECT, RECONSTRUCTOR, ENCODE, DICTIONARY, NDARRAY, DTYPE
)  # fmt: skip
NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
BINARY = (bytes, bytearray, str)


class NotPlanetoid(ValueError):
    """What a file of these sets would not hold."""


@dataclass(eq=False)
class Name:
    """The name of a class or function; never looked up."""

    text: str


@dataclass(eq=False)
class Call:
    """A call the file asks for, and what it would then put in; never made."""

    what: Name
    arguments: tuple[Any, ...]
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sparse:
    """A checked sparse matrix: value `data[i]` stands at (`rows[i]`, `columns[i]`)."""

    shape: tuple[int, int]
    rows: np.ndarray
    columns: np.ndarray
    data: np.ndarray

    def add_to(self, out: np.ndarray, at: np.ndarray) -> None:
        """Add the matrix's rows to the rows `at` of `out`."""
        np.add.at(out, (at[self.rows], self.columns), self.data.astype(out.dtype))


def read_matrix(path: Path) -> Sparse:
    return _explained(path, lambda: _sparse(_records(path)))


def read_array(path: Path) -> np.ndarray:
    """[rows, columns] of numbers."""

    def read() -> np.ndarray:
        made = _array(_records(path))
        return made if made.ndim == 2 else _refuse(f"an array of {made.ndim} dimensions")

    return _explained(path, read)


def read_neighbours(path: Path) -> tuple[int, np.ndarray]:
    """(number of nodes that have a list, [edges, 2] pairs of nodes)."""
    return _explained(path, lambda: _neighbours(_records(path)))


def _explained(path: Path, read: Any) -> Any:
    try:
        return read()
    except NotPlanetoid as error:
        raise DataError(f"{path} is not a Planetoid file: it holds {error}") from None
    except (ValueError, IndexError, KeyError, TypeError, EOFError, OverflowError) as error:
        raise DataError(f"{path} is truncated or not a Planetoid file ({' '.join(str(error).split())[:200]})") from None


def _refuse(what: str) -> NoReturn:
    raise NotPlanetoid(what)


def _records(path: Path) -> Any:
    """What the pickle describes, as plain values, `Name` and `Call`."""
    machine = _Machine()
    for number, (opcode, argument, _) in enumerate(pickletools.genops(read_limited(path, MOST_BYTES))):
        if number > MOST_STEPS:
            _refuse(f"more than {MOST_STEPS:,} steps")
        machine.step(opcode.name, argument)
    return machine.stack.pop()


class _Machine:
    """The stack and the memo of a pickle, with records in place of objects."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def step(self, opcode: str, argument: Any) -> None:
        stack = self.stack
        if opcode in VALUES:
            if isinstance(argument, int) and not -WHOLE <= argument < WHOLE:
                _refuse(f"the number {argument}" if abs(argument) < 10**30 else "a number of many digits")
            stack.append(argument)
        elif opcode in CONSTANTS:
            stack.append(CONSTANTS[opcode]())
        elif opcode in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[argument] = stack[-1]
        elif opcode == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif opcode in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[argument])
        elif opcode == "MARK":
            self.marks.append(len(stack))
        elif opcode in TUPLES:
            stack.append(tuple(self._take(TUPLES[opcode])))
        elif opcode in ("TUPLE", "LIST"):
            stack.append((tuple if opcode == "TUPLE" else list)(self._since_mark()))
        elif opcode == "DICT":
            items = self._since_mark()
            stack.append({})
            self._set(items)
        elif opcode in ("APPEND", "APPENDS"):
            items = self._take(1) if opcode == "APPEND" else self._since_mark()
            if not isinstance(stack[-1], list):
                _refuse("items for what is not a list")
            stack[-1].extend(items)
        elif opcode in ("SETITEM", "SETITEMS"):
            self._set(self._take(2) if opcode == "SETITEM" else self._since_mark())
        elif opcode == "GLOBAL":
            stack.append(_name(argument))
        elif opcode == "STACK_GLOBAL":
            module, name = self._take(2)
            stack.append(_name(f"{module} {name}"))
        elif opcode in ("REDUCE", "NEWOBJ"):
            what, arguments = self._take(2)
            if not isinstance(what, Name) or not isinstance(arguments, tuple):
                _refuse("a call of something without a name")
            stack.append(Call(what, arguments))
        elif opcode == "BUILD":
            (state,) = self._take(1)
            if not isinstance(stack[-1], Call) or stack[-1].state is not None:
                _refuse("a state for something that has none, or two states")
            stack[-1].state = state
        elif opcode not in ("PROTO", "FRAME", "STOP"):
            _refuse(f"the opcode {opcode}")

    def _take(self, count: int) -> list[Any]:
        if len(self.stack) - (self.marks[-1] if self.marks else 0) < count:
            _refuse("fewer values than it uses")
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def _since_mark(self) -> list[Any]:
        return self._take(len(self.stack) - mark) if (mark := self.marks.pop()) < len(self.stack) else []

    def _set(self, items: list[Any]) -> None:
        target = self.stack[-1].items if isinstance(self.stack[-1], Call) else self.stack[-1]
        keys = items[::2]
        if not isinstance(target, dict) or len(items) % 2 or not all(type(key) in (int, str) for key in keys):
            _refuse("a dictionary with keys that are neither numbers nor text")
        target.update(zip(keys, items[1::2], strict=True))


VALUES = {
    "INT", "LONG", "LONG1", "BININT", "BININT1", "BININT2", "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE",
    "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip
CONSTANTS: dict[str, Any] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple, "EMPTY_LIST": list, "EMPTY_DICT": dict,
}  # fmt: skip
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _name(text: str) -> Name:
    if text not in KNOWN:
        _refuse(f"the name {text.replace(' ', '.')[:80]!r}, which no such file contains")
    return Name(text)


def _calls(record: Any, names: set[str], count: int) -> bool:
    return isinstance(record, Call) and record.what.text in names and len(record.arguments) == count


def _is_name(value: Any, names: set[str]) -> bool:
    return isinstance(value, Name) and value.text in names


def _array(record: Any) -> np.ndarray:
    """Numbers from a buffer whose length is that of shape and type; no part of the file decides on anything else."""
    if _calls(record, FROM_BUFFER, 4):
        buffer, kind, shape, order = record.arguments
        if order not in ("C", "F"):
            _refuse("an array in an unknown order")
        by_columns = order == "F"
    elif _calls(record, RECONSTRUCT, 3) and _is_name(record.arguments[0], NDARRAY):
        if not isinstance(record.state, tuple) or len(record.state) != 5:
            _refuse("an array without content")
        _, shape, kind, by_columns, buffer = record.state
        if by_columns not in (0, 1):
            _refuse("an array in an unknown order")
    else:
        _refuse("something that is not an array of numbers")
    dtype, content = _dtype(kind), _bytes(buffer)
    if not isinstance(shape, tuple) or len(shape) > 2 or not all(type(size) is int and size >= 0 for size in shape):
        _refuse("an array of a shape that cannot be")
    if math.prod(shape) * dtype.itemsize != len(content):
        _refuse(f"{len(content)} bytes for an array of the shape {shape} and the type {dtype}")
    made = np.frombuffer(content, dtype=dtype).reshape(shape, order="F" if by_columns else "C")
    return made.astype(dtype.newbyteorder("="))


def _dtype(record: Any) -> np.dtype:
    if not _calls(record, DTYPE, 3):
        _refuse("an array without a type")
    code, state = record.arguments[0], record.state
    if not isinstance(code, str) or code not in NUMBERS or not isinstance(state, tuple) or len(state) != 8:
        _refuse("an array of something other than plain numbers")
    order, inner = state[1], state[2:5]
    if not isinstance(order, str) or order not in ("<", ">", "|", "=") or any(part is not None for part in inner):
        _refuse("an array of something other than plain numbers")
    return np.dtype(f"{order}{code}")


def _bytes(record: Any) -> bytes:
    if _calls(record, ENCODE, 2) and record.arguments[1] in ("latin1", "latin-1"):
        record = record.arguments[0]
    if not isinstance(record, BINARY):
        _refuse("an array without bytes")
    try:
        return record.encode("latin-1") if isinstance(record, str) else bytes(record)
    except UnicodeEncodeError:
        _refuse("an array whose bytes are other text")


def _sparse(record: Any) -> Sparse:
    plain = _calls(record, MATRIX, 0)
    older = _calls(record, RECONSTRUCTOR, 3) and _is_name(record.arguments[0], MATRIX)
    if not (plain or older) or not isinstance(record.state, dict):
        _refuse("something that is not a sparse matrix")
    state = record.state
    shape = state.get("_shape", state.get("shape"))
    if not isinstance(shape, tuple) or len(shape) != 2 or not all(type(size) is int and size >= 0 for size in shape):
        _refuse("a sparse matrix of a shape that cannot be")
    if shape[0] * shape[1] > MOST_ITEMS:
        _refuse(f"a matrix of {shape[0]:,} × {shape[1]:,}; more than {MOST_ITEMS:,} cells are not read")
    data, columns, starts = (_array(state.get(part)) for part in ("data", "indices", "indptr"))
    if not data.ndim == columns.ndim == starts.ndim == 1 or columns.dtype.kind != "i" or starts.dtype.kind != "i":
        _refuse("a sparse matrix whose indices are not lists of whole numbers")
    starts, columns = starts.astype(np.int64), columns.astype(np.int64)
    if len(starts) != shape[0] + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        _refuse("a sparse matrix whose rows do not follow each other")
    if len(data) != len(columns) or starts[-1] != len(columns):
        _refuse("a sparse matrix whose rows do not end where its values do")
    if len(columns) and (columns.min() < 0 or columns.max() >= shape[1]):
        _refuse(f"a sparse matrix with a value outside of its {shape[1]} columns")
    if not np.isfinite(data).all():
        _refuse("a sparse matrix with NaN or infinite values")
    return Sparse((shape[0], shape[1]), np.repeat(np.arange(shape[0]), np.diff(starts)), columns, data)


def _neighbours(record: Any) -> tuple[int, np.ndarray]:
    lists: Any = record
    if _calls(record, DICTIONARY, 1) and _is_name(record.arguments[0], LIST):
        lists = record.items
    if not isinstance(lists, Mapping) or not all(isinstance(each, list) for each in lists.values()):
        _refuse("something that is not a dictionary of lists")
    if sum(map(len, lists.values())) > MOST_STEPS:  # one list can stand in many places
        _refuse(f"more than {MOST_STEPS:,} edges")
    pairs = [(a, b) for a, neighbours in lists.items() for b in neighbours]
    if not all(type(node) is int for pair in pairs for node in pair):
        _refuse("a neighbour that is not a whole number")
    return len(lists), np.array(pairs, dtype=np.int64).reshape(-1, 2)
