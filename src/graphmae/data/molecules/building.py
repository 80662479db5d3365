"""Molecules into a store: parsed by all cores, part after part, so that an interrupted build goes on."""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.environment import cpu_count
from ...runtime.errors import DataError, InputError
from ...runtime.files import replacing, write_json
from ...runtime.untrusted import read_object
from .lines import Line, read_lines
from .smiles import parse, rdkit, silenced
from .store import ARRAYS, FORMAT, MoleculeStore

PART = 20_000  # lines a worker takes at a time
FEW = 5_000  # lines that need no other process


def build_store(
    files: Sequence[str | Path],
    folder: str | Path,
    column: str | None = None,
    name: str | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    standardize: bool = False,
    texts: Sequence[str] | None = None,
) -> MoleculeStore:
    """Parse every SMILES string in `files` into a store; an interrupted build goes on where it was.

    `progress` is called with the number of lines done and of bad ones among them. With `standardize` the molecules are
    stored as `standardize.standardized` writes them. `texts` are SMILES strings instead of files.
    """
    folder, paths = Path(folder), [Path(file) for file in files]
    made_of: dict[str, Any] = {
        "format": FORMAT,
        "name": name or paths[0].name.split(".")[0],
        "files": [_identity(file) for file in paths],
        "column": column,
        **({"standardize": True} if standardize else {}),
        **({} if texts is None else {"strings": len(texts)}),
    }
    if not is_complete(folder):
        rdkit()
    _claim(folder, made_of)
    if is_complete(folder):
        return MoleculeStore.open(folder)
    parts = folder / "parts"
    done = bad = 0
    if texts is None:
        lines_of = read_lines(paths, column)
    else:
        lines_of = (Line(made_of["name"], number, text) for number, text in enumerate(texts, 1))
    for lines, wrong in _in_order(_chunks(lines_of), parts, jobs or cpu_count(), standardize):
        done, bad = done + lines, bad + wrong
        if progress is not None:
            progress(done, bad)
    if done == bad:
        shutil.rmtree(folder)
        read = "nothing" if not done else f"{done} lines and not one molecule"
        raise DataError(
            f"{', '.join(map(str, paths)) or made_of['name']}: {read} to read; a line must begin with a SMILES string"
        )
    _join(folder, sorted(parts.glob("*.npz")))
    _write_bad(folder, parts)
    meta = {**made_of, "molecules": done - bad, "bad": bad, "rdkit": rdkit().rdBase.rdkitVersion}
    write_json(folder / "meta.json", meta)
    shutil.rmtree(parts)
    return MoleculeStore.open(folder)


def is_complete(folder: Path) -> bool:
    """Whether a build of the store came to its end: the description is written last."""
    return (folder / "meta.json").is_file()


def _identity(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise InputError(f"there is no file {file}")
    return {"name": file.name, "bytes": file.stat().st_size}


def _claim(folder: Path, made_of: dict[str, Any]) -> None:
    """Make the folder, or refuse one that holds something else."""
    note = folder / "parts" / "made_of.json"
    for known in (folder / "meta.json", note):
        if known.is_file():
            before = read_object(known)
            if {key: before.get(key) for key in made_of} != made_of:
                raise InputError(f"{folder} holds molecules of other files; choose another folder")
            return
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} exists and is no store of molecules; choose another folder")
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(made_of))


def _chunks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    while chunk := list(islice(lines, PART)):
        yield chunk


def _in_order(chunks: Iterator[list[Line]], parts: Path, jobs: int, standardize: bool) -> Iterator[tuple[int, int]]:
    """(lines, bad lines) of every part, a few of them under way at a time; a few molecules need no other process."""
    first = next(chunks, [])
    if len(first) <= FEW:
        silence = silenced()
        yield _parse_part(first, 0, parts / "000000.npz", standardize)
        del silence
        return
    waiting: deque[Future[tuple[int, int]]] = deque()
    with ProcessPoolExecutor(jobs, get_context("spawn"), _quiet) as pool:
        for number, chunk in enumerate(chain([first], chunks)):
            path = parts / f"{number:06d}.npz"
            waiting.append(pool.submit(_parse_part, chunk, number * PART, path, standardize))
            if len(waiting) > 2 * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _quiet() -> None:
    global _silence
    _silence = silenced()


_silence: Any = None


def _parse_part(chunk: list[Line], first: int, path: Path, standardize: bool = False) -> tuple[int, int]:
    """Parse a chunk into `path`; one that is there already is counted only."""
    if path.is_file():
        with np.load(path) as found:
            return len(chunk), len(chunk) - len(found["sizes"])
    molecules, places, bad = [], [], []
    for place, line in enumerate(chunk):
        made = parse(line.text, standardize)
        if made is None or len(made.atoms) > 65_535:
            bad.append(line)
        else:
            molecules.append(made)
            places.append(first + place)
    sizes = np.array([(len(m.atoms), len(m.bonds)) for m in molecules], dtype=np.uint16).reshape(-1, 2)
    arrays: dict[str, np.ndarray] = {
        "sizes": sizes,
        "lines": np.array(places, dtype=np.uint32),
        "atoms": np.concatenate([np.zeros((0, 2), np.uint8), *(m.atoms for m in molecules)]),
        "bonds": np.concatenate([np.zeros((0, 2), np.uint16), *(m.bonds for m in molecules)]),
        "kinds": np.concatenate([np.zeros(0, np.uint8), *(m.kinds for m in molecules)]),
    }
    if not len(sizes) or sizes[:, 0].max() < 256:
        arrays["bonds"] = arrays["bonds"].astype(np.uint8)
    path.with_suffix(".tsv").write_text("".join(f"{line.file}\t{line.number}\t{line.text}\n" for line in bad), "utf-8")
    with replacing(path) as partial:
        np.savez(partial, **arrays)  # type: ignore[arg-type]
    return len(chunk), len(bad)


def _join(folder: Path, parts: Sequence[Path]) -> None:
    """One array of each kind, written part by part."""
    for name in ARRAYS:
        shapes, types = [], []
        for part in parts:
            with np.load(part, mmap_mode="r") as found:
                shapes.append(found[name].shape)
                types.append(found[name].dtype)
        shape = (sum(shape[0] for shape in shapes), *shapes[0][1:])
        out = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.result_type(*types), shape)
        at = 0
        for part in parts:
            with np.load(part) as found:
                rows = found[name]
            out[at : at + len(rows)] = rows
            at += len(rows)
        out.flush()


def _write_bad(folder: Path, parts: Path) -> None:
    with (folder / "bad.tsv").open("w", encoding="utf-8") as out:
        out.write("file\tline\ttext\n")
        for part in sorted(parts.glob("*.tsv")):
            out.write(part.read_text("utf-8"))
