"""Rows of numbers to a file, with the ids they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ...runtime.errors import InputError
from ...runtime.files import replacing

MOST_BYTES = 1 << 30  # of ids in an .npz


def write_rows(
    out: Path,
    z: np.ndarray,
    ids: pa.ChunkedArray | None = None,
    names: Sequence[str] = (),
    id_name: str = "id",
    beside: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """`z` [rows, width] as .npy (numbers alone), .npz (`embeddings`, `ids`), .csv or .parquet (`id_name`, z0, z1, …).

    `beside` are columns of text instead of ids; cells of rows without numbers are then empty, not NaN. A .csv without
    either has no header. Nothing is left half-written.
    """
    if beside:
        ids = pa.chunked_array([pa.array(beside.get("id", next(iter(beside.values()))), pa.string())])
    names = list(names) or [f"z{i}" for i in range(z.shape[1])]
    if ids is not None and id_name in names and out.suffix in (".csv", ".parquet"):
        raise InputError(
            f"the column of ids is called {id_name!r}, as one of the numbers would be; write .npz, or rename it"
        )
    with replacing(out) as partial:
        if out.suffix == ".npy":
            np.save(partial, z)
        elif out.suffix == ".npz":
            arrays: dict[str, Any] = {"embeddings": z}
            if ids is not None:
                arrays["ids"] = _as_array(ids)
            np.savez(partial, **arrays)
        elif out.suffix == ".csv" and ids is None:
            np.savetxt(partial, z, delimiter=",", fmt="%.9g")
        else:
            columns = dict(beside) if beside else {id_name: ids} if ids is not None else {}
            columns |= {
                name: pa.array(np.ascontiguousarray(z[:, i]), from_pandas=bool(beside)) for i, name in enumerate(names)
            }
            _write(pa.table(columns), partial)


def _as_array(ids: pa.ChunkedArray) -> np.ndarray:
    """Ids as NumPy has them; of text, every one takes the memory of the longest."""
    found = ids.to_numpy(zero_copy_only=False)
    if found.dtype != object:
        return np.asarray(found)
    longest = max(map(len, map(str, found)), default=0)
    if 4 * longest * len(found) > MOST_BYTES:
        raise InputError(
            f"an id has {longest:,} characters, and in .npz all would take as many; write .csv or .parquet"
        )
    return np.asarray(found.astype(str))


def write_table(table: pa.Table, out: Path) -> None:
    """A table as .csv, .tsv or .parquet."""
    with replacing(out) as partial:
        _write(table, partial)


def _write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
        return
    options = pyarrow.csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ",", quoting_style="needed")
    pyarrow.csv.write_csv(table, path, options)
