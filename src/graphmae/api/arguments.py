"""Mistakes in arguments, found before anything that trains is imported: that takes seconds, this does not.

Nothing here is the last word: whatever passes is checked in full where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import config
from ..config import static
from ..data import naming
from ..data.molecules.measurements import read_measurements
from ..data.sources import data_root as check_root
from ..data.tables.reading import name_of, read_table
from ..data.tables.unclear_tables import refuse_second_node_table
from ..experiments.folder import RUN_TABLES, RunFolder
from ..pretrained.locations import HUB, read_kind
from ..runtime.errors import ConfigError, InputError, unknown
from ..runtime.files import as_path, check_out
from ..runtime.values import check_device, check_seeds

MOST_BYTES = 1 << 23  # of a table that is read for its columns alone: larger ones are read once, when they are needed
OF_NODES, OF_EDGES = ("id", "label", "split", "show"), ("source", "target")
OUT_FORMATS = {
    "embed": (".npy", ".npz", ".csv", ".parquet"),
    "impute": (".csv", ".tsv", ".parquet"),
    "anomalies": (".csv",),
    "links": (".csv", ".tsv", ".parquet"),
    "predict": (".csv", ".tsv"),
    "explain": (".svg", ".png", ".csv"),
    "report": (".html",),
}


def run_folder(out: str | Path | None, name: str, resume: bool = False) -> Path:
    """Where a run goes: `out`, or the next free one of runs/NAME, runs/NAME-2, …; the latest when resuming."""
    return RunFolder.of(out, name, resume).path


def check_output(command: str, out: str | Path | None, *inputs: Any) -> None:
    """Refuse a file that `command` could not write, or that is one of its `inputs`, before any work is done.

    Inputs that are no paths, such as models and tables in memory, are passed over. Results may lie in the folder of a
    model; the tables of a run and the files of a graph on disk are inputs.
    """
    if out is not None:
        check_out(out, OUT_FORMATS[command], _files_read(inputs, as_path(out, "out")))


def _files_read(inputs: Sequence[Any], out: Path) -> Iterator[str | Path]:
    """The files that inputs name; of a folder, `out` where it is one of the folder's own files."""
    for given in inputs:
        if isinstance(given, list | tuple):
            yield from _files_read(given, out)
        elif isinstance(given, str | Path) and os.path.isfile(given):  # noqa: PTH113  a long SMILES string is no error
            yield given
        elif isinstance(given, str | Path) and os.path.isdir(given):  # noqa: PTH112
            folder, file = Path(given), out.resolve()
            is_own = file.name in RUN_TABLES or (folder / "header.json").is_file()
            if is_own and folder.resolve() in file.parents:
                yield out


def check_arguments(
    data: Sequence[str | Path] = (),
    *,
    runs: Sequence[str | Path] = (),
    columns: Mapping[str, str] | None = None,
    file: str | Path | None = None,
    checkpoint: str | Path | None = None,
    kind: str = "pretrained",
    recipe: str = "",
    overrides: Iterable[str] = (),
    seeds: Sequence[int] | None = None,
    device: str = "auto",
    data_root: str | Path | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    own_parts: bool = False,
) -> None:
    """Refuse files, folders, names and keys that cannot be right, in about a second.

    `data` are the paths of tables or of a graph, or the name of a set, `runs` folders of runs, `columns` those of
    tables by their role, `file` any other file; `kind` is what the `checkpoint` must hold, `out` the folder of a new
    run. With `own_parts`, recipes may have other keys, and data sets other names.
    """
    for name in device.split(","):
        check_device(name)
    for run in runs:
        _ = RunFolder(as_path(run, "a run")).kind
    config.check_early("" if recipe == "auto" else recipe, overrides, own_parts)
    if seeds is not None:
        check_seeds(seeds)
    if data_root is not None:
        check_root(data_root)
    if out is not None:
        RunFolder(as_path(out, "out")).check(resume)
    if checkpoint is not None and not str(checkpoint).startswith(HUB):
        read_kind(checkpoint, kind)
    if file is not None and not Path(file).is_file():
        raise InputError(f"there is no file {file}")
    if data and (len(data) > 1 or not own_parts):
        _check_data(data, {key: value for key, value in (columns or {}).items() if value})


def check_assay(
    table: str | Path,
    targets: Sequence[str] = (),
    smiles: str = "",
    split: str = "scaffold",
    overrides: Iterable[str] = (),
) -> None:
    """Refuse a table of molecules by its columns and cells; the molecules themselves are read later."""
    if Path(table).stat().st_size > MOST_BYTES:
        return
    section = config.assigned(overrides).get("data", {})
    keys = ("kind", "id", "censored", "transform", "unit", "positive")
    reading = {key: section[key] for key in keys if isinstance(section.get(key), str)}
    read_measurements(table, smiles, targets, split=str(section.get("split", split)), **reading)


def _check_data(data: Sequence[str | Path], columns: Mapping[str, str]) -> None:
    section = naming.section_of(data, static.part_names("data"))
    if section["name"] == "tables":
        _check_tables(section.get("nodes"), section["edges"], columns)
    elif section["name"] == "file":
        naming.check_graph_file(Path(section["path"]))
    elif section["name"] == "smiles" and not Path(section["path"]).is_file():
        raise InputError(f"there is no file {section['path']}")


def _check_tables(nodes: Any, edges: Sequence[Any], columns: Mapping[str, str]) -> None:
    """Every table can be read and has the columns that were named; all that were not found are in one report."""
    tables: list[tuple[Any, tuple[str, ...], bool | None]] = [(path, OF_EDGES, None) for path in edges]
    if nodes is not None:
        tables.insert(0, (nodes, OF_NODES, False))
    problems, read, unclear = [], [], []
    for path, roles, headerless in tables:
        if Path(path).is_file() and Path(path).stat().st_size > MOST_BYTES:
            continue
        table = read_table(path, headerless=headerless)
        read.append(table)
        for role in roles:
            if role in columns and columns[role] not in table.column_names:
                problems.append(f"{name_of(path)}: {unknown('column', columns[role], table.column_names)} (--{role})")
                unclear += [(name_of(path), table)] * (role in OF_EDGES)
    if nodes is not None and len(edges) > 1 and len(read) == len(tables):
        refuse_second_node_table(name_of(nodes), read[0], unclear)
    if problems:
        raise ConfigError(problems)
