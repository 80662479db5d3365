"""From the ids of nodes to their rows: whole numbers or text, tens of millions of them, in a table of 64-bit keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ...runtime.compiled import compiled

EMPTY = -1
FNV_START, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _hashed(offsets: Any, data: Any, out: Any) -> None:
    """A 64-bit hash (FNV-1a, mixed) of every text."""
    for i in range(out.shape[0]):
        h = FNV_START
        for k in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[k])) * FNV_PRIME
        h ^= h >> np.uint64(32)
        out[i] = np.int64(h * MIX)


@compiled
def _place(key: Any, mask: Any) -> Any:
    z = np.uint64(key) * MIX
    return np.int64((z ^ (z >> np.uint64(29))) & mask)


@compiled
def _fill(keys: Any, slots: Any, mask: Any) -> Any:
    """Put row numbers into `slots`; returns the first row whose key was there before, −1 where none was."""
    for row in range(keys.shape[0]):
        at = _place(keys[row], mask)
        while slots[at] != EMPTY:
            if keys[slots[at]] == keys[row]:
                return row
            at = (at + 1) & np.int64(mask)
        slots[at] = row
    return -1


@compiled
def _find(wanted: Any, keys: Any, slots: Any, mask: Any, out: Any) -> None:
    for i in range(wanted.shape[0]):
        at = _place(wanted[i], mask)
        out[i] = -1
        while slots[at] != EMPTY:
            if keys[slots[at]] == wanted[i]:
                out[i] = slots[at]
                break
            at = (at + 1) & np.int64(mask)


def is_whole(kind: pa.DataType) -> bool:
    """Whether ids of this Arrow type are compared as numbers."""
    return pa.types.is_integer(kind) and kind != pa.uint64()


def keys_of(values: pa.Array, as_numbers: bool) -> np.ndarray:
    """[rows] int64: the numbers themselves, or hashes of the text. Cells without a value must not be asked for."""
    if as_numbers:
        return np.asarray(values.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)
    text = values if pa.types.is_large_string(values.type) else values.cast(pa.large_string())
    _, offsets, data = text.buffers()
    begins = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    out = np.empty(len(text), dtype=np.int64)
    _hashed(begins, np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8), out)
    return out


class RowOf:
    """Which row a key is of. Ids 0, 1, 2, … in this order need no table.

    Text is compared by 64-bit hashes: two ids with the same hash are refused as a repeated id, which among a billion
    ids has a chance of 3 %; among ten million, of 3 in a million.

    >>> rows = RowOf(np.array([7, 3]))
    >>> rows.find(np.array([3, 4, 7])).tolist()
    [1, -1, 0]
    """

    def __init__(self, keys: np.ndarray) -> None:
        self.keys, self.count, self.repeated = keys, len(keys), -1
        self.counts = bool(len(keys)) and int(keys[0]) == 0 and bool((np.diff(keys) == 1).all())
        if self.counts:
            return
        size = 1 << max(4, int(1.5 * self.count).bit_length())
        self.mask = np.uint64(size - 1)
        self.slots = np.full(size, EMPTY, dtype=np.int32 if self.count < 2**31 else np.int64)
        self.repeated = int(_fill(keys, self.slots, self.mask))

    def find(self, wanted: np.ndarray) -> np.ndarray:
        """[n] the row of each key, −1 where there is none."""
        if self.counts:
            return np.where((wanted >= 0) & (wanted < self.count), wanted, -1)
        out = np.empty(len(wanted), dtype=np.int64)
        _find(wanted, self.keys, self.slots, self.mask, out)
        return out
