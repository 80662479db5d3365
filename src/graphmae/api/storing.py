"""Graphs on disk, for those that do not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..data import naming
from ..data.ondisk import StoredGraph, find_raw, store_dataset, store_raw, store_tables
from ..data.open import REGISTRY, is_named, open_dataset
from ..data.splits import with_split
from ..pretrained import load
from ..runtime.device import with_torch_defaults
from ..runtime.errors import InputError


@with_torch_defaults
def store(
    data: Any,
    out: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    dtype: str = "float32",
    directed: bool = False,
    like: str | Path | None = None,
    data_root: str | Path | None = None,
) -> StoredGraph:
    """Put a graph on disk, in the folder `out`, for everything that takes a graph: `pretrain`, `embed`, `evaluate`.

    `data` is a node table and edge tables (Parquet and CSV are read a piece at a time, so they may be larger than
    memory; `columns` names id, source, target, label, split); a folder with raw files of OGB, GraphSAINT or Reddit,
    read a piece at a time too; or whatever else `data.open` takes and fits into memory.
    Features are kept as `dtype`: "float32", "float16" or "int8" with one scale per column. Edges count both ways unless
    `directed`; repeated ones once. With `like`, the folder of a model, columns are encoded as in its training.
    The folder is complete or the command was interrupted: then the same call begins again.

    >>> big = store(["nodes.parquet", "edges.parquet"], "big")  # doctest: +SKIP
    """
    section = naming.section_of(data, REGISTRY.names()) if is_named(data) else {"name": "memory"}
    if section["name"] == "store":
        raise InputError(f"{section['path']} is a graph store already")
    if section["name"] == "raw":
        if like is not None or any((columns or {}).values()):
            raise InputError("like and columns are for tables; raw files are stored as they are")
        return store_raw(find_raw(section["path"]), out, dtype=dtype, directed=directed)
    if section["name"] != "tables":
        if like is not None or directed or any((columns or {}).values()):
            raise InputError("like, directed and columns are for tables; another graph is stored as it is")
        return store_dataset(with_split(open_dataset(data, data_root)), out, dtype=dtype)
    if not section.get("nodes"):
        raise InputError("a store needs a node table with features before the edge tables")
    treatment = None
    if like is not None:
        treatment = load(like).inputs
        if treatment.get("features") != "table":
            raise InputError(f"{like} was not trained on tables, so columns cannot be encoded as there")
        if treatment.get("structure") or treatment.get("edge_kinds") or treatment.get("edge_columns"):
            raise InputError(f"{like} was trained with structure or columns of edges as features; a store has none")
        directed = bool(treatment.get("directed"))
    return store_tables(
        section["nodes"], section["edges"], out, columns=columns, dtype=dtype, directed=directed, treatment=treatment
    )
