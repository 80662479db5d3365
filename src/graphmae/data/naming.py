"""What a user calls the data: the name of a set, or paths; by their names alone, so that mistakes are found at once."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ..runtime.errors import DataError, unknown
from ..runtime.files import as_path
from ..runtime.untrusted import refuse_special
from .tables.reading import is_table, not_a_table

MOLECULES = (".smi", ".smiles", ".sdf", ".sd", ".mol")  # plain or .gz
KINDS = ("file", "memory", "smiles", "store", "tables", "tu")  # registered, and nothing without a path
logger = logging.getLogger("graphmae")
RAW = ("edge.csv.gz", "data.npz", "adj_full.npz", "reddit_graph.npz")  # what graphmae store reads a piece at a time
ARRAYS = ("x", "edge_index", "edge_weight", "edge_attr", "y", "train_mask", "val_mask", "test_mask")  # of an .npz


def is_named(source: Any) -> bool:
    """Whether this is a name, a path, or several paths, not something in memory."""
    several = isinstance(source, Sequence) and len(source) > 0 and all(isinstance(part, str | Path) for part in source)
    return isinstance(source, str | Path) or several


def node_table(source: Any) -> Any:
    """The node table among paths or tables that were handed over; None: there is none."""
    pair = isinstance(source, list | tuple) and len(source) > 1
    is_table = pair and (isinstance(source[0], str | Path | dict) or hasattr(source[0], "columns"))
    return source[0] if is_table else None


def section_of(sources: str | Path | Sequence[str | Path], sets: Collection[str]) -> dict[str, Any]:
    """What a recipe's [data] says for the name of one of the `sets`, the path of a graph file, or those of tables."""
    for path in [sources] if isinstance(sources, str | Path) else sources:
        as_path(path, "the path of the data")
    if not isinstance(sources, str | Path):
        if len(sources) > 1:
            if wrong := [str(path) for path in sources if not is_table(path)]:
                raise DataError(
                    f"{not_a_table(wrong[0])}. Of several files, the first is a node table, the others edges"
                )
            return {"name": "tables", "nodes": str(sources[0]), "edges": [str(path) for path in sources[1:]]}
        source: str | Path = sources[0]
    else:
        source = sources
    if _is_set(source, sets):
        return {"name": str(source)}
    if not Path(source).exists() and not Path(source).suffix:
        ways = (
            "or the paths of a node table and an edge table, of a .npz, .pt or .smi file, of a graph store, or of a "
            "folder with TU files"
        )
        raise DataError(f"{unknown('data set', str(source), sets)}; {ways}")
    if Path(str(source).lower().removesuffix(".gz")).suffix in MOLECULES:
        return {"name": "smiles", "path": str(source)}
    if is_table(source):
        return {"name": "tables", "edges": [str(source)]}
    return {"name": _of_folder(Path(source)) if Path(source).is_dir() else "file", "path": str(source)}


def _of_folder(folder: Path) -> str:
    """A stored graph, or one that was not finished; raw files of a large graph; else a folder of TU files."""
    if (folder / "header.json").exists() or (folder / "building").exists():
        return "store"
    is_raw = any((at / name).exists() for at in (folder, folder / "raw") for name in RAW)
    return "raw" if is_raw else "tu"


def _is_set(source: str | Path, sets: Collection[str]) -> bool:
    """Whether a set is meant. Its name goes before a file or folder called so; words for kinds of files name no set."""
    if str(source) not in sets:
        return False
    if isinstance(source, Path) or str(source) in KINDS:
        return not Path(source).exists()
    if Path(source).exists():
        logger.warning("%s is the data set of that name; for the file or folder here, write ./%s", source, source)
    return True


def check_graph_file(path: Path) -> None:
    """Refuse what is not a file, or not of a kind that holds a graph."""
    refuse_special(path)
    if not path.is_file():
        raise DataError(f"{path} is a folder, not a file" if path.is_dir() else f"no file {path}")
    if path.suffix not in (".npz", ".pt"):
        tables = ".csv, .tsv, .xlsx, .jsonl, .parquet (tables)"
        kinds = f"{tables}, .npz (arrays {', '.join(ARRAYS)}), .pt (a PyG Data), .smi (molecules)"
        raise DataError(f"{path}: unknown kind of graph file. Allowed: {kinds}")
